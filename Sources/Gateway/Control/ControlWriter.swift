import GatewaySettings
import Kafka

/// Writes one record to the control topic, and waits until every replica in sync has it: whoever revokes something wants to
/// know that it is.
package enum ControlWriter {
    /// For all of it: to find a broker and the topic, to log in, to be acknowledged.
    package static let timeoutMilliseconds: Int64 = 10_000
    /// Between two questions for a topic that is not there: one that was just created may not be known everywhere.
    private static let pauseMilliseconds: Int32 = 100

    package enum Failure: Error {
        case settings(KafkaError)
        /// It may have been written all the same: acknowledgements get lost too.
        case notAcknowledged(String)
    }

    /// Blocks.
    package static func write(
        key: [UInt8], value: [UInt8], to topic: String, _ kafka: SettingValues<KafkaTable>
    ) throws(Failure) {
        let end = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
        func left() -> Int64 { (end - .now) / .milliseconds(1) > 0 ? Int64((end - .now) / .milliseconds(1)) : 0 }
        let producer: Producer
        do throws(KafkaError) {
            producer = try Producer(
                brokers: kafka.brokers,
                kafka.settings.map { ($0.name, $0.value) } + [
                    ("acks", "all"), ("enable.idempotence", "true"),
                    // A misspelt topic that came into being here would be read by nobody.
                    ("allow.auto.create.topics", "false"),
                    // Given up by the library too, so that nothing is written behind our back for long.
                    ("message.timeout.ms", String(timeoutMilliseconds)),
                ])
        } catch {
            throw .settings(error)
        }
        while !producer.learnLeaders(of: topic, within: Int32(clamping: max(1, min(left(), 1_000)))) {
            guard left() > 0 else { throw failure(producer, "there is no such topic, or no broker answers") }
            producer.poll(pauseMilliseconds)
        }
        do throws(KafkaError) {
            _ = try producer.produce(topic: topic, key: key, value: value)
        } catch {
            throw .notAcknowledged("\(error)")
        }
        while producer.delivered == 0 {
            if let reason = producer.lastFailure { throw failure(producer, reason) }
            guard left() > 0 else { throw failure(producer, "no broker has acknowledged it") }
            producer.poll(pauseMilliseconds)
        }
    }

    /// What the library complained of says more than that the time is up.
    private static func failure(_ producer: Producer, _ reason: String) -> Failure {
        let trouble = producer.takeNotices().last { $0.level >= .warning }
        return .notAcknowledged(trouble.map { "\(reason): \($0)" } ?? reason)
    }
}
