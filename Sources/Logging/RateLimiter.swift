import Synchronization

/// Allows one line for each cause in an interval, and counts the others.
///
///     if let passed = limiter.pass("\(topic) missing", now: loop.now) {
///         logger.warning("a topic is missing", [.topic: .text(topic), .suppressed: passed.suppressed])
///     }
package final class RateLimiter: Sendable {
    package struct Passed: Equatable, Sendable {
        /// How many lines of this cause were suppressed since the last one.
        package let count: Int

        package init(count: Int) {
            self.count = count
        }

        /// The count as a fact; absent if it is 0.
        package var suppressed: LogValue { count == 0 ? .absent : .number(count) }
    }

    private struct Cause {
        var passedAt: UInt64
        var suppressed: Int
    }

    /// Ten seconds: an operator sees that the cause continues, and a day of it has at most 8,640 lines.
    package static let interval: Duration = .seconds(10)
    /// Causes may contain names from records. Beyond this many causes, the one that passed longest ago is forgotten.
    package static let maximumCauses = 1_024

    private let intervalMilliseconds: UInt64
    private let causes = Mutex<[String: Cause]>([:])

    package init(interval: Duration = RateLimiter.interval) {
        intervalMilliseconds = UInt64(interval / .milliseconds(1))
    }

    /// - Parameter now: milliseconds of a clock that never goes back.
    /// - Returns: nil if the line must be left out.
    package func pass(_ cause: String, now: UInt64) -> Passed? {
        causes.withLock { causes in
            if let known = causes[cause], now < known.passedAt + intervalMilliseconds {
                causes[cause]?.suppressed += 1
                return nil
            }
            let suppressed = causes[cause]?.suppressed ?? 0
            if causes[cause] == nil, causes.count >= Self.maximumCauses,
                let oldest = causes.min(by: { $0.value.passedAt < $1.value.passedAt })
            {
                causes[oldest.key] = nil
            }
            causes[cause] = Cause(passedAt: now, suppressed: 0)
            return Passed(count: suppressed)
        }
    }
}
