import GatewaySettings
import Kafka
import Reactor

/// Writes one record to the control topic, and waits until every replica in sync has it. The caller must know that the revocation
/// is stored.
package enum ControlWriter {
    /// For all of it: to find a broker and the topic, to log in, to be acknowledged.
    package static let timeoutMilliseconds: UInt64 = 10_000
    /// Between two questions for a topic that is not there: one that was just created may not be known everywhere.
    private static let pauseMilliseconds: UInt64 = 100
    /// Of one question.
    private static let learningMilliseconds: UInt64 = 1_000

    package enum Failure: Error {
        case settings(KafkaError)
        /// It may have been written all the same: acknowledgements get lost too.
        case notAcknowledged(String)
    }

    /// Blocks.
    package static func write(
        key: [UInt8], value: [UInt8], to topic: String, _ kafka: SettingValues<KafkaTable>
    ) throws(Failure) {
        // Before the producer is made, so that all of it counts.
        let end = EventLoop.microseconds / 1000 + timeoutMilliseconds
        let producer: Producer
        do throws(KafkaError) {
            producer = try Producer(
                brokers: kafka.brokers,
                kafka.settings.map { ($0.name, $0.value) } + [
                    ("acks", "all"), ("enable.idempotence", "true"),
                    // A misspelt topic that this created would have no reader.
                    ("allow.auto.create.topics", "false"),
                    // Given up by the library too, so that nothing is written behind our back for long.
                    ("message.timeout.ms", String(timeoutMilliseconds)),
                ])
        } catch {
            throw .settings(error)
        }
        try write(key: key, value: value, to: topic, until: end, producer) { EventLoop.microseconds / 1000 }
    }

    /// The same through this producer, until this moment of that clock: monotonic, in ms.
    static func write(
        key: [UInt8], value: [UInt8], to topic: String, until end: UInt64, _ producer: some ControlProducer,
        now: () -> UInt64
    ) throws(Failure) {
        func left() -> UInt64 { end - min(end, now()) }
        func step(_ longest: UInt64) -> Int32 { Int32(max(1, min(left(), longest))) }
        var answer = producer.learnLeaders(of: topic, within: step(learningMilliseconds))
        while answer != .known {
            guard left() > 0 else { throw failure(producer, reason(answer, topic)) }
            producer.poll(step(pauseMilliseconds))
            answer = producer.learnLeaders(of: topic, within: step(learningMilliseconds))
        }
        do throws(KafkaError) {
            try producer.send(topic: topic, key: key, value: value)
        } catch {
            throw .notAcknowledged("\(error)")
        }
        while producer.delivered == 0 {
            if let reason = producer.lastFailure { throw failure(producer, advised(reason, topic)) }
            guard left() > 0 else { throw failure(producer, "no broker has acknowledged it") }
            producer.poll(step(pauseMilliseconds))
        }
    }

    private static func reason(_ answer: Producer.TopicAnswer, _ topic: String) -> String {
        switch answer {
        case .known, .none: "no broker answers"
        case .missing: "there is no such topic: create \(topic), or correct control.topic"
        case .forbidden: "we may not see the topic: grant Describe and Write on \(topic) to the user of kafka.settings"
        }
    }

    /// A failure with what to do about it. It ends with the library's name of the error.
    private static func advised(_ failure: String, _ topic: String) -> String {
        let advice = [
            ("(TOPIC_AUTHORIZATION_FAILED)", "grant Write on \(topic) to the user of kafka.settings"),
            ("(CLUSTER_AUTHORIZATION_FAILED)", "grant IdempotentWrite on the cluster to the user of kafka.settings"),
        ]
        return advice.first { failure.hasSuffix($0.0) }.map { "\(failure): \($0.1)" } ?? failure
    }

    /// A warning of the library is more precise than the fact that the time is up.
    private static func failure(_ producer: some ControlProducer, _ reason: String) -> Failure {
        let trouble = producer.takeNotices().last { $0.level >= .warning }
        return .notAcknowledged(trouble.map { "\(reason): \($0)" } ?? reason)
    }
}

/// What writes a record: a producer, or its substitute in the test of the time limit.
protocol ControlProducer {
    func learnLeaders(of topic: String, within milliseconds: Int32) -> Producer.TopicAnswer
    func send(topic: String, key: [UInt8], value: [UInt8]) throws(KafkaError)
    func poll(_ milliseconds: Int32)
    func takeNotices() -> [KafkaNotice]
    var delivered: Int { get }
    var lastFailure: String? { get }
}

extension Producer: ControlProducer {
    /// The queue of a new producer always has space for its first record.
    func send(topic: String, key: [UInt8], value: [UInt8]) throws(KafkaError) {
        _ = try produce(topic: topic, key: key, value: value)
    }
}
