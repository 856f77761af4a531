// Reading pages of an account's log: for replays after a cursor, and for streams that have fallen behind.
extension History {
    /// Up to `limit` events after a position that pass the filter, in the order in which they came.
    ///
    /// Goes over the account's log.
    package func read(
        account: Account, from position: StreamPosition, limit: Int, entities: EntityFilter?, now: Int64,
        withCursors: Bool
    ) -> ReadAnswer {
        precondition(limit > 0, "a page has room for an event")
        let log = logs[account]
        if let resume = position.resume {
            guard isComplete(after: resume, log) else { return .lost }
        } else {
            guard position.sequence >= log?.letGoSequence ?? forgottenSequence else { return .lost }
        }
        guard let log, log.count > 0 else { return .page(events: [], position: end(of: position), isComplete: true) }

        var state = position.resume.map { reissued($0, log, now: now) }
        if state == nil && withCursors { state = placement(after: position.sequence, log, now: now) }
        var events: [LoggedEvent] = []
        var sequence = position.sequence
        var walk = MergedWalk(log.parts, after: position.sequence)
        while let (part, entry) = walk.next() {
            let partition = log.parts[part].partition
            let mark = entry.mark
            if mark.offset < state?.offset(of: partition) ?? 0 || isBelow(position.floors, partition, mark.offset) {
                sequence = mark.sequence
                continue
            }
            let passes = entities?.passes(walk.entity(of: entry, in: part, vocabulary.words)) ?? true
            if passes && events.count == limit {
                let rest = StreamPosition(
                    sequence: sequence, floors: position.floors, resume: position.resume == nil ? nil : state)
                return .page(events: events, position: rest, isComplete: false)
            }
            sequence = mark.sequence
            state?.move(partition, to: mark.offset + 1)
            state?.fingerprint = Cursor.Fingerprint(
                partition: partition, offset: mark.offset, timestamp: entry.timestamp)
            guard passes else { continue }
            events.append(
                LoggedEvent(
                    event: walk.event(of: entry, in: part, vocabulary.words), partition: partition,
                    offset: mark.offset, timestamp: entry.timestamp, sequence: mark.sequence,
                    at: withCursors ? state.map { text(of: $0, check: log.check).bytes } ?? [] : []))
        }
        return .page(events: events, position: end(of: position), isComplete: true)
    }

    /// Behind everything that is held. Floors stay as long as something below them may still come.
    private func end(of position: StreamPosition) -> StreamPosition {
        StreamPosition(
            sequence: lastSequence,
            floors: position.floors.filter { floor in
                partitions.place(of: floor.partition).map { floor.offset > partitions[$0].next } ?? true
            })
    }

    private func isBelow(_ floors: [PartitionFloor], _ partition: PartitionName, _ offset: Int64) -> Bool {
        for floor in floors where floor.partition == partition && offset < floor.offset { return true }
        return false
    }
}

/// Goes over the logs of several partitions at once, in the order in which their events came.
private struct MergedWalk {
    private var walks: [PartitionLog.Walk] = []
    private var heads: [PartitionLog.Entry?] = []

    init(_ parts: [PartitionLog], after sequence: UInt64) {
        for part in parts {
            var walk = PartitionLog.Walk(part)
            var head: PartitionLog.Entry?
            if part.last.sequence > sequence {
                head = walk.next()
                while let entry = head, entry.mark.sequence <= sequence { head = walk.next() }
            }
            walks.append(walk)
            heads.append(head)
        }
    }

    mutating func next() -> (part: Int, PartitionLog.Entry)? {
        var first: (part: Int, entry: PartitionLog.Entry)?
        for part in heads.indices {
            guard let entry = heads[part], entry.mark.sequence < first?.entry.mark.sequence ?? .max else { continue }
            first = (part, entry)
        }
        guard let first else { return nil }
        heads[first.part] = walks[first.part].next()
        return (first.part, first.entry)
    }

    func entity(of entry: PartitionLog.Entry, in part: Int, _ words: [Vocabulary.Word]) -> String {
        walks[part].entity(of: entry, words)
    }

    func event(of entry: PartitionLog.Entry, in part: Int, _ words: [Vocabulary.Word]) -> ThinEvent {
        walks[part].event(of: entry, words)
    }
}
