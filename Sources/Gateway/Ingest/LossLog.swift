import KafkaLogs
import Logging

/// Logs that records of a partition were lost before they were read. There is one line for each kind of loss and topic at a
/// time, since a change of leader concerns all of its partitions.
final class LossLog {
    private let logger: Logger
    private let limiter = RateLimiter()

    init(logger: Logger) { self.logger = logger }

    /// `now` is monotonic, in milliseconds.
    func log(_ loss: LogChange.Loss, topic: String, partition: Int32, now: UInt64) {
        guard let passed = limiter.pass("\(loss) \(topic)", now: now) else { return }
        let (sentence, advice) = Self.words(loss)
        logger.warning(
            sentence,
            [
                .topic: .text(topic), .partition: .number(Int(partition)), .advice: .text("\(advice)"),
                .suppressed: passed.suppressed,
            ])
    }

    private static func words(_ loss: LogChange.Loss) -> (sentence: StaticString, advice: StaticString) {
        switch loss {
        case .retention:
            (
                "records deleted by retention before they were read; sending resync to all clients",
                "let the topic keep records for longer, or find out why this node was so far behind"
            )
        case .unreadable:
            (
                "unreadable records; sending resync to all clients",
                "check the brokers' log of this partition for damage; clients fetch everything again by themselves"
            )
        case .passedOver:
            (
                "records skipped; sending resync to all clients",
                "clients fetch everything again by themselves; check whether a leader changed; report this line with those before it"
            )
        }
    }
}
