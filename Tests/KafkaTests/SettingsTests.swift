// Tests: ClientConfiguration.swift, ConsumerSettings.swift, KafkaLibrary.swift

import Testing

@testable import Kafka

@Suite struct `Properties of librdkafka` {
    @Test func `what promises rest on is refused, with the reason`() throws {
        for (name, reason) in ReservedProperties.reasons {
            #expect(ReservedProperties.reason(against: name) == reason)
            #expect(throws: KafkaError.settings(property: name, reason: "cannot be set: \(reason)")) {
                try Consumer(ConsumerSettings(brokers: "127.0.0.1:1", topics: ["t"], properties: [(name, "x")]))
            }
        }
    }

    @Test func `each topic stands once, in an order that is the same on every node`() {
        func ordered(_ topics: [String]) -> [String] {
            ConsumerSettings(brokers: "127.0.0.1:1", topics: topics).orderedTopics
        }
        #expect(ordered(["b", "a", "b", "B", "a.b", "a", "a-b"]) == ["B", "a", "a-b", "a.b", "b"])
        #expect(ordered([]) == [])
    }

    @Test func `what is ours cannot be set by the operator`() {
        for (name, _) in ConsumerSettings.promises {
            #expect(ReservedProperties.reason(against: name) != nil, "\(name) is ours")
        }
    }

    @Test func `what promises rest on is given to librdkafka last, with its value`() throws {
        let settings = ConsumerSettings(brokers: "127.0.0.1:1", topics: ["t"], properties: [("check.crcs", "false")])
        let given = Dictionary(try settings.allProperties()) { $1 }
        for (name, value) in [
            ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"), ("auto.offset.reset", "error"),
            ("isolation.level", "read_committed"), ("enable.partition.eof", "true"),
            ("allow.auto.create.topics", "false"), ("bootstrap.servers", "127.0.0.1:1"), ("check.crcs", "false"),
        ] { #expect(given[name] == value, "\(name)") }
    }

    @Test(arguments: [
        ("security.protocol", "ssl", true), ("security.protocol", "none", false), ("socket.timeout.ms", "5000", true),
        ("socket.timeout.ms", "5s", false), ("socket.timeout.ms", "-1", false), ("no.such.property", "1", false),
        ("", "", false), ("queued.min.messages", "1000", true), ("group.id", "mine", false),
    ])
    func `librdkafka is asked about each property`(_ name: String, _ value: String, _ isValid: Bool) {
        #expect((ConfigurationCheck.problem(name: name, value: value) == nil) == isValid)
    }

    @Test func `properties that do not fit together, and files that cannot be read, are found`() {
        let problem = ConfigurationCheck.problem(together:)
        #expect(problem([("security.protocol", "ssl")]) == nil)
        #expect(problem([("security.protocol", "ssl"), ("ssl.ca.location", "/no/such/file")]) != nil)
        #expect(problem([("session.timeout.ms", "600000"), ("max.poll.interval.ms", "300000")]) != nil)
    }

    @Test func `a secret stands in no error`() {
        for name in ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem"] {
            let problem = ConfigurationCheck.problem(name: name, value: "hunter2\u{0}hunter2") ?? ""
            #expect(!problem.contains("hunter2"))
        }
        let together = ConfigurationCheck.problem(together: [
            ("security.protocol", "ssl"), ("ssl.key.pem", "hunter2"), ("ssl.key.password", "hunter2"),
        ])
        #expect(together?.contains("hunter2") != true)
    }

    @Test func `SCRAM is warned about with a library below 2.6.1`() {
        let scram = [("sasl.mechanism", "scram-sha-512")]
        #expect(KafkaLibrary.warnsAboutSCRAM(scram, version: 0x0200_02ff))
        #expect(KafkaLibrary.warnsAboutSCRAM([("sasl.mechanisms", "SCRAM-SHA-256")], version: 0x0206_00ff))
        #expect(!KafkaLibrary.warnsAboutSCRAM(scram, version: 0x0206_01ff))
        #expect(!KafkaLibrary.warnsAboutSCRAM([("sasl.mechanism", "PLAIN")], version: 0x0200_02ff))
        #expect(!KafkaLibrary.warnsAboutSCRAM([], version: 0x0200_02ff))
    }
}
