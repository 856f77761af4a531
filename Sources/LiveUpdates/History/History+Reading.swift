// Reading pages of an account's log: for replays after a cursor, and for streams that have fallen behind.
extension History {
    /// Reads an event that is text already; returns its sequence, or 0 for a record that was read before.
    @discardableResult
    package func append(
        _ event: ThinEvent, account: Account, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> UInt64 {
        append(
            RecordedEvent(account, event), partition: partition, offset: offset, timestamp: timestamp, now: now
        ).sequence
    }

    /// Up to `limit` events after a position that pass the filter, in the order in which they came. A position is lost only where
    /// something that may have passed the filter was let go.
    ///
    /// Costs what it returns, what the filter leaves out in between, and at most some dozens of events a partition before that.
    package func read(
        account: Account, from position: StreamPosition, limit: Int, entities: EntityFilter?, now: Int64,
        withCursors: Bool
    ) -> ReadAnswer {
        precondition(limit > 0, "a page holds at least one event")
        lastReadEvents = 0
        let log = log(of: account)
        if let resume = position.resume {
            guard isComplete(after: resume, log, entities) else { return .lost }
        } else {
            guard isComplete(after: position.sequence, log, entities) else { return .lost }
        }
        guard let log, log.count > 0 else { return .page(events: [], position: end(of: position), isComplete: true) }

        var state = position.resume.map { reissued($0, log, now: now) }
        if state == nil && withCursors { state = placement(after: position.sequence, log, now: now) }
        var events: [LoggedEvent] = []
        var sequence = position.sequence
        var walk = MergedWalk(log.parts, after: position.sequence) { partition in
            max(state?.offset(of: partition) ?? 0, position.floors.first { $0.partition == partition }?.offset ?? 0)
        }
        while let (part, entry) = walk.next() {
            let partition = log.parts[part].partition
            let mark = entry.mark
            lastReadEvents += 1
            let passes = entities?.passes(walk.entity(vocabulary.words)) ?? true
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
                    event: walk.event(vocabulary.words), partition: partition,
                    offset: mark.offset, timestamp: entry.timestamp, sequence: mark.sequence,
                    at: withCursors ? state.map { text(of: $0, log, check: log.check).bytes } ?? [] : []))
        }
        return .page(events: events, position: end(of: position), isComplete: true)
    }

    private func isComplete(after sequence: UInt64, _ log: AccountLog?, _ entities: EntityFilter?) -> Bool {
        if sequence >= log?.letGoSequence ?? forgottenSequence { return true }
        guard let log, log.keepsByEntity, let entities else { return false }
        return sequence >= log.letGoSequence(of: vocabulary.entities(passing: entities))
    }

    /// The position behind everything that is held. Floors stay as long as something below them may still come.
    private func end(of position: StreamPosition) -> StreamPosition {
        StreamPosition(
            sequence: lastSequence,
            floors: position.floors.filter { floor in
                partitions.slot(of: floor.partition).map { floor.offset > partitions[$0].next } ?? true
            })
    }
}

// What is known of the partitions' logs.
extension History {
    /// Opens a partition, or replaces what was known of its log. To be called before the record that changed it. Constant time.
    ///
    /// What was read stays as it is, except that reading may move forward. Another topic id comes after ``reset(topic:)``.
    package func apply(_ partition: PartitionName, _ facts: LogFacts) { partitions.apply(partition, facts) }

    /// A partition was found that is not open yet: what comes to it is not read, and cursors state that. Or it does not exist.
    package func find(_ partition: PartitionName, exists: Bool = true) { partitions.find(partition, exists: exists) }

    /// The id of a topic that was recreated, as a hash: cursors contain it before any of its logs is open.
    package func identify(topic: UInt16, _ id: UInt32) { partitions.identify(topic, id) }

    /// All that came to any partition before this moment was read; `.min` where nothing is known.
    package func readUntil() -> Int64 { partitions.readUntil() }

    /// The clock shows this now. To be called before anything else of this moment.
    ///
    /// What was noted while the clock was ahead claims too much: that everything was read until a moment which is still to come.
    /// When that was is not known. So nothing is claimed of those partitions until their leaders are asked again. What is held
    /// keeps its arrival: it is let go later than it might be, and never too early.
    package func clockShows(_ now: Int64) {
        partitions.takeBackClaims(after: now + Self.maximumClockDifferenceMilliseconds)
    }

    /// The clock was set forward by this many ms: the arrivals noted before are too low by at most as much.
    ///
    /// Until the node is restarted it allows for that difference: clients that might lack something must resync.
    package func clockWasSet(forward milliseconds: Int64) {
        partitions.clockWasBehind += max(0, milliseconds)
    }

    /// Whether the log is known to reach to an offset, or its end was requested at `moment` (monotonic, in ms) or later.
    package func isDecided(_ floor: PartitionFloor, since moment: UInt64) -> Bool {
        guard let slot = partitions.slot(of: floor.partition) else { return false }
        let facts = partitions.facts[slot]
        return floor.offset <= max(partitions[slot].next, facts.end ?? 0) || facts.endAsked >= moment
    }

    /// Whether everything before an offset was read here.
    package func hasRead(_ floor: PartitionFloor) -> Bool {
        partitions.slot(of: floor.partition).map { floor.offset <= partitions[$0].next } ?? false
    }

    /// The positions of a cursor that this node has not read up to: empty where it has. Nil for a cursor that has no meaning
    /// here: an invalid one, or one of another account or another epoch.
    package func unread(upTo text: [UInt8], account: Account) -> [PartitionFloor]? {
        guard let cursor = Cursor(text), let epoch, cursor.epoch == epoch,
            cursor.accountCheck == log(of: account)?.check ?? Cursor.check(of: account)
        else { return nil }
        if let mine = partitions.identity().topicIDs, let its = cursor.topicIDs, mine != its { return nil }
        return cursor.positions.map { PartitionFloor(partition: $0.partition, offset: $0.offset) }
            .filter { !hasRead($0) }
    }

    /// When the partition's end was requested last; monotonic, in ms; 0 for never.
    package func endAsked(_ partition: PartitionName) -> UInt64 {
        partitions.slot(of: partition).map { partitions.facts[$0].endAsked } ?? 0
    }
}
