import KafkaLogs
import Logging
import Synchronization
import Testing

@testable import Gateway

/// What an operator reads of lost records, by the second in which they were found.
struct LossLogTests {
    private final class Lines: LogDestination {
        let level = LogLevel.info
        let dropped = 0
        let written = Mutex<[String]>([])
        func setLevel(_ level: LogLevel) {}
        func accept(_ record: LogRecord) {
            let shown = record.facts.compactMap { key, value in
                switch (key, value) {
                case (.topic, .text(let topic)): topic
                case (.partition, .number(let number)), (.suppressed, .number(let number)): "\(number)"
                default: nil
                }
            }
            written.withLock { $0.append(shown.joined(separator: " ")) }
        }
        func now() -> Int64 { 0 }
    }

    @Test func `each kind of loss and each topic has one line in ten seconds, with how many were left out`() {
        let lines = Lines()
        let log = LossLog(logger: Logger("ingest", to: lines))
        let found: [(second: UInt64, loss: LogChange.Loss, topic: String, partition: Int32)] = [
            (0, .passedOver, "t", 0), (0, .passedOver, "t", 1), (1, .passedOver, "u", 0), (2, .retention, "t", 2),
            (9, .passedOver, "t", 3), (10, .passedOver, "t", 4), (30, .unreadable, "t", 5),
        ]
        for one in found {
            log.log(one.loss, topic: one.topic, partition: one.partition, now: one.second * 1_000)
        }
        #expect(lines.written.withLock { $0 } == ["t 0", "u 0", "t 2", "t 4 2", "t 5"])
    }
}
