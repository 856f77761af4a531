import Logging
import Synchronization
import Testing

@testable import Gateway
@testable import Kafka

/// What of Kafka's notices an operator reads, by the second in which they come.
struct KafkaReportTests {
    private final class Sentences: LogDestination {
        let level = LogLevel.info
        let dropped = 0
        let written = Mutex<[String]>([])
        func setLevel(_ level: LogLevel) {}
        func accept(_ record: LogRecord) { written.withLock { $0.append("\(record.message)") } }
        func now() -> Int64 { 0 }
    }

    private static let down = KafkaNotice(.allBrokersDown), up = KafkaNotice(.recovered)
    private static let gone = KafkaNotice(.topicGone, [(.topic, "t")])
    private static let found = KafkaNotice(.topicFound, [(.topic, "t")])
    private static let otherFound = KafkaNotice(.topicFound, [(.topic, "u")])

    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let notices: [(second: UInt64, notice: KafkaNotice)]
        let written: [KafkaCause]
    }

    static let rows = [
        Row(
            testDescription: "an outage within ten seconds of the end of another is ended in the log too",
            notices: [(0, down), (9, up), (11, down), (12, up)],
            written: [.allBrokersDown, .recovered, .allBrokersDown, .recovered]),
        Row(
            testDescription: "where the beginning was left out, so is the end",
            notices: [(0, down), (1, up), (2, down), (3, up), (4, down), (5, up)],
            written: [.allBrokersDown, .recovered]),
        Row(
            testDescription: "an outage that is repeated ends once",
            notices: [(0, down), (30, down), (31, up), (32, up)],
            written: [.allBrokersDown, .allBrokersDown, .recovered]),
        Row(
            testDescription: "a topic that is there again is no end of the brokers' outage, nor of another topic's",
            notices: [(0, down), (0, gone), (1, otherFound), (2, found), (3, up)],
            written: [.allBrokersDown, .topicGone, .topicFound, .recovered]),
    ]

    @Test(arguments: rows) func `the end of an outage is written where its beginning was`(_ row: Row) {
        let log = Sentences()
        let report = KafkaReport(logger: Logger("kafka", to: log))
        for (second, notice) in row.notices { report.log([notice], now: second * 1_000) }
        #expect(log.written.withLock { $0 } == row.written.map { "\($0.sentence)" })
    }
}
