import Kafka
import Logging

/// Logs Kafka's notices: one line in 10 s for each cause. The end of an outage is logged as often as its beginning: the reader
/// of "no broker answers" must also read that one does.
final class KafkaReport {
    private let logger: Logger
    private let limiter = RateLimiter()
    /// Outages whose beginning is in the log, but not their end: one of the brokers, and one for each topic.
    private var open: Set<String> = []

    init(logger: Logger) {
        self.logger = logger
    }

    /// `now` is monotonic, in milliseconds.
    func log(_ notices: [KafkaNotice], now: UInt64) {
        for notice in notices {
            let level = notice.level.logLevel
            guard logger.isEnabled(level) else { continue }
            var suppressed = LogValue.absent
            if let ended = notice.endedOutage {
                guard open.remove(ended) != nil else { continue }
            } else if level > .debug {
                guard let passed = limiter.pass(notice.key, now: now) else { continue }
                suppressed = passed.suppressed
                if let begun = notice.begunOutage { open.insert(begun) }
            }
            logger.log(
                level, notice.sentence,
                [
                    .broker: fact(.broker, notice), .topic: fact(.topic, notice),
                    .partition: fact(.partition, notice), .offset: fact(.offset, notice),
                    .position: fact(.position, notice),
                    .setting: fact(.setting, notice), .facility: fact(.facility, notice),
                    .count: fact(.count, notice), .reason: fact(.reason, notice),
                    .advice: notice.cause.advice.map { .text("\($0)") } ?? .absent, .suppressed: suppressed,
                ])
        }
    }

    private func fact(_ name: KafkaNotice.Fact, _ notice: KafkaNotice) -> LogValue {
        notice[name].map { .text($0) } ?? .absent
    }
}

extension KafkaNotice.Level {
    fileprivate var logLevel: LogLevel {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
