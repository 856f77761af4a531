/// All that a client is told about a change: which thing, and what happened to it.
package struct ThinEvent: Equatable, Sendable {
    /// Entity and type are words of a vocabulary, ids are what systems make up.
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
