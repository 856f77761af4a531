/// A record that a preset makes an event of: for documents.
package struct PresetSample: Sendable {
    package var topic = "events"
    package var key: String?
    package var headers: [(name: String, value: String)] = []
    package let value: String

    /// What matters in addition to the value, in words for people; empty where nothing does.
    package var surroundings: String {
        let parts =
            [topic == "events" ? nil : "topic \(topic)", key.map { "key \($0)" }]
            + headers.map { "header \($0): \($1)" }
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}

extension Preset {
    /// One record, as short as it may be: an account PACC1, one of its incidents, and what happened to it.
    package var sample: PresetSample {
        switch self {
        case .rails:
            PresetSample(
                value: #"{"account_id":"PACC1","entity":"incidents::incident","id":"PINC1","type":"updated"}"#)
        case .pagerdutyWebhookV3:
            PresetSample(
                headers: [("account_id", "PACC1")],
                value: """
                    {"event":{"event_type":"incident.triggered","resource_type":"incident", \
                    "data":{"id":"PINC1","type":"incident"}}}
                    """)
        case .debezium:
            PresetSample(
                value: """
                    {"op":"u","source":{"table":"incidents"},"before":null, \
                    "after":{"id":"PINC1","account_id":"PACC1"}}
                    """)
        case .debeziumFlat:
            PresetSample(value: #"{"id":"PINC1","account_id":"PACC1","__op":"u","__table":"incidents"}"#)
        case .debeziumOutbox:
            PresetSample(
                topic: "outbox.event.incident", key: "PINC1",
                headers: [("account_id", "PACC1"), ("eventType", "incident.triggered")], value: #"{"any":"payload"}"#)
        case .cloudevents:
            PresetSample(
                value: """
                    {"specversion":"1.0","id":"1","source":"/incidents","type":"com.example.incident.updated", \
                    "subject":"PINC1","accountid":"PACC1"}
                    """)
        }
    }
}
