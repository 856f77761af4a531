import Testing

@testable import Kafka
@testable import KafkaLogs

extension AgainstApacheKafka.`Three nodes` {
    @Test func `a leader that lacks what was read: everybody is told within 10 s, once, and reading goes on`() throws {
        let kafka = try ApacheKafka.cluster(.threeNodes)
        let (shorter, longer, sudden) = (freshTopic(), freshTopic(), freshTopic())
        for name in [shorter, longer, sudden] {
            try kafka.administrator().createTopic(
                name, replicas: [1, 2], settings: [("unclean.leader.election.enable", "true")])
        }
        let sign = freshTopic()
        try kafka.administrator().createTopic(sign, replicas: [1, 2])
        let readings = try [(shorter, kafka.plaintext), (longer, kafka.faults), (sudden, kafka.faults)].map {
            try Reading(ConsumerSettings(brokers: $1, topics: [$0], retention: .seconds(3_600)))
        }
        try write(kafka, [shorter, longer, sudden], "both", 10)
        for reading in readings { try #require(reading.run { $0.entries.count == 10 } && reading.isProved()) }

        try kafka.run("kill", "2")
        defer { heal(kafka) }
        // Acknowledged by the leader alone, once the follower counts no longer.
        try write(kafka, [sign], "alone", 1)
        try #require(readings[2].stopRefreshing())
        try write(kafka, [shorter, longer, sudden], "lost", 20)
        for reading in readings[..<2] { try #require(reading.run { $0.entries.count == 30 } && reading.isProved()) }
        try #require(readings[2].run { $0.entries.count == 30 })

        let known = readings.map { $0.facts[0].known ?? .min }
        try kafka.run("fault", "all", "refuse")
        try kafka.run("kill", "1")
        try kafka.run("start-node", "2")
        try write(kafka, [longer, sudden], "other", 40)
        try kafka.run("fault", "all", "pass")
        // Since librdkafka 2.1 the position is refused (KIP-320); before that, reading just goes on at it.
        try #require(readings[2].run { $0.entries.count == 50 || $0.isRefused })
        readings[2].refreshAgain()
        for ((reading, known), name) in zip(zip(readings, known), [shorter, longer, sudden]) {
            let isReported = reading.run { !$0.resyncs.isEmpty }
            #expect(isReported, "\(reading.entries.count) entries, \(reading.notices)")
            if name == shorter { try write(kafka, [shorter], "other", 40) }
            let isComplete = reading.run { $0.values.suffix(50) == Self.values("both", 10) + Self.values("other", 40) }
            #expect(isComplete, "\(reading.values.map { $0 ?? "" })")
            reading.run(for: .seconds(1))
            #expect(reading.recreated == [name])
            #expect(!reading.isStalled && reading.isReady)
            let notBefore = try #require(reading.facts[0].notBefore)
            #expect(notBefore > known, "a cursor from before the election speaks of another log")
        }
    }

    /// Until all nodes are there again for the next test.
    private func heal(_ kafka: ApacheKafka) {
        for words in [["fault", "all", "pass"], ["start-node", "all"]] { _ = try? kafka.run(words) }
        try? repeating(for: .seconds(60)) { try kafka.administrator().createTopic(freshTopic(), replication: 3) }
    }

    private static func values(_ word: String, _ count: Int) -> [String?] { (0..<count).map { "\(word) \($0)" } }

    /// By a producer without a number, for which a node would have to ask the controller, which may be gone.
    private func write(_ kafka: ApacheKafka, _ topics: [String], _ word: String, _ count: Int) throws {
        let producer = try kafka.producer([("enable.idempotence", "false"), ("max.in.flight", "1")])
        for topic in topics {
            for value in Self.values(word, count) {
                _ = try producer.produce(topic: topic, partition: 0, value: bytes(value!))
            }
        }
        guard producer.flush(within: 30_000), producer.failed == 0 else { throw NotDelivered(producer) }
    }
}

extension Reading {
    /// Waits for a refresh that began after everything until now was read and found the logs to be those.
    fileprivate func isProved() -> Bool {
        // The first may have begun before.
        (0..<2).allSatisfy { _ in
            let now = WallClock.now
            return run { $0.isKnown(after: now) }
        }
    }

    /// Whether a position was refused, and nobody knows yet why.
    fileprivate var isRefused: Bool {
        consumer.tracker[PartitionName(topic: 0, number: 0)]?.refused != nil
    }
}
