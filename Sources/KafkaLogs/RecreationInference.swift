/// Used only where topic ids are absent: infers from offsets for times whether a log is still the one that was read.
///
/// Two offsets are requested. The first is that of the newest time stamp that was read (the witness): it must be where it was
/// read. The second is that of the first later time stamp: nothing below our position may have one. A recreated log passes both
/// only with the same time stamp at the same offset and older ones before it. In one log both can fail too: records were not read
/// (aborted, before the window) or are gone (retention, compaction). So a failure is a suspicion, which reading the last record
/// once more settles.
struct RecreationInference: Sendable {
    /// By the leader's answer, no record below the position has this time or a later one. Nil until it reports a position.
    private struct Floor: Sendable, Equatable {
        var time: Int64
        var position: Int64?
    }

    private var floor: Floor?
    /// Answers that do not fit what was read, but are those of our log.
    private var settled: (witness: LogAnchor.Witness, answers: LogCheck.Answers)?

    /// `windowStart`: no record before `start` has this time or a later one.
    init(start: Int64, windowStart: Int64?) {
        floor = windowStart.map { Floor(time: $0, position: start) }
    }

    /// The times to ask for; nil where there is nothing to ask.
    func questions(of held: LogAnchor, now: Int64) -> (floor: Int64?, witness: Int64?) {
        // No time is behind the highest of all.
        if let newest = held.newest { return (newest.timestamp == .max ? nil : newest.timestamp + 1, newest.timestamp) }
        // If a log is read from its offset 0, and nothing of it was read yet, nothing can be missed.
        if held.next == 0 { return (nil, nil) }
        return (floor?.time ?? now, nil)
    }

    /// `now` is the time that was given to `questions`.
    mutating func verdict(_ held: LogAnchor, _ answers: LogCheck.Answers, now: Int64) -> LogCheck.Verdict {
        guard let newest = held.newest else { return verdictWithoutWitness(held, answers, now: now) }
        let floor = newest.timestamp == .max ? .end : answers.floor
        guard let floor, let witness = answers.witness, floor.isAnswer, witness.isAnswer else { return .open }
        if Self.isKept(floor, held.next), witness.offset == newest.offset { return .holds }
        if let settled, settled.witness == newest, settled.answers.floor == floor, settled.answers.witness == witness {
            return .holds
        }
        return .suspicious
    }

    private mutating func verdictWithoutWitness(
        _ held: LogAnchor, _ answers: LogCheck.Answers, now: Int64
    ) -> LogCheck.Verdict {
        if held.next == 0 { return .holds }
        guard let answer = answers.floor, answer.isAnswer else { return .open }
        if let position = floor?.position {
            if Self.isKept(answer, position) { return .holds }
            return held.last == nil ? .broken : .suspicious
        }
        // No record below the offset that it names has that time either. In another log, as a rule, all records have it.
        let position = min(answer.offset ?? .max, held.next)
        guard position > 0 else { return held.last == nil ? .open : .suspicious }
        floor = Floor(time: floor?.time ?? now, position: position)
        return .holds
    }

    /// The record with the newest time stamp is gone, from a log that was ours at this moment: another log has only later
    /// records. So this moment is requested from now on. In our log, only records from the future may have it.
    mutating func loseWitness(now: Int64) { floor = Floor(time: now, position: nil) }

    static func isKept(_ answer: OffsetAnswer, _ position: Int64) -> Bool {
        answer == .end || answer.offset.map { $0 >= position } == true
    }

    /// Whether there are records below our position that would have been read in our log.
    func hasRecordsBefore(_ held: LogAnchor, _ answers: LogCheck.Answers) -> Bool {
        guard let answer = answers.floor else { return false }
        guard held.newest == nil else { return !Self.isKept(answer, held.next) }
        guard let floor else { return false }
        if let position = floor.position { return !Self.isKept(answer, position) }
        // Unless it is from the future, and was read here.
        if let first = held.first, first.offset == 0, first.timestamp >= floor.time { return false }
        return !Self.isKept(answer, 1)
    }

    /// Remembers answers of our log, if another log would give other answers. Such a log begins at 0, with records that are newer
    /// than all that was read, unless that is from the future.
    mutating func settle(_ held: LogAnchor, _ answers: LogCheck.Answers, now: Int64) {
        guard let newest = held.newest, newest.timestamp <= now else { return }
        guard answers.floor != .offset(0) || answers.witness != .offset(0) else { return }
        settled = (newest, answers)
    }

    /// The offset of the newest record that was read, if the answers show that it is no longer there.
    func witnessGone(_ held: LogAnchor, _ answers: LogCheck.Answers) -> Int64? {
        guard let newest = held.newest, let witness = answers.witness, witness.isAnswer else { return nil }
        return Self.isKept(witness, newest.offset + 1) ? newest.offset : nil
    }
}
