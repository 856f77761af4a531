// Judging a cursor that comes back. The rules stand in the order in which their answers are given.
extension History {
    /// How far the clocks of two nodes may differ before a cursor seems to come from the future.
    static let maximumClockDifferenceMilliseconds: Int64 = 60_000

    /// Whether everything after a cursor can be given to the account, and from where.
    ///
    /// Goes over the account's log, and over all partitions.
    package func resume(
        _ text: [UInt8], account: Account, now: Int64, ends: EndsSeen = .earlier
    ) -> Resumption {
        let log = logs[account]
        guard let cursor = Cursor(text), cursor.accountCheck == log?.check ?? Cursor.check(of: account) else {
            return .refused(.invalid)
        }
        guard cursor.epoch == epoch, !isOfAnotherLog(cursor, log), !isOfAnotherTopic(cursor) else {
            return .refused(.epoch)
        }
        let state = ResumeState(issue: cursor.issue, positions: cursor.positions, fingerprint: cursor.fingerprint)
        guard isComplete(after: state, log) else { return .refused(.expired) }
        guard cursor.issue <= now + Self.maximumClockDifferenceMilliseconds else { return .refused(.ahead) }
        return accept(state, log, ends, now: now)
    }

    /// Whether a partition that it names was another log when it was issued, as far as can be told: the issuing node
    /// last knew its log before this one had its first record, or the account's last event is another one here.
    private func isOfAnotherLog(_ cursor: Cursor, _ log: AccountLog?) -> Bool {
        for position in cursor.positions {
            guard let place = partitions.place(of: position.partition),
                let earliest = partitions[place].earliestKnowledge
            else { continue }
            guard let known = position.known, known >= earliest else { return true }
        }
        guard let fingerprint = cursor.fingerprint, let place = partitions.place(of: fingerprint.partition) else {
            return false
        }
        let part = log.flatMap { log in log.index(ofPlace: place).map { log.parts[$0] } }
        guard fingerprint.offset >= completeFrom(place, part), fingerprint.offset < partitions[place].next else {
            return false
        }
        guard let entry = part?.entry(at: fingerprint.offset) else { return true }
        return fingerprint
            != Cursor.Fingerprint(
                partition: fingerprint.partition, offset: fingerprint.offset, timestamp: entry.timestamp)
    }

    /// Whether a topic has been made anew since, named or not: all of it is read from its beginning, and its first
    /// record came after the issuing node last knew the topic. A partition alone proves nothing: it may have been
    /// added.
    private func isOfAnotherTopic(_ cursor: Cursor) -> Bool {
        // Whoever has seen the topic being made anew needs no other sign than the time of issue: the cursor may be from
        // before the old one had a record.
        let isOlder = partitions.states.contains { $0.notBefore != nil && $0.earliestKnowledge ?? .min > cursor.issue }
        if isOlder { return true }
        guard let known = cursor.topicsKnown else { return false }
        var births: [UInt16: (first: Int64, isWhole: Bool, isTellable: Bool)] = [:]
        for state in partitions.states {
            let birth = births[state.name.topic] ?? (first: .max, isWhole: true, isTellable: false)
            births[state.name.topic] = (
                min(birth.first, state.existed), birth.isWhole && state.began == nil,
                birth.isTellable || state.isTellable
            )
        }
        return births.values.contains { $0.isWhole && $0.isTellable && $0.first > known }
    }

    /// Whether nothing after the positions was let go.
    ///
    /// Of a partition that is not named, nothing that may have come after the issue: it is judged by time, and time
    /// stamps may lag behind by the margin.
    func isComplete(after state: ResumeState, _ log: AccountLog?) -> Bool {
        let horizon = state.issue - limits.maximumTimestampDelayMilliseconds
        for (place, partition) in partitions.states.enumerated() {
            let part = log.flatMap { log in log.index(ofPlace: place).map { log.parts[$0] } }
            if let offset = state.offset(of: partition.name) {
                guard offset >= completeFrom(place, part) else { return false }
            } else {
                if let began = partition.began, began >= horizon { return false }
                let inherited = min(log?.inheritedNewestLetGo ?? .max, partition.newestLetGo)
                guard part?.newestLetGo ?? inherited < horizon else { return false }
            }
        }
        return true
    }

    private func completeFrom(_ place: Int, _ part: PartitionLog?) -> Int64 {
        partitions[place].completeFrom(letGo: part?.base.offset ?? partitions[place].letGo)
    }

    /// The last rule: no position lies beyond the broker's own end. One that lies beyond what is read here comes from
    /// a node that is ahead of this one.
    private func accept(_ state: ResumeState, _ log: AccountLog?, _ ends: EndsSeen, now: Int64) -> Resumption {
        var floors: [PartitionFloor] = []
        var isBeyond = false
        for position in state.positions {
            let place = partitions.place(of: position.partition)
            if let place, position.offset <= partitions[place].next { continue }
            floors.append(PartitionFloor(partition: position.partition, offset: position.offset))
            if let place, position.offset <= partitions[place].end { continue }
            isBeyond = true
            // A partition that a look has not found is not there.
            let asked = place.map { partitions[$0].endAsked } ?? .max
            if case .since(let moment) = ends, asked >= moment { return .refused(.ahead) }
        }
        if isBeyond {
            guard case .unknown = ends else { return .undecided }
        }
        let position = StreamPosition(sequence: 0, floors: floors, resume: reissued(state, log, now: now))
        return .accepted(position, floors: floors)
    }

    /// The cursor as this node would have issued it now: it names the account's other partitions too, before the first
    /// event that is held there, all of which will be given. What it does not name holds nothing of the account.
    ///
    /// With the old time of issue, what the replay says of a partition that was born since would speak of another log.
    func reissued(_ state: ResumeState, _ log: AccountLog?, now: Int64) -> ResumeState {
        var positions = state.positions
        for part in log?.parts ?? [] where state.offset(of: part.partition) == nil {
            var walk = PartitionLog.Walk(part)
            let offset = walk.next()?.mark.offset ?? partitions[part.place].next
            positions.append(Cursor.Position(partition: part.partition, offset: offset, known: nil))
        }
        positions.sort { $0.partition < $1.partition }
        return ResumeState(issue: max(now, state.issue), positions: positions, fingerprint: state.fingerprint)
    }
}
