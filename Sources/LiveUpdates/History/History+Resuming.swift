// Deciding on a cursor that a client returns. The rules are in the order in which their answers are given.
extension History {
    /// How far the clocks of two nodes may differ before a cursor seems to come from the future.
    package static let maximumClockDifferenceMilliseconds: Int64 = 60_000

    /// Whether everything after a cursor that passes the filter can be delivered to the account, and from where.
    package func resume(
        _ text: [UInt8], account: Account, entities: EntityFilter? = nil, now: Int64, ends: EndsSeen = .earlier,
        record: ProbedRecord? = nil, firsts: [PartitionName: ProbedRecord] = [:]
    ) -> Resumption {
        guard let cursor = Cursor(text) else { return .refused(.invalid) }
        return resume(
            cursor, account: account, entities: entities, now: now, ends: ends, record: record, firsts: firsts)
    }

    /// The same for a cursor that was decoded before. `record` is what is at the offset that an earlier answer asked for.
    /// `firsts` is what is at offset 0 of the partitions that earlier answers asked for.
    ///
    /// The cost depends on the partitions of the cursor and the account, as a rule not on others.
    package func resume(
        _ cursor: Cursor, account: Account, entities: EntityFilter? = nil, now: Int64, ends: EndsSeen = .earlier,
        record: ProbedRecord? = nil, firsts: [PartitionName: ProbedRecord] = [:]
    ) -> Resumption {
        let log = log(of: account)
        guard cursor.accountCheck == log?.check ?? Cursor.check(of: account) else { return .refused(.invalid) }
        guard let epoch else { return .undecided(.epoch) }
        guard cursor.epoch == epoch else { return .refused(.epoch) }
        var doubt: Doubt?
        let identity = partitions.identity()
        if let mine = identity.topicIDs, let its = cursor.topicIDs {
            // The id shows that the topic is the same, not that no part of a log was cut off and written again.
            guard mine == its, !wasCutBack(since: cursor, identity), mark(of: cursor, log) != .isAnother else {
                return .refused(.epoch)
            }
        } else {
            guard let same = topicsOfSameFirstRecord(cursor),
                !identity.inference.isOfAnotherTopic(cursor, besides: same), !isOfAnotherLog(cursor, besides: same)
            else { return .refused(.epoch) }
            switch mark(of: cursor, log) {
            case nil, .fits: break
            case .isAnother: return .refused(.epoch)
            case .isAbsent:
                // No client is refused because the broker cannot be asked.
                let found = record ?? { if case .unknown = ends { .unanswered } else { nil } }()
                if let found, let fingerprint = cursor.fingerprint {
                    if LogInference.isAnother(found, fingerprint, account) { return .refused(.epoch) }
                } else {
                    doubt = cursor.fingerprint.map { .record($0.partition, $0.offset) }
                }
            }
            let objections = [
                isEmptied(contradicting: cursor, ends), lacksFirstRecord(cursor, ends),
                isFirstUnsaid(by: cursor, firsts, ends),
            ]
            for case let objection? in objections {
                guard case .open(let reason) = objection else { return .refused(.epoch) }
                doubt = doubt ?? reason
            }
        }
        let state = ResumeState(cursor)
        guard isComplete(after: state, log, entities) else { return .refused(.expired) }
        guard cursor.issue <= now + Self.maximumClockDifferenceMilliseconds else { return .refused(.ahead) }
        if let doubt { return .undecided(doubt) }
        return accept(state, log, ends, now: now)
    }

    /// Whether a log has lost its end since but kept its id: a node that noticed this knows when the log was last whole.
    private func wasCutBack(since cursor: Cursor, _ identity: LogIdentity) -> Bool {
        guard let latest = identity.inference.latestWholeAfter else { return false }
        if cursor.issue < latest { return true }
        return cursor.positions.contains { position in
            guard position.offset > 0, let slot = partitions.slot(of: position.partition),
                let wholeAfter = partitions.facts[slot].wholeAfter
            else { return false }
            return position.known ?? .min < wholeAfter
        }
    }

    private func isOfAnotherLog(_ cursor: Cursor, besides same: Set<UInt16>) -> Bool {
        for position in cursor.positions where !same.contains(position.partition.topic) {
            guard let slot = partitions.slot(of: position.partition) else { continue }
            if LogInference.isOfAnotherLog(position, partitions.facts[slot]) { return true }
        }
        return false
    }

    /// What the cursor's fingerprint shows of the log; nil where this node's memory does not reach back to it.
    private func mark(of cursor: Cursor, _ log: AccountLog?) -> LogInference.Mark? {
        guard let fingerprint = cursor.fingerprint, let slot = partitions.slot(of: fingerprint.partition) else {
            return nil
        }
        let part = log.flatMap { log in log.index(ofSlot: slot).map { log.parts[$0] } }
        guard fingerprint.offset >= completeFrom(slot, log, entities: nil), fingerprint.offset < partitions[slot].next
        else {
            return nil
        }
        return LogInference.compare(
            fingerprint, part?.entry(at: fingerprint.offset),
            partitions.landmarks[slot].landmark(at: fingerprint.offset))
    }

    /// Whether nothing after the positions that passes the filter was let go, as far as that is kept by entity.
    func isComplete(after state: ResumeState, _ log: AccountLog?, _ entities: EntityFilter?) -> Bool {
        if isComplete(after: state, log, entities: nil) { return true }
        guard let log, log.keepsByEntity, let entities else { return false }
        return isComplete(after: state, log, entities: vocabulary.entities(passing: entities))
    }

    /// The same for the numbers of some entities, or nil for all.
    ///
    /// In a partition that is not named, nothing may have been let go that came after the issuing node had read everything. What
    /// was let go there is compared by its arrival, which may lag behind by the delay.
    private func isComplete(after state: ResumeState, _ log: AccountLog?, entities: [UInt16]?) -> Bool {
        for position in state.positions {
            guard let slot = partitions.slot(of: position.partition) else { continue }
            guard position.offset >= completeFrom(slot, log, entities: entities) else { return false }
        }
        let readUntil = readUntilByOldClock(state)
        let horizon = readUntil == .min ? .min : readUntil - limits.maximumTimestampDelayMilliseconds
        if let log {
            for index in log.parts.indices {
                let arrival = log.lastLetGo(of: index, entities: entities).arrival
                guard arrival >= horizon, arrival > .min else { continue }
                guard state.offset(of: log.parts[index].partition) != nil else { return false }
            }
        }
        return areOthersComplete(state, log, readUntil, horizon)
    }

    /// Until when the issuing node had read everything, by the clock that this node may have used when it noted what it let go.
    private func readUntilByOldClock(_ state: ResumeState) -> Int64 {
        guard !state.isPartial else { return .min }
        let (moment, overflow) = state.readUntil.subtractingReportingOverflow(partitions.clockWasBehind)
        return overflow ? .min : moment
    }

    /// Partitions that are neither named nor hold anything of the account. All are checked at once as long as none of them had
    /// anything to let go; else one after the other.
    private func areOthersComplete(
        _ state: ResumeState, _ log: AccountLog?, _ readUntil: Int64, _ horizon: Int64
    ) -> Bool {
        let inherited = log?.inheritedNewestLetGo ?? .max
        let mayHaveLetGo = inherited > .min && inherited >= horizon && partitions.newestLetGo >= horizon
        guard partitions.latestUnread > readUntil || mayHaveLetGo else { return true }
        for slot in partitions.everySlot() {
            let isUnread = partitions.unreadUntil[slot] > readUntil
            let newest = partitions[slot].newestLetGo
            let isLetGo = mayHaveLetGo && newest >= horizon && newest > .min
            guard isUnread || isLetGo else { continue }
            if state.offset(of: partitions[slot].name) != nil { continue }
            if isUnread || log?.index(ofSlot: slot) == nil { return false }
        }
        return true
    }

    /// From this offset on nothing was let go of some entities, or of all; nothing before the log start is held.
    func completeFrom(_ slot: Int, _ log: AccountLog?, entities: [UInt16]?) -> Int64 {
        var letGo = letGoBeforePart(slot, log)
        if let log, let index = log.index(ofSlot: slot) { letGo = log.lastLetGo(of: index, entities: entities).offset }
        return max(partitions.facts[slot].start, letGo == .max ? letGo : letGo + 1)
    }

    /// The last rule: no position is beyond the broker's own end. A position beyond what is read here comes from a node that is
    /// ahead of this one.
    private func accept(_ state: ResumeState, _ log: AccountLog?, _ ends: EndsSeen, now: Int64) -> Resumption {
        var floors: [PartitionFloor] = []
        /// Of the positions beyond the end that is known, the first in a partition that is open; else the first.
        var beyond: (floor: PartitionFloor, isOpen: Bool)?
        for position in state.positions {
            let slot = partitions.slot(of: position.partition)
            if let slot, position.offset <= partitions[slot].next { continue }
            let floor = PartitionFloor(partition: position.partition, offset: position.offset)
            floors.append(floor)
            if let slot, position.offset <= partitions.facts[slot].end ?? 0 { continue }
            if beyond == nil || beyond?.isOpen == false && slot != nil { beyond = (floor, slot != nil) }
            // Nothing is known of a partition that is not open: its leader may never have answered.
            if let slot, case .since(let moment) = ends, partitions.facts[slot].end != nil,
                partitions.facts[slot].endAsked >= moment
            {
                return .refused(.ahead)
            }
        }
        if let beyond {
            guard case .unknown = ends else { return .undecided(.ends(beyond.floor)) }
        }
        let position = StreamPosition(sequence: 0, floors: floors, resume: reissued(state, log, now: now))
        return .accepted(position, floors: floors)
    }

    /// The cursor as this node would have issued it now. It also names the account's other partitions, before the first event
    /// that is held there: all of these are delivered. Partitions that it does not name hold nothing of the account.
    ///
    /// With the old time of issue, what the replay states of a partition that was born since would concern another log.
    func reissued(_ state: ResumeState, _ log: AccountLog?, now: Int64) -> ResumeState {
        var positions = state.positions
        for part in log?.parts ?? [] where state.offset(of: part.partition) == nil {
            var walk = PartitionLog.Walk(part)
            let offset = walk.next()?.mark.offset ?? partitions[part.slot].next
            positions.append(Cursor.Position(partition: part.partition, offset: offset, known: nil))
        }
        if positions.count > state.positions.count { positions.sort { $0.partition < $1.partition } }
        return ResumeState(
            issue: max(now, state.issue), readUntil: max(partitions.readUntil(), state.readUntil), positions: positions,
            fingerprint: state.fingerprint)
    }
}
