// Types in the words that clients know.

extension EventMapper {
    /// The type as it is delivered; nil when nothing is left of it.
    ///
    /// A translation may be written for the type as the record has it, or for what is left when the entity before it
    /// is gone (`incident.triggered` or `triggered`); the first is looked for first. The entity goes once.
    func translate(_ type: String, of entity: String, _ renamed: String) -> String? {
        let known = translation(of: type)
        let bare = Self.without(entity, renamed, known ?? type)
        guard let bare else { return known ?? type }
        guard !bare.isEmpty else { return nil }
        return known == nil ? translation(of: bare) ?? bare : bare
    }

    private func translation(of type: String) -> String? {
        mapping.types.isEmpty ? nil : mapping.types[BytewiseKey(text: type)]
    }

    /// What follows the entity (by its name before or after renaming, the longer where both fit) and a dot; nil when
    /// the type does not begin so.
    private static func without(_ entity: String, _ renamed: String, _ type: String) -> String? {
        let (long, short) = entity.utf8.count < renamed.utf8.count ? (renamed, entity) : (entity, renamed)
        return rest(of: type, after: long) ?? rest(of: type, after: short)
    }

    private static func rest(of type: String, after entity: String) -> String? {
        let count = entity.utf8.count
        guard type.utf8.count > count else { return nil }
        let bytes = type.utf8Span.span
        let prefix = entity.utf8Span.span
        guard bytes[count] == UInt8(ascii: ".") else { return nil }
        for place in prefix.indices where prefix[place] != bytes[place] { return nil }
        return String(Substring(type.utf8.dropFirst(count + 1)))
    }
}
