import KafkaLogs
import LiveUpdates

/// Finds where a partition goes on, from the first question to its leader to the last. ``LogSearch`` decides by the records,
/// once the leader has reported it often enough. No Kafka and no clock; times are monotonic, in ms.
package struct BehindSearch: Sendable {
    package enum Question: Equatable, Sendable {
        /// Where the log begins and ends.
        case bounds
        /// Which record is exactly there.
        case record(at: Int64)
        /// The first record that is stamped at this time or later, in ms since 1970.
        case first(since: Int64)
    }

    package let asked: ArchiveFeed.Question
    private let keptFrom: Int64
    private let isEmbedded: Bool
    private var bounds: Range<Int64> = 0..<0
    private var search: LogSearch?
    private var isOtherLog = false
    /// What is to be asked next; nil: nothing.
    package private(set) var question: Question? = .bounds
    /// Nil: it is not known, or not yet.
    package private(set) var resolution: ArchiveFeed.Resolution?

    /// - Parameters:
    ///   - keptFrom: what is stamped before is not kept.
    ///   - isEmbedded: whether the broker is the one within librdkafka, which knows no times.
    package init(_ asked: ArchiveFeed.Question, keptFrom: Int64, isEmbedded: Bool) {
        self.asked = asked
        self.keptFrom = keptFrom
        self.isEmbedded = isEmbedded
    }

    package var partition: PartitionName { asked.partition }

    /// Nil: the leader does not answer.
    package mutating func receive(bounds found: Range<Int64>?, _ turns: inout BehindTurns, now: UInt64) {
        question = nil
        guard let found else { return turns.wasSilent(partition, now: now) }
        bounds = found
        search = LogSearch(asked, start: bounds.lowerBound, end: bounds.upperBound)
        goOn(&turns, now: now)
    }

    package mutating func receive(record: LogSearch.Answer, _ turns: inout BehindTurns, now: UInt64) {
        question = nil
        search?.add(record)
        goOn(&turns, now: now)
    }

    package mutating func receive(first: OffsetAnswer, _ turns: inout BehindTurns, now: UInt64) {
        question = nil
        switch first {
        case .offset(let offset): begin(at: max(offset, bounds.lowerBound), &turns)
        // The end was read before: records that arrived since are behind it.
        case .end: begin(at: isEmbedded ? bounds.lowerBound : bounds.upperBound, &turns)
        default: turns.wasSilent(partition, now: now)
        }
    }

    private mutating func goOn(_ turns: inout BehindTurns, now: UInt64) {
        guard let search else { return }
        if case .ask(let offset) = search.step {
            question = .record(at: offset)
            return
        }
        if search.isDoubtful {
            guard turns.isLost(partition, now: now) else { return turns.answered(partition) }
        } else if search.step != .wait {
            turns.isThere(partition)
        }
        switch search.step {
        case .found(let resolution): resolve(resolution, &turns)
        case .begin(let isOtherLog):
            self.isOtherLog = isOtherLog
            question = .first(since: keptFrom)
        case .ask, .wait: turns.wasSilent(partition, now: now)
        }
    }

    /// Begins at the oldest record that is kept, in a log of which nothing is stored.
    private mutating func begin(at offset: Int64, _ turns: inout BehindTurns) {
        resolve(isOtherLog ? .otherLog(from: offset) : .goOn(at: offset), &turns)
    }

    private mutating func resolve(_ resolution: ArchiveFeed.Resolution, _ turns: inout BehindTurns) {
        self.resolution = resolution
        turns.answered(partition)
    }
}
