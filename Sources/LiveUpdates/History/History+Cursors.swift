// Creating cursors. The positions of a cursor name the partitions in which the account has had events, as far as the node
// remembers. For partitions that a cursor does not name, the time of its issue decides.
extension History {
    /// The cursor of an event of this wake, requested as soon as the event was read.
    ///
    /// In the account's other partitions the position is behind their last event, which was read earlier and so is delivered
    /// earlier. If reading was further when the wake began, it is that position.
    package func liveCursor(
        account: Account, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> CursorText {
        var positions: [Cursor.Position] = []
        let log = log(of: account)
        for part in parts(of: log, areRead: true) {
            let isOwn = part.partition == partition
            positions.append(
                Cursor.Position(
                    partition: part.partition,
                    offset: isOwn ? offset + 1 : max(part.last.offset + 1, partitions.handedOut(part.slot)),
                    known: partitions.facts[part.slot].known))
        }
        if !positions.contains(where: { $0.partition == partition }) {
            // The log was evicted at once: it was larger than all logs may be.
            let known = partitions.slot(of: partition).flatMap { partitions.facts[$0].known }
            positions = [Cursor.Position(partition: partition, offset: offset + 1, known: known)]
        }
        return text(
            log, check: log?.check ?? Cursor.check(of: account), issue: now, readUntil: partitions.readUntil(),
            positions: positions,
            fingerprint: Cursor.Fingerprint(partition: partition, offset: offset, timestamp: timestamp))
    }

    /// A cursor for everything that has not been handed out yet; not to be called in the middle of a wake.
    package func freshCursor(account: Account, now: Int64) -> CursorText {
        cursor(at: StreamPosition(sequence: lastSequence), account: account, now: now)
    }

    /// The cursor of a position in a stream, for the end of a page.
    package func cursor(at position: StreamPosition, account: Account, now: Int64) -> CursorText {
        let log = log(of: account)
        var state = position.resume ?? placement(after: position.sequence, log, now: now)
        if position.resume == nil {
            for floor in position.floors {
                // This node can vouch for nothing of a log that it has not begun to read.
                guard let slot = partitions.slot(of: floor.partition),
                    partitions[slot].next > partitions.facts[slot].start
                else { continue }
                state.move(floor.partition, to: floor.offset)
            }
        }
        return text(of: state, log, check: log?.check ?? Cursor.check(of: account))
    }

    func text(of state: ResumeState, _ log: AccountLog?, check: UInt32) -> CursorText {
        var positions = state.positions
        let isPartial = positions.count > Cursor.maximumPositions
        positions.removeLast(max(0, positions.count - Cursor.maximumPositions))
        for index in positions.indices {
            // This node vouches for what it knows itself; for a partition that it does not know yet, the other one
            // does.
            guard let slot = partitions.slot(of: positions[index].partition) else { continue }
            positions[index].known = partitions.facts[slot].known
        }
        return text(
            log, check: check, issue: state.issue, readUntil: state.readUntil, isPartial: isPartial,
            positions: positions,
            fingerprint: state.fingerprint)
    }

    /// The position of a stream that has received everything up to `sequence`: before the first event that it has not received.
    func placement(after sequence: UInt64, _ log: AccountLog?, now: Int64) -> ResumeState {
        var positions: [Cursor.Position] = []
        var last: (partition: PartitionName, offset: Int64, timestamp: Int64, sequence: UInt64)?
        for part in parts(of: log, areRead: log?.parts.allSatisfy { $0.last.sequence <= sequence } ?? true) {
            var offset = partitions[part.slot].next
            var had: (offset: Int64, timestamp: Int64, sequence: UInt64)?
            if part.last.sequence <= sequence {
                if part.last.sequence > 0 { had = (part.last.offset, part.lastTimestamp, part.last.sequence) }
            } else {
                var walk = part.walk(afterSequence: sequence, fromOffset: .min, withOneBefore: true)
                while let entry = walk.next() {
                    guard entry.mark.sequence <= sequence else {
                        offset = entry.mark.offset
                        break
                    }
                    had = (entry.mark.offset, entry.timestamp, entry.mark.sequence)
                }
            }
            positions.append(Cursor.Position(partition: part.partition, offset: offset, known: nil))
            if let had, had.sequence > last?.sequence ?? 0 {
                last = (part.partition, had.offset, had.timestamp, had.sequence)
            }
        }
        return ResumeState(
            issue: now, readUntil: partitions.readUntil(), positions: positions,
            fingerprint: last.map {
                Cursor.Fingerprint(partition: $0.partition, offset: $0.offset, timestamp: $0.timestamp)
            })
    }

    /// The logs of an account's partitions in the order of their names. If they are read to their end, only those with the newest
    /// events are returned, as many as a cursor may name.
    func parts(of log: AccountLog?, areRead: Bool) -> [PartitionLog] {
        guard let log else { return [] }
        guard log.parts.count > 1 else { return log.parts }
        var parts = log.parts
        if areRead && parts.count > Cursor.maximumPositions {
            parts.sort { $0.last.sequence > $1.last.sequence }
            parts.removeSubrange(Cursor.maximumPositions...)
        }
        return parts.sorted { $0.partition < $1.partition }
    }

    private func text(
        _ log: AccountLog?, check: UInt32, issue: Int64, readUntil: Int64, isPartial: Bool = false,
        positions: [Cursor.Position],
        fingerprint: Cursor.Fingerprint?
    ) -> CursorText {
        guard let epoch else { return .none }
        let identity = partitions.identity()
        var positions = isPartial ? positions : withNamed(positions, log, issue: issue)
        let fingerprint = fingerprint ?? landmark(naming: &positions, log, issue: issue)
        return Cursor(
            epoch: epoch, accountCheck: check, issue: min(max(issue, 0), Cursor.latestIssue), readUntil: readUntil,
            topicsKnown: identity.inference.topicsKnown, topicIDs: identity.topicIDs, isPartial: isPartial,
            positions: positions, fingerprint: fingerprint, firstRecords: identity.firstRecords
        ).text
    }

    /// A recent record of any account, for a cursor whose account has no event that identifies the log. If its partition is not
    /// named yet, the cursor names it with the position behind that record: the account has nothing there that is still to come.
    ///
    /// The position is not further than behind the record: a log that was cut back there may have other records beyond it now.
    private func landmark(naming positions: inout [Cursor.Position], _ log: AccountLog?, issue: Int64)
        -> Cursor.Fingerprint?
    {
        guard let partition = partitions.newestLandmark, let slot = partitions.slot(of: partition) else { return nil }
        let landmarks = partitions.landmarks[slot]
        if let position = positions.first(where: { $0.partition == partition }) {
            return landmarks.newest(before: position.offset).map {
                Cursor.Fingerprint(partition: partition, landmark: $0)
            }
        }
        guard let landmark = landmarks.settled(at: issue), landmark.offset < .max,
            let known = partitions.facts[slot].known, log?.index(ofSlot: slot) == nil,
            positions.count < Cursor.maximumPositions
        else { return nil }
        let index = positions.firstIndex { $0.partition > partition } ?? positions.count
        positions.insert(
            Cursor.Position(partition: partition, offset: landmark.offset + 1, known: known), at: index)
        return Cursor.Fingerprint(partition: partition, landmark: landmark)
    }

    /// Adds partitions in which the account has nothing. Partitions with an event that is still to come are left out.
    private func withNamed(_ positions: [Cursor.Position], _ log: AccountLog?, issue: Int64) -> [Cursor.Position] {
        var all = positions
        for slot in partitions.named(issue: issue) {
            let partition = partitions[slot].name
            guard all.count < Cursor.maximumPositions, log?.index(ofSlot: slot) == nil,
                !positions.contains(where: { $0.partition == partition })
            else { continue }
            all.append(
                Cursor.Position(
                    partition: partition, offset: partitions[slot].next, known: partitions.facts[slot].known))
        }
        if all.count > positions.count { all.sort { $0.partition < $1.partition } }
        return all
    }
}
