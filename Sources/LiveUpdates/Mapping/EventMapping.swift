/// How records become events: the settings under `events:`, checked and compiled.
package struct EventMapping: Sendable {
    /// The settings as they are in the file; an empty list of sources leaves a row to the preset.
    package struct Settings: Equatable, Sendable {
        package var preset: String?
        package var account: [String] = []
        package var entity: [String] = []
        package var id: [String] = []
        package var type: [String] = []
        /// Entities by other names.
        package var rename: [Translation] = []
        /// Entities that are left out, by their names before renaming.
        package var drop: [String] = []
        package var types: [Translation] = []

        package init(preset: String? = nil) { self.preset = preset }
    }

    /// One entry of `rename` or `types`. Pairs instead of a dictionary of Strings, which would treat two names that only seem
    /// equal as one.
    package struct Translation: Equatable, Sendable {
        package let from: String
        package let to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    /// Where one row may be found, best first, and the same in words.
    struct RowSources: Sendable {
        let sources: [Source]
        let text: String

        init(_ sources: [Source]) {
            self.sources = sources
            text = sources.map(\.description).joined(separator: ", ")
        }
    }

    /// What is done with an entity.
    enum EntityRule: Sendable {
        case drop(String)
        case rename(String)
    }

    /// Sources in one list: more than any record has for one thing.
    package static let maximumSources = 16
    /// Entries in each of `rename`, `drop` and `types`: far beyond the tables of a large schema.
    package static let maximumTranslations = 1000
    /// Bytes of a name that is translated or dropped: as long as identifiers get.
    package static let maximumNameBytes = 255

    package let preset: Preset?
    let account: RowSources
    let entity: RowSources
    let id: RowSources
    let type: RowSources
    let entities: [BytewiseKey: EntityRule]
    let types: [BytewiseKey: String]
    /// Whether some source is in the value, whatever the headers contain.
    let readsValue: Bool
    /// How deep a value has to be taped.
    let tapedDepth: Int

    /// Checks `settings`; the error names the key and the value.
    package init(_ settings: Settings) throws(MappingError) {
        preset = try Self.preset(settings.preset)
        account = try Self.sources(of: .account, settings.account, preset)
        entity = try Self.sources(of: .entity, settings.entity, preset)
        id = try Self.sources(of: .id, settings.id, preset)
        type = try Self.sources(of: .type, settings.type, preset)
        entities = try Self.entities(settings, preset)
        types = try Self.types(settings, preset)
        let all = account.sources + entity.sources + id.sources + type.sources
        readsValue = all.contains { $0.readsValue }
        let isWrapped = preset?.hasRows ?? false
        tapedDepth = all.reduce(preset?.markDepth ?? 0) { max($0, $1.depth(wrapped: isWrapped)) }
    }

    /// The sources of a row, for people.
    func sourceTexts(of row: EventRow) -> String {
        switch row {
        case .account: account.text
        case .entity: entity.text
        case .id: id.text
        case .type: type.text
        }
    }

    private static func preset(_ name: String?) throws(MappingError) -> Preset? {
        guard let name else { return nil }
        guard let preset = Preset(rawValue: name) else { throw .unknownPreset(name) }
        return preset
    }

    private static func sources(
        of row: EventRow, _ texts: [String], _ preset: Preset?
    ) throws(MappingError) -> RowSources {
        let key = "events.\(row.rawValue)"
        guard !texts.isEmpty else {
            guard let preset else { throw .missing(key: key) }
            return RowSources(preset.sources(of: row))
        }
        guard texts.count <= maximumSources else {
            throw .tooMany(key: key, count: texts.count, limit: maximumSources)
        }
        var sources: [Source] = []
        for text in texts {
            do throws(Source.Malformed) {
                sources.append(try Source(text, allowsRow: preset?.hasRows ?? false))
            } catch {
                throw .badValue(key: key, value: text, expected: error.expected)
            }
        }
        return RowSources(sources)
    }

    private static func entities(
        _ settings: Settings, _ preset: Preset?
    ) throws(MappingError) -> [BytewiseKey: EntityRule] {
        let rename = try translations(
            "events.rename", settings.rename, longest: ThinEvent.maximumEntityBytes)
        let drop = try translations(
            "events.drop", settings.drop.map { Translation(from: $0, to: $0) }, longest: maximumNameBytes)
        var rules: [BytewiseKey: EntityRule] = [:]
        for entry in preset?.rename ?? [] { rules[BytewiseKey(text: entry.from)] = .rename(entry.to) }
        for (name, to) in rename { rules[name] = .rename(to) }
        // Dropping goes by the name before renaming, so it comes last here.
        for name in preset?.drop ?? [] { rules[BytewiseKey(text: name)] = .drop(name) }
        for (name, _) in drop { rules[name] = .drop(name.text) }
        return rules
    }

    private static func types(
        _ settings: Settings, _ preset: Preset?
    ) throws(MappingError) -> [BytewiseKey: String] {
        let own = try translations("events.types", settings.types, longest: ThinEvent.maximumTypeBytes)
        // The preset's translations are of its own source: a row's column may hold a "c" that means something else.
        guard let preset, settings.type.isEmpty else { return own }
        var types: [BytewiseKey: String] = [:]
        for entry in preset.types {
            types[BytewiseKey(text: entry.from)] = own[BytewiseKey(text: entry.to)] ?? entry.to
        }
        return types.merging(own) { $1 }
    }

    private static func translations(
        _ key: String, _ entries: [Translation], longest: Int
    ) throws(MappingError) -> [BytewiseKey: String] {
        guard entries.count <= maximumTranslations else {
            throw .tooMany(key: key, count: entries.count, limit: maximumTranslations)
        }
        var table: [BytewiseKey: String] = [:]
        for entry in entries {
            guard 1...maximumNameBytes ~= entry.from.utf8.count else {
                throw .badValue(key: key, value: entry.from, expected: "a name of 1 to \(maximumNameBytes) bytes")
            }
            guard 1...longest ~= entry.to.utf8.count else {
                throw .badValue(
                    key: "\(key).\(entry.from)", value: entry.to, expected: "a name of 1 to \(longest) bytes")
            }
            guard table.updateValue(entry.to, forKey: BytewiseKey(text: entry.from)) == nil else {
                throw .doubled(key: key, value: entry.from)
            }
        }
        return table
    }
}

// MARK: - Types in the words that clients know

extension EventMapping {
    /// The type as it is delivered, without the entity before it and translated.
    ///
    /// A translation may be written for the type as the record has it, or for what is left of it without the entity
    /// (`incident.triggered` or `triggered`); the former is tried first. The entity is removed once, and stays where nothing
    /// would be left.
    func translated(_ type: String, of entity: String, _ renamed: String) -> String {
        let known = translation(of: type)
        guard let bare = Self.without(entity, renamed, known ?? type), !bare.isEmpty else { return known ?? type }
        return known == nil ? translation(of: bare) ?? bare : bare
    }

    private func translation(of type: String) -> String? {
        types.isEmpty ? nil : types[BytewiseKey(text: type)]
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
        for index in prefix.indices where prefix[index] != bytes[index] { return nil }
        return String(Substring(type.utf8.dropFirst(count + 1)))
    }
}

/// An invalid setting under `events:`.
package enum MappingError: Error, Equatable, Sendable {
    case unknownPreset(String)
    /// No preset provides it.
    case missing(key: String)
    case badValue(key: String, value: String, expected: String)
    case doubled(key: String, value: String)
    case tooMany(key: String, count: Int, limit: Int)

    /// The setting to change.
    package var key: String {
        switch self {
        case .unknownPreset: "events.preset"
        case .missing(let key), .badValue(let key, _, _), .doubled(let key, _), .tooMany(let key, _, _): key
        }
    }
}

extension MappingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownPreset(let name):
            "events.preset: \"\(name)\" is none of "
                + Preset.allCases.map(\.rawValue).joined(separator: ", ")
        case .missing(let key): "\(key): missing; without events.preset each of account, entity, id and type is needed"
        case .badValue(let key, let value, let expected): "\(key): \"\(value)\" is not \(expected)"
        case .doubled(let key, let value): "\(key): duplicate value \"\(value)\""
        case .tooMany(let key, let count, let limit): "\(key): \(count) entries, over \(limit)"
        }
    }
}
