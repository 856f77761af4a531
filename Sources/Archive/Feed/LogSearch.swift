import KafkaLogs

extension ArchiveFeed {
    /// A partition whose next offset is unknown.
    package struct Question: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        /// The next offset by the store; nil: nothing is stored.
        package let next: Int64?
        /// The log of that offset.
        package let log: StoredLog
        /// What this node knows of the log that it reads.
        package let facts: LogFacts
    }

    /// Where a partition goes on.
    package enum Resolution: Equatable, Sendable {
        /// In the log that is stored.
        case goOn(at: Int64)
        /// In another log, which has the name of the stored one.
        case otherLog(from: Int64)
        /// In the stored log, which has lost its end: what followed a record of this stamp, if anything. What lies before
        /// `until` may be stored already.
        case cutBack(to: Int64, since: Int64?, until: Int64)
    }
}

/// Where a partition goes on. It is found by asking the leader which records are where the store had some. Decided without I/O
/// and without a clock.
///
/// Neither "no record there", which compaction and transactions cause, nor "no answer" proves anything. A record at its old
/// offset proves that the log is the same up to there; another one proves that it is not. What was read after the last proof is
/// read once more. It may have been another log by then, or this one after it was cut back, and the records there now prove
/// nothing of those before.
package struct LogSearch: Sendable {
    package enum Answer: Equatable, Sendable {
        /// The record at exactly this offset. −1: it has no stamp.
        case record(stamp: Int64)
        /// There is no record.
        case absent
        /// The leader did not answer in time.
        case silent
    }

    package enum Step: Equatable, Sendable {
        /// Which record is at this offset?
        case ask(Int64)
        case found(ArchiveFeed.Resolution)
        /// At the oldest record that is kept, in a log of which nothing is stored.
        case begin(isOtherLog: Bool)
        /// Not known yet: the leader is to be asked again.
        case wait
    }

    private let next: Int64?
    private let log: StoredLog
    private let facts: LogFacts
    private let (start, end): (Int64, Int64)
    private let sure: Int64
    /// What is to be asked, the newest last.
    private var unasked: [StoredLog.Point]
    private var match: StoredLog.Point?
    private var hasMismatch = false
    /// A record is where it was read, and it was not certain in which log.
    private var hasUnsureMatch = false
    private var hasAbsence = false
    private var isSilent = false

    /// - Parameters:
    ///   - start: where the log begins now.
    ///   - end: the last stable offset.
    package init(_ question: ArchiveFeed.Question, start: Int64, end: Int64) {
        next = question.next
        log = question.log
        facts = question.facts
        sure = question.log.sure ?? .max
        (self.start, self.end) = (start, end)
        let last = min(end, question.next ?? 0)
        unasked = log.points.filter { $0.offset >= start && $0.offset < last }
    }

    package mutating func add(_ answer: Answer) {
        guard let asked = unasked.popLast() else { return }
        switch answer {
        case .record(asked.stamp) where asked.offset >= sure:
            hasUnsureMatch = true
            unasked.removeAll { $0.offset >= sure }
        case .record(asked.stamp): match = asked
        case .record: hasMismatch = true
        case .absent: hasAbsence = true
        case .silent: isSilent = true
        }
    }

    package var step: Step {
        guard let next else { return .begin(isOtherLog: false) }
        if log.known.isSurelyOther(facts) { return .begin(isOtherLog: true) }
        if isSilent { return .wait }
        if let match {
            /// Where the log was cut back before, events may be stored behind the position.
            let reached = max(next, log.until ?? next)
            if hasMismatch || reached > end {
                return .found(.cutBack(to: match.offset + 1, since: match.stamp, until: min(reached, end)))
            }
            // If no record was right behind it, another one may be there now, even in a topic that has kept its id.
            if match == log.points.last(where: { $0.offset < sure }), next == match.offset + 1 {
                return .found(.goOn(at: next))
            }
            // The records behind it are gone, or of another log: they are read once more, and what is stored stays.
            return .found(.cutBack(to: match.offset + 1, since: nil, until: reached))
        }
        if next <= end {
            // Whatever log it is: all that can be read of it is behind what is stored. One that was cut back has lost more.
            if next <= start, !hasMismatch, log.known.verdict(facts) != .other { return .found(.goOn(at: next)) }
            if let asked = unasked.last { return .ask(asked.offset) }
            if !hasMismatch {
                switch log.known.verdict(facts) {
                case .same: return goOn(next, until: max(next, log.until ?? next))
                case .open where hasUnsureMatch: return goOn(next, until: max(next, log.until ?? next))
                // If the log has lost all known records, no later answer will prove it.
                case .open where hasAbsence: return .wait
                case .open, .other: break
                }
            }
        } else if let asked = unasked.last {
            return .ask(asked.offset)
        }
        return .begin(isOtherLog: true)
    }

    /// No record is known that was proved to be of the log and is still there.
    private func goOn(_ next: Int64, until reached: Int64) -> Step {
        sure >= next
            ? .found(.goOn(at: next)) : .found(.cutBack(to: min(next, max(start, sure)), since: nil, until: reached))
    }

    /// Whether the step depends only on a leader's report of its log, and would make it another one. A leader that was just
    /// elected may not know everything yet, so it has to report it twice.
    package var isDoubtful: Bool {
        switch step {
        case .found(.cutBack(_, let since, _)): since != nil
        case .begin(let isOtherLog): isOtherLog && !log.known.isSurelyOther(facts)
        case .ask, .wait, .found: false
        }
    }
}
