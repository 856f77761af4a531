// Making cursors. The positions of a cursor name the partitions in which the account has had events, as far as the node
// remembers; what a cursor does not name is judged by the time of its issue.
extension History {
    /// The cursor of an event of this wake, asked for as soon as the event was taken.
    ///
    /// The account's other partitions stand behind their last event, which was taken earlier and so is delivered
    /// earlier, or where reading stood when the wake began, if that is further.
    package func liveCursor(
        account: Account, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> CursorText {
        var positions: [Cursor.Position] = []
        let log = logs[account]
        for part in parts(of: log, areRead: true) {
            let state = partitions[part.place]
            let isOwn = part.partition == partition
            positions.append(
                Cursor.Position(
                    partition: part.partition,
                    offset: isOwn ? offset + 1 : max(part.last.offset + 1, state.handedOut), known: state.known))
        }
        if !positions.contains(where: { $0.partition == partition }) {
            // The log gave way at once: it was larger than all logs may be.
            let known = partitions.place(of: partition).map { partitions[$0].known }
            positions = [Cursor.Position(partition: partition, offset: offset + 1, known: known)]
        }
        return text(
            check: log?.check ?? Cursor.check(of: account), issue: now, positions: positions,
            fingerprint: Cursor.Fingerprint(partition: partition, offset: offset, timestamp: max(-1, timestamp)))
    }

    /// A cursor from which everything is given that has not been handed out yet; never in the middle of a wake.
    package func freshCursor(account: Account, now: Int64) -> CursorText {
        cursor(at: StreamPosition(sequence: lastSequence), account: account, now: now)
    }

    /// The cursor of a place in a stream, for the end of a page.
    package func cursor(at position: StreamPosition, account: Account, now: Int64) -> CursorText {
        let log = logs[account]
        var state = position.resume ?? placement(after: position.sequence, log, now: now)
        if position.resume == nil {
            for floor in position.floors {
                // Of a log that it has not begun to read, this node can vouch for nothing.
                guard let place = partitions.place(of: floor.partition),
                    partitions[place].next > partitions[place].start
                else { continue }
                state.move(floor.partition, to: floor.offset)
            }
        }
        return text(of: state, check: log?.check ?? Cursor.check(of: account))
    }

    func text(of state: ResumeState, check: UInt32) -> CursorText {
        var positions = state.positions
        // Something after a position that finds no place would be taken for read: nothing may be, from such a time of
        // issue.
        let issue = positions.count > Cursor.maximumPositions ? 0 : state.issue
        positions.removeLast(max(0, positions.count - Cursor.maximumPositions))
        for index in positions.indices {
            // This node vouches for what it knows itself; for a partition that it does not know yet, the other one
            // does.
            guard let place = partitions.place(of: positions[index].partition) else { continue }
            positions[index].known = partitions[place].known
        }
        return text(check: check, issue: issue, positions: positions, fingerprint: state.fingerprint)
    }

    /// Where a stream stands that has had everything up to `sequence`: before the first event that it has not had.
    func placement(after sequence: UInt64, _ log: AccountLog?, now: Int64) -> ResumeState {
        var positions: [Cursor.Position] = []
        var last: (partition: PartitionName, offset: Int64, timestamp: Int64, sequence: UInt64)?
        for part in parts(of: log, areRead: log?.parts.allSatisfy { $0.last.sequence <= sequence } ?? true) {
            var offset = partitions[part.place].next
            var had: (offset: Int64, timestamp: Int64, sequence: UInt64)?
            if part.last.sequence <= sequence {
                if part.last.sequence > 0 { had = (part.last.offset, part.lastTimestamp, part.last.sequence) }
            } else {
                var walk = PartitionLog.Walk(part)
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
            issue: now, positions: positions,
            fingerprint: last.map {
                Cursor.Fingerprint(partition: $0.partition, offset: $0.offset, timestamp: $0.timestamp)
            })
    }

    /// The logs of an account's partitions in the order of their names. Of those that are read to their end, the ones
    /// with the newest events, as many as a cursor may name.
    private func parts(of log: AccountLog?, areRead: Bool) -> [PartitionLog] {
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
        check: UInt32, issue: Int64, positions: [Cursor.Position], fingerprint: Cursor.Fingerprint?
    ) -> CursorText {
        Cursor(
            epoch: epoch, accountCheck: check, issue: min(max(issue, 0), Cursor.latestIssue),
            topicsKnown: partitions.topicsKnown,
            positions: positions, fingerprint: fingerprint
        ).text
    }
}
