/// The four things that make an event, by their names in the settings; in the order in which they are missed.
package enum EventRow: String, CaseIterable, Sendable {
    case entity
    case account
    case id
    case type

    var maximumBytes: Int {
        switch self {
        case .entity: ThinEvent.maximumEntityBytes
        case .account: Account.maximumBytes
        case .id: ThinEvent.maximumIdentifierBytes
        case .type: ThinEvent.maximumTypeBytes
        }
    }

    var skipReason: SkipReason {
        switch self {
        case .entity: .noEntity
        case .account: .noAccount
        case .id: .noIdentifier
        case .type: .noType
        }
    }
}
