/// Where account, entity, id and type are in the records of well-known producers.
package enum Preset: String, CaseIterable, Sendable {
    case rails
    case pagerdutyWebhookV3 = "pagerduty-webhook-v3"
    case debezium
    case debeziumFlat = "debezium-flat"
    case debeziumOutbox = "debezium-outbox"
    case cloudevents

    var hasRows: Bool { self == .debezium || self == .debeziumFlat }

    /// The depth of the members by which it recognizes what a record is.
    var markDepth: Int {
        switch self {
        case .rails, .debeziumOutbox: 0
        case .cloudevents: 1
        case .pagerdutyWebhookV3, .debezium, .debeziumFlat: 2
        }
    }

    func sources(of row: EventRow) -> [Source] {
        switch self {
        case .rails: Self.rails(row)
        case .pagerdutyWebhookV3: Self.pagerduty(row)
        case .debezium: Self.debezium(row)
        case .debeziumFlat: Self.debeziumFlat(row)
        case .debeziumOutbox: Self.debeziumOutbox(row)
        case .cloudevents: Self.cloudevents(row)
        }
    }

    var rename: [EventMapping.Translation] {
        self == .rails ? [EventMapping.Translation(from: "incidents::incident", to: "incident")] : []
    }

    var drop: [String] { self == .rails ? ["alerts::alert"] : [] }

    /// Belongs to the preset's own sources of the type.
    var types: [EventMapping.Translation] {
        guard hasRows else { return [] }
        return [
            EventMapping.Translation(from: "c", to: "created"), EventMapping.Translation(from: "u", to: "updated"),
            EventMapping.Translation(from: "d", to: "deleted"),
        ]
    }

    private static func rails(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.value(JSONPointer(members: "account_id"))]
        case .entity: [.value(JSONPointer(members: "entity"))]
        case .id: [.value(JSONPointer(members: "id"))]
        case .type: [.value(JSONPointer(members: "type"))]
        }
    }

    private static func pagerduty(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.header("account_id")]
        case .entity: [.value(JSONPointer(members: "event", "resource_type"))]
        case .id: [.resourceIdentifier]
        case .type: [.value(JSONPointer(members: "event", "event_type"))]
        }
    }

    private static func debezium(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.row(JSONPointer(members: "account_id"))]
        case .entity: [.value(JSONPointer(members: "source", "table"))]
        case .id: [.row(JSONPointer(members: "id"))]
        case .type: [.operation]
        }
    }

    private static func debeziumFlat(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.row(JSONPointer(members: "account_id"))]
        case .entity: [.row(JSONPointer(members: "__table")), .topic(-1)]
        case .id: [.row(JSONPointer(members: "id"))]
        case .type: [.flatOperation]
        }
    }

    private static func debeziumOutbox(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.header("account_id")]
        case .entity: [.topic(-1)]
        case .id: [.key]
        case .type: [.header("eventType")]
        }
    }

    private static func cloudevents(_ row: EventRow) -> [Source] {
        switch row {
        case .account: [.attribute(JSONPointer(members: "accountid"), header: "ce_accountid")]
        case .entity: [.typePart(-2)]
        case .id: [.attribute(JSONPointer(members: "subject"), header: "ce_subject")]
        case .type: [.typePart(-1)]
        }
    }
}
