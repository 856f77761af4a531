/// Whether the log of one partition is still the one that was read, by what its leader answers. No I/O, no clock.
///
/// The log end must not fall below our position. The topic's id shows whether another log has reached that length; where there is
/// none, `RecreationInference` decides.
///
/// All questions concern what was read before the last check that held, never after it. Records of a recreated log may have been
/// read already, and would prove that log to be itself.
struct LogCheck: Sendable {
    enum Verdict: Equatable {
        case holds
        /// To be settled by reading the record `held.last`.
        case suspicious
        /// Another log, or one that was cut back.
        case broken
        /// Nothing is known.
        case open
    }

    /// What the leader answered.
    struct Answers: Sendable, Equatable {
        var end: Int64
        /// How far the log was read when it was asked.
        var reached: Int64 = 0
        var floor: OffsetAnswer?
        var witness: OffsetAnswer?
    }

    /// What had been read when the log was proved last.
    private(set) var held: LogAnchor
    private var inference: RecreationInference
    /// Refreshes in a row at which the log ended below our position.
    private var shortRefreshes = 0
    /// Whether its leader has reported an end above 0: the log never ends at 0 again.
    private var hadRecords = false

    /// The start of a window that begins before any record.
    static let sinceEver: Int64 = 0

    /// `windowStart`: no record before `start` has this time or a later one; nil where that is not known. `last` is the last record
    /// before `start`, where one is known.
    init(start: Int64, windowStart: Int64?, last: RecordMark? = nil) {
        held = LogAnchor(next: start, last: last)
        inference = RecreationInference(start: start, windowStart: windowStart)
    }

    /// Nothing was held, and something was read since: the record that was read first must still be there. All records of a log
    /// that was empty at the last refresh may have been read since. What is read now may then be the middle of another log.
    mutating func begin(with first: RecordMark?) {
        guard let first, held.next == 0, held.last == nil else { return }
        held = LogAnchor(next: first.offset + 1)
        held.last = first
        held.note(timestamp: first.timestamp, at: first.offset)
    }

    /// Whether the log ends below what was read, proved or not: the amount that was read never decreases.
    private func isShort(_ answers: Answers) -> Bool { answers.end < max(held.next, answers.reached) }

    /// The times to ask for where the topic has no id.
    func questions(now: Int64) -> (floor: Int64?, witness: Int64?) { inference.questions(of: held, now: now) }

    /// `now` is the time that was given to `questions`. `isIdentified`: the leader reported the same topic id.
    mutating func verdict(_ answers: Answers, isIdentified: Bool = false, now: Int64) -> Verdict {
        let isEmptied = hadRecords && answers.end == 0
        hadRecords = hadRecords || answers.end > 0
        guard !isShort(answers), !isEmptied else {
            shortRefreshes += 1
            // A former leader may report a former end, once.
            return shortRefreshes > 1 ? .broken : held.last == nil ? .open : .suspicious
        }
        shortRefreshes = 0
        return isIdentified ? .holds : inference.verdict(held, answers, now: now)
    }

    /// Settles a suspicion by what is now at the offset of `held.last`. If that offset is out of range, nothing there can settle
    /// it. Then `logStart` is requested afterwards: retention may have moved it a moment ago.
    mutating func settle(_ found: RecordAnswer, _ answers: Answers, logStart: Int64?, now: Int64) -> Verdict {
        guard let last = held.last else { return .open }
        let isShort = isShort(answers)
        switch found {
        case .record(let mark) where mark.offset == last.offset:
            if mark != last { return .broken }
        case let found where found.isBehind(last.offset):
            // A hole where our record was: compaction removed it, unless there are records that would have been read.
            if inference.hasRecordsBefore(held, answers) { return .broken }
        case .outOfRange:
            // Retention removed it, and so the log is an older one; or the removal is in progress.
            guard let logStart else { return .open }
            if logStart <= last.offset { return isShort ? .broken : .open }
        case .record, .firstRecord, .end:
            return .broken
        case .unreadable, .silent:
            return .open
        }
        if isShort { return .open }
        inference.settle(held, answers, now: now)
        return .holds
    }

    /// The check held: what was read before it was made is of the same log. Returns the offset of the record with the newest time
    /// stamp if that record is gone. `now` is the time that was given to `questions`.
    mutating func hold(_ anchor: LogAnchor, _ answers: Answers, now: Int64) -> Int64? {
        let gone = inference.witnessGone(held, answers)
        held = anchor
        if let gone {
            held.removeWitness(gone)
            if held.newest == nil { inference.loseWitness(now: now) }
        }
        return gone
    }
}
