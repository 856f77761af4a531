import LiveUpdates
import Logging

/// The position of a record.
package struct RecordPosition: Sendable {
    let topic: String
    let partition: Int32
    let offset: Int64
}

/// Counts the records that yield no event, by reason, and logs them at a limited rate.
final class SkipLog {
    private(set) var counts: [SkipReason: UInt64] = [:]
    private let logger: Logger
    private let limiter = RateLimiter()

    init(logger: Logger) {
        self.logger = logger
    }

    /// `now` is monotonic, in milliseconds.
    func count(_ reason: SkipReason, why: SkipCause, position: RecordPosition, now: UInt64) {
        counts[reason, default: 0] += 1
        // Records that a preset or the operator leaves out are no error.
        let level: LogLevel = reason.isExpected ? .debug : .warning
        guard logger.isEnabled(level), let passed = limiter.pass(reason.rawValue, now: now) else { return }
        logger.log(
            level, "record skipped",
            [
                .reason: .text(reason.rawValue), .cause: .text("\(why)"), .topic: .text(position.topic),
                .partition: .number(Int(position.partition)), .offset: .number(Int(position.offset)),
                .advice: reason.isExpected
                    ? .absent
                    : "run livegate map with this record; then correct events in the settings, or the producer",
                .suppressed: passed.suppressed,
            ])
    }
}

extension SkipReason {
    /// The settings or the preset ask to skip it, so nobody has to check the record.
    var isExpected: Bool {
        switch self {
        case .tombstone, .ignored, .dropped: true
        default: false
        }
    }
}
