/// Whether the log of one partition is still the one that was read, by what its leader answers. No I/O, no clock.
///
/// Two offsets are asked for: the first with the newest time stamp that was read (the witness, which must stand where we
/// read it) and the first after it (nothing below our position may have a later one). A log that was made anew passes
/// both only with the same time stamp at the same offset and older ones before it. In one log both can fail too, for
/// records that we did not see (aborted, before our window) or that are gone (retention, compaction): so a failure is a
/// suspicion, which reading the last record once more settles. Now and then that is done without a suspicion.
///
/// What is asked about was read before the check that held last, never after: of a log that was made anew meanwhile we
/// may have read already, and such records would prove it to be itself.
struct AnchorCheck: Sendable {
    /// No record below the position has this time or a later one: the leader said so.
    struct Floor: Sendable, Equatable {
        var time: Int64
        var position: Int64
    }

    enum Verdict: Equatable {
        case holds
        /// To be settled by reading the record `held.last`.
        case suspicious
        /// Another log, or one that was cut back.
        case broken
        /// Nothing is known.
        case open
    }

    /// What the leader answered about one anchor.
    struct Answers: Sendable, Equatable {
        var end: Int64
        var floor: OffsetAnswer?
        var witness: OffsetAnswer?
    }

    /// What had been read when the log was proved last.
    private(set) var held: LogAnchor
    private var floor: Floor?
    /// Answers that do not fit what was read, and are nevertheless those of our log.
    private var settled: (witness: LogAnchor.Witness, answers: Answers)?
    /// Looks in a row at which the log ended below our position.
    private var shortLooks = 0

    init(_ opening: Opening) {
        held = LogAnchor(next: opening.start)
        floor = opening.windowStart.map { Floor(time: $0, position: opening.start) }
    }

    /// Nothing was held, and meanwhile something was read: the record that was read first has to be there still. Of a log
    /// that was empty at the last look we may have read all there was, and go on in the middle of another one.
    mutating func begin(with first: RecordMark?) {
        guard let first, held.next == 0, held.last == nil else { return }
        held = LogAnchor(next: first.offset + 1)
        held.last = first
        held.witness(first.timestamp, at: first.offset)
    }

    /// The times to ask for; nil where there is nothing to ask.
    func questions(now: Int64) -> (floor: Int64?, witness: Int64?) {
        if let newest = held.newest { return (newest.timestamp + 1, newest.timestamp) }
        // Of a log that is read from its offset 0, and of which nothing was read, nothing can be missed.
        if held.next == 0 { return (nil, nil) }
        return (floor?.time ?? now, nil)
    }

    /// `now` is the time that was given to `questions`.
    mutating func judge(_ answers: Answers, now: Int64) -> Verdict {
        guard answers.end >= held.next else {
            shortLooks += 1
            // A leader of before may tell an end of before, once.
            return shortLooks > 1 ? .broken : held.last == nil ? .open : .suspicious
        }
        shortLooks = 0
        guard let newest = held.newest else { return judgeWithoutWitness(answers, now: now) }
        guard let floor = answers.floor, let witness = answers.witness, floor.isAnswer, witness.isAnswer else {
            return .open
        }
        if isFloorKept(floor, held.next), witness.offset == newest.offset { return .holds }
        if let settled, settled.witness == newest, settled.answers.floor == floor, settled.answers.witness == witness {
            return .holds
        }
        return .suspicious
    }

    private mutating func judgeWithoutWitness(_ answers: Answers, now: Int64) -> Verdict {
        if held.next == 0 { return .holds }
        guard let answer = answers.floor, answer.isAnswer else { return .open }
        if let floor {
            if isFloorKept(answer, floor.position) { return .holds }
            return held.last == nil ? .broken : .suspicious
        }
        guard isFloorKept(answer, held.next) else { return .open }
        floor = Floor(time: now, position: held.next)
        return .holds
    }

    private func isFloorKept(_ answer: OffsetAnswer, _ position: Int64) -> Bool {
        answer == .end || answer.offset.map { $0 >= position } == true
    }

    /// Settles a suspicion by what stands now where `held.last` was read. Where nothing can, because that is out of range,
    /// `logStart` is asked for afterwards: retention may have moved it a moment ago.
    mutating func settle(_ found: PeekAnswer, _ answers: Answers, logStart: Int64?, now: Int64) -> Verdict {
        guard let last = held.last else { return .open }
        let isShort = answers.end < held.next
        switch found {
        case .record(let mark) where mark.offset == last.offset:
            if mark != last { return .broken }
        case let found where found.isBehind(last.offset):
            // A hole where our record was: compaction removed it, unless there are records that we would have read.
            let position = held.newest == nil ? floor?.position ?? 0 : held.next
            if let answer = answers.floor, !isFloorKept(answer, position) { return .broken }
        case .outOfRange:
            // Retention removed it, and so the log is an older one; or it is on its way.
            guard let logStart else { return .open }
            if logStart <= last.offset { return isShort ? .broken : .open }
        case .record, .end:
            return .broken
        case .silent:
            return .open
        }
        if isShort { return .open }
        learn(answers, now: now)
        return .holds
    }

    /// Remembers answers of our log, if those of another one would be others: that one begins at 0, with records that
    /// are newer than all that we read, or not newer than the future.
    private mutating func learn(_ answers: Answers, now: Int64) {
        guard let newest = held.newest, newest.timestamp <= now else { return }
        guard answers.floor != .offset(0) || answers.witness != .offset(0) else { return }
        settled = (newest, answers)
    }

    /// The check held: what was read until it was made is of the same log.
    mutating func hold(_ anchor: LogAnchor) {
        held = anchor
    }

    /// The offset of the newest record that was read, if the answers say that it is there no longer.
    func witnessGone(_ answers: Answers) -> Int64? {
        guard let newest = held.newest, let witness = answers.witness, witness.isAnswer else { return nil }
        return isFloorKept(witness, newest.offset + 1) ? newest.offset : nil
    }
}

extension OffsetAnswer {
    /// Whether it says where.
    var isAnswer: Bool { self == .end || offset != nil }
}
