/// The entities that a client asked for: 1 to 16 names, each once, in the order of their bytes.
///
/// Equal filters pass equal events, however their names were ordered, so that what is encoded for one serves all.
package struct EntityFilter: Hashable, Sendable {
    package static let maximumNames = 16

    package let names: [BytewiseKey]

    /// Nil when there is no name, more than ``maximumNames`` or one that is empty or too long for an entity.
    package init?(_ names: [String]) {
        guard (1...Self.maximumNames).contains(names.count) else { return nil }
        guard names.allSatisfy({ (1...ThinEvent.maximumEntityBytes).contains($0.utf8.count) }) else { return nil }
        let ordered = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var unique: [BytewiseKey] = []
        for name in ordered where unique.last != BytewiseKey(text: name) { unique.append(BytewiseKey(text: name)) }
        self.names = unique
    }

    /// Compares bytes with at most ``maximumNames`` names.
    package func passes(_ entity: String) -> Bool { names.contains(BytewiseKey(text: entity)) }
}
