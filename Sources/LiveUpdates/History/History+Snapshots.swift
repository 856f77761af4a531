/// What becomes of the positions of a snapshot.
package enum SnapshotCursor: Equatable, Sendable {
    /// From this cursor on, exactly what the snapshot does not hold is delivered.
    case cursor(CursorText)
    /// The snapshot holds more of a partition than this node has read.
    case behind(PartitionFloor)
    /// A cursor of these positions would be refused.
    case refused(ResyncReason)
}

// The cursor for what another program has stored. A snapshot states how far each partition was stored when it was read. That may
// be longer ago than the node's own reading, or a moment ahead of it.
extension History {
    /// The cursor of a snapshot for one account. Each partition in which the account has events is at the snapshot's position.
    ///
    /// A position counts only if its log is known to be the one that is read here. In another log of the same name the same
    /// offset is another position, and a cursor would skip what is before it.
    ///
    /// In the other partitions the node has read everything, holds nothing behind the snapshot's position, and has let nothing go
    /// there. So they are named or not as in any other cursor of this moment.
    ///
    /// Never in the middle of a wake. O(partitions).
    ///
    /// - Parameters:
    ///   - positions: of each partition the next offset to be stored, each once; of others nothing is stored.
    package func snapshotCursor(
        account: Account, positions: [PartitionPosition], now: Int64
    ) -> SnapshotCursor {
        guard epoch != nil else { return .refused(.epoch) }
        var stored: [Int64] = Array(repeating: 0, count: partitions.count)
        for position in positions {
            let floor = PartitionFloor(partition: position.partition, offset: position.next)
            guard let slot = partitions.slot(of: position.partition) else {
                // If the partition is gone, the store records that and reports the gap: nothing of it is stored from then on.
                guard position.next == 0, position.log?.isUnread(topicID(position.partition.topic)) == true,
                    !partitions.unopened.contains(position.partition)
                else { return .behind(floor) }
                continue
            }
            if position.next > 0 {
                guard position.log?.verdict(partitions.facts[slot]) == .same else { return .refused(.epoch) }
            } else if position.log?.isSurelyOther(partitions.facts[slot]) == true {
                // Nothing of that log was stored: what it held is missing, and no gap reports it yet.
                return .refused(.epoch)
            }
            guard position.next <= partitions[slot].next else { return .behind(floor) }
            stored[slot] = position.next
        }
        let log = log(of: account)
        for slot in partitions.everySlot() where stored[slot] < completeFrom(slot, log, entities: nil) {
            return .refused(.expired)
        }
        let made = cursor(of: snapshotState(log, stored, now: now), log, account, now: now)
        guard made == .refused(.expired) else { return made }
        // In partitions that it does not name something was let go, perhaps of this account. The snapshot holds that.
        return cursor(of: snapshotState(log, stored, namesAll: true, now: now), log, account, now: now)
    }

    /// Nil where a topic has none, or none of its logs is read.
    private func topicID(_ topic: UInt16) -> UInt32? {
        partitions.everySlot().first { partitions[$0].name.topic == topic }.flatMap { partitions.facts[$0].topicID }
    }

    private func cursor(of state: ResumeState, _ log: AccountLog?, _ account: Account, now: Int64) -> SnapshotCursor {
        let text = text(of: state, log, check: log?.check ?? Cursor.check(of: account))
        // By the rules that will be applied to it.
        let resumption = resume(text.bytes, account: account, now: now, ends: .unknown)
        if case .refused(let why) = resumption { return .refused(why) }
        return .cursor(text)
    }

    /// How far a partition is read; nil where it is not open.
    package func position(of partition: PartitionName) -> Int64? {
        partitions.slot(of: partition).map { partitions[$0].next }
    }

    /// Whether a snapshot lacks an event of the account that was read here up to this sequence. O(positions).
    package func lacks(_ positions: [PartitionPosition], of account: Account, upTo sequence: UInt64) -> Bool {
        guard let log = log(of: account), log.count > 0 else { return false }
        var stored: [PartitionName: Int64] = [:]
        for position in positions { stored[position.partition] = position.next }
        return log.parts.contains { part in
            let offset = stored[part.partition] ?? 0
            guard part.count > 0, part.last.offset >= offset else { return false }
            var walk = part.walk(afterSequence: 0, fromOffset: offset)
            while let entry = walk.next() {
                if entry.mark.offset >= offset { return entry.mark.sequence <= sequence }
            }
            return false
        }
    }

    private func snapshotState(
        _ log: AccountLog?, _ stored: [Int64], namesAll: Bool = false, now: Int64
    ) -> ResumeState {
        var positions: [Cursor.Position] = []
        /// The newest event that the snapshot holds, of those whose stamps are known.
        var last: (fingerprint: Cursor.Fingerprint, sequence: UInt64)?
        let areStored = log?.parts.allSatisfy { $0.last.offset < stored[$0.slot] } ?? true
        for part in parts(of: log, areRead: areStored) {
            let offset = stored[part.slot]
            positions.append(Cursor.Position(partition: part.partition, offset: offset, known: nil))
            guard let newest = part.newest(before: offset), newest.sequence > last?.sequence ?? 0 else { continue }
            last = (
                Cursor.Fingerprint(partition: part.partition, offset: newest.offset, timestamp: newest.timestamp),
                newest.sequence
            )
        }
        for slot in partitions.everySlot() where namesAll && log?.index(ofSlot: slot) == nil {
            positions.append(Cursor.Position(partition: partitions[slot].name, offset: stored[slot], known: nil))
        }
        if namesAll { positions.sort { $0.partition < $1.partition } }
        return ResumeState(
            issue: now, readUntil: partitions.readUntil(), positions: positions, fingerprint: last?.fingerprint)
    }
}

extension PartitionLog {
    /// The newest event before an offset; nil where there was none, or its stamp is no longer known.
    fileprivate func newest(before offset: Int64) -> (offset: Int64, timestamp: Int64, sequence: UInt64)? {
        if last.offset < offset { return last.sequence > 0 ? (last.offset, lastTimestamp, last.sequence) : nil }
        var newest: (offset: Int64, timestamp: Int64, sequence: UInt64)?
        var walk = walk(afterSequence: 0, fromOffset: offset, withOneBefore: true)
        while let entry = walk.next(), entry.mark.offset < offset {
            newest = (entry.mark.offset, entry.timestamp, entry.mark.sequence)
        }
        return newest
    }
}
