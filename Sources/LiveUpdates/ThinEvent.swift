/// All that a client learns about a change: which thing, and what happened to it.
package struct ThinEvent: Equatable, Sendable {
    /// Entity and type are words of a vocabulary; systems generate ids.
    package static let maximumEntityBytes = 64
    package static let maximumIdentifierBytes = 255
    package static let maximumTypeBytes = 64

    package let entity: String
    package let id: String
    package let type: String

    package init(entity: String, id: String, type: String) {
        self.entity = entity
        self.id = id
        self.type = type
    }

    package static func == (left: ThinEvent, right: ThinEvent) -> Bool {
        left.id.isBytewiseEqual(to: right.id) && left.entity.isBytewiseEqual(to: right.entity)
            && left.type.isBytewiseEqual(to: right.type)
    }
}

/// The account that an event belongs to and that a connection may see: a name that is compared byte by byte.
///
/// Never compare accounts as Strings: two names that only seem equal are two accounts.
package struct Account: Hashable, Sendable, CustomStringConvertible {
    /// As many bytes as an account's name may have, in a record and in a token.
    package static let maximumBytes = 255

    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { text }

    package static func == (left: Account, right: Account) -> Bool { left.text.isBytewiseEqual(to: right.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

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
