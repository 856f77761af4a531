/// The life of one incident: an alert, responders, notes, the end.
struct IncidentLife {
    struct Moment {
        /// Milliseconds since the incident began.
        let after: UInt64
        let change: FeedChange
    }

    private(set) var moments: [Moment] = []
    private(set) var lastsMilliseconds: UInt64 = 0
    private let id: String

    init(id: String, numbers: inout FeedNumbers) {
        self.id = id
        let subject = numbers.pick(Self.subjects)
        let responder = numbers.pick(Self.responders)
        let alert = numbers.identifier()
        add(0, "alerts::alert", alert, "created", ["summary": subject, "incident_id": id])
        add(60, "incidents::incident", id, "created", ["title": subject, "status": "triggered", "urgency": "high"])
        if numbers.isOneIn(3) { add(numbers.around(300), "alerts::alert", alert, "updated", ["severity": "critical"]) }
        add(
            numbers.around(900), "incidents::incident", id, "updated", ["assignee": responder, "escalation_level": "1"])
        if !numbers.isOneIn(8) { handle(by: responder, &numbers) }
        add(numbers.around(1_800), "incidents::incident", id, "resolved", ["status": "resolved"])
        add(80, "alerts::alert", alert, "updated", ["status": "resolved"])
    }

    /// What people do about it. One in eight is over before any of them reacts.
    private mutating func handle(by responder: String, _ numbers: inout FeedNumbers) {
        if numbers.isOneIn(4) {
            add(numbers.around(1_200), "incidents::incident", id, "escalated", ["escalation_level": "2"])
        }
        add(
            numbers.around(1_200), "incidents::incident", id, "acknowledged",
            ["status": "acknowledged", "actor": responder])
        if numbers.isOneIn(3) {
            let request = numbers.identifier()
            let asked = numbers.pick(Self.responders)
            add(
                numbers.around(700), "incidents::responder_request", request, "created",
                ["incident_id": id, "responder": asked])
            add(
                numbers.around(1_000), "incidents::responder_request", request, "accepted",
                ["incident_id": id, "responder": asked])
        }
        for _ in 0..<numbers.below(3) {
            let text = numbers.pick(Self.notes)
            add(
                numbers.around(900), "incidents::note", numbers.identifier(), "created",
                ["incident_id": id, "content": text])
            add(5, "incidents::incident", id, "annotated", ["last_note": text])
        }
        if numbers.isOneIn(5) {
            add(numbers.around(600), "incidents::incident", id, "updated", ["urgency": "low", "priority": "P3"])
        }
    }

    /// Adds a moment, so long after the one before.
    private mutating func add(
        _ pause: UInt64, _ entity: String, _ subject: String, _ type: String,
        _ changes: KeyValuePairs<String, String>
    ) {
        lastsMilliseconds += pause
        let change = FeedChange(entity: entity, id: subject, type: type, changes: changes.map { ($0.key, $0.value) })
        moments.append(Moment(after: lastsMilliseconds, change: change))
    }

    private static let subjects = [
        "Disk almost full on db-3", "Checkout latency over 2 s in eu-west", "Certificate of api.example.com expires",
        "Replica lag over 60 s on orders-2", "Error rate of \"payments\" over 5 %", "Queue mail-out not draining",
        "Kubelet not ready on node-17", "Backup of accounts did not finish", "Login failures from one network",
        "Température élevée, baie 4", "Sitzungen brechen ab \u{1F6A8}", "Memory pressure on cache-1",
    ]

    private static let responders = ["PUSR0ANA", "PUSR0BEN", "PUSR0CHI", "PUSR0DEV", "PUSR0EVA", "PUSR0FAY"]

    private static let notes = [
        "Investigating.", "Rolled back to the release before.", "Not us: the provider has an incident of its own.",
        "Restarted, watching.\nWill resolve in ten minutes.", "Doubled the pool; latency is going down.",
        "Can somebody from storage join?",
    ]
}

/// A change of one thing, as the record has it.
struct FeedChange: Equatable, Sendable {
    let entity: String
    let id: String
    let type: String
    let changes: [(name: String, value: String)]

    static func == (left: FeedChange, right: FeedChange) -> Bool {
        (left.entity, left.id, left.type) == (right.entity, right.id, right.type)
            && left.changes.elementsEqual(right.changes, by: ==)
    }
}

/// Numbers that seem random and are the same for a seed on every machine: SplitMix64 (Steele, Lea, Flood 2014).
struct FeedNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// From 0 to `bound - 1`. The bias of the remainder does not matter at these bounds.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func isOneIn(_ chance: Int) -> Bool { below(chance) == 0 }

    /// From half of `middle` to one and a half times it.
    mutating func around(_ middle: UInt64) -> UInt64 { middle / 2 + next() % (middle + 1) }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    /// An id in the manner of incident services: a P and six capitals or digits.
    mutating func identifier() -> String {
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        var bytes = [UInt8(ascii: "P")]
        for _ in 0..<6 { bytes.append(pick(characters)) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
