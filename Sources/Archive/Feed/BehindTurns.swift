import KafkaLogs
import LiveUpdates

/// Which leader to ask next, and which answers to believe: without Kafka and without a clock. Times are monotonic, in ms.
package struct BehindTurns: Sendable {
    /// A leader that has not answered is not asked again at once: others wait for the end of each question.
    package static let pauseMilliseconds: ClosedRange<UInt64> = 500...4_000
    /// A new leader may not know everything yet: an answer that would mean another log has to come twice, so far apart.
    package static let confirmationMilliseconds: UInt64 = 1_000
    /// An older answer does not count: much may have happened since.
    package static let doubtMilliseconds: UInt64 = 60_000

    private var silent: [PartitionName: (until: UInt64, pause: UInt64)] = [:]
    private var doubted: [PartitionName: UInt64] = [:]

    package init() {}

    /// Those that may be asked now: first those that answered last time, then those that have been silent for longest.
    package func order(_ partitions: [PartitionName], now: UInt64) -> [PartitionName] {
        let due = partitions.filter { silent[$0].map { $0.until <= now } ?? true }
        return due.sorted { (silent[$0]?.until ?? 0, $0) < (silent[$1]?.until ?? 0, $1) }
    }

    package mutating func answered(_ partition: PartitionName) { silent[partition] = nil }

    package mutating func wasSilent(_ partition: PartitionName, now: UInt64) {
        let (least, most) = (Self.pauseMilliseconds.lowerBound, Self.pauseMilliseconds.upperBound)
        let pause = min(silent[partition].map { $0.pause * 2 } ?? least, most)
        silent[partition] = (now + pause, pause)
    }

    package func isSilent(_ partition: PartitionName) -> Bool { silent[partition] != nil }

    /// Whether its pause has reached the longest.
    package func isSilentForLong(_ partition: PartitionName) -> Bool {
        silent[partition]?.pause == Self.pauseMilliseconds.upperBound
    }

    /// A leader reports that a position lies behind its log's end. Returns whether it reported this before, long enough ago.
    package mutating func isLost(_ partition: PartitionName, now: UInt64) -> Bool {
        guard let first = doubted[partition], now <= first + Self.doubtMilliseconds else {
            doubted[partition] = now
            return false
        }
        guard now >= first + Self.confirmationMilliseconds else { return false }
        doubted[partition] = nil
        return true
    }

    /// It lies within the log after all.
    package mutating func isThere(_ partition: PartitionName) { doubted[partition] = nil }

    // MARK: - What was read once more

    /// The part's records up to this offset were handed to the recorder.
    package mutating func read(_ part: ArchiveFeed.Behind, to next: Int64, _ recorder: inout RunRecorder) {
        if next > part.range.lowerBound { isThere(part.partition) }
        recorder.move(part.partition, to: next)
    }

    /// The part's beginning is not in the log, which has these bounds. Returns whether the log is another one.
    package mutating func isLost(
        _ part: ArchiveFeed.Behind, outOf bounds: Range<Int64>, _ recorder: inout RunRecorder, now: UInt64
    ) -> Bool {
        if bounds.lowerBound > part.range.lowerBound {
            recorder.lose(part.partition)
            recorder.move(part.partition, to: bounds.lowerBound)
            return false
        }
        if bounds.upperBound < part.range.lowerBound { return isLost(part.partition, now: now) }
        isThere(part.partition)
        return false
    }
}
