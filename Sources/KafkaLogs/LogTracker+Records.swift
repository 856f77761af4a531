// What the consumer delivers.
extension LogTracker {
    /// What the caller does with a record.
    package enum Reception: Equatable, Sendable {
        case handOver
        /// The same, and its mark is wanted (`mark`).
        case handOverMarked
        /// It belongs to a read that was abandoned.
        case drop
    }

    /// No log reaches this offset: larger ones are invalid, and the sum of two of these still fits into 64 bits.
    static let maximumOffset: Int64 = 1 << 61

    /// Handles a record that has arrived. The caller applies what it changes (`takeChanges`) before it hands the record over.
    ///
    /// `isLast`: the next message is of another partition or another broker, or no record.
    package mutating func read(
        _ topic: Int, _ number: Int32, offset: Int64, timestamp: Int64, broker: Int32, isLast: Bool, _ now: Moment
    ) -> Reception {
        let index = Int(number)
        guard offset <= Self.maximumOffset, index < topics[topic].partitions.count,
            topics[topic].partitions[index].opening != nil, topics[topic].partitions[index].isAssigned,
            !topics[topic].partitions[index].isOutdated
        else { return .drop }
        let name = PartitionName(topic: UInt16(topic), number: number)
        if offset < topics[topic].partitions[index].next, !wasPassedOver(name, offset, now) { return .drop }
        if topics[topic].partitions[index].failure != nil {
            endFailure(name, at: offset, now)
        }
        current = (name, offset)
        if topics[topic].partitions[index].opening?.readsFirst == true { noteFirst(timestamp, offset, name, now) }
        let isTellable = topics[topic].partitions[index].isTellable
        let isFirst = topics[topic].partitions[index].anchor.first == nil
        topics[topic].partitions[index].anchor.note(broker: broker)
        topics[topic].partitions[index].anchor.note(timestamp: timestamp, at: offset)
        advance(topic, index, to: offset + 1, now)
        topics[topic].partitions[index].handedOver = offset + 1
        if !isTellable { change(name) }
        return isFirst || isLast ? .handOverMarked : .handOver
    }

    /// Whether a record below the position was never handed over. The position was then wrong, and others like it may be missing:
    /// all clients must resync, and reading continues with it. A record that was handed over, or lies before the start of
    /// reading, changes nothing: the history would leave it out.
    private mutating func wasPassedOver(_ name: PartitionName, _ offset: Int64, _ now: Moment) -> Bool {
        guard let partition = self[name] else { return false }
        let isPassedOver = partition.passedOver?.contains(offset) ?? false
        if isPassedOver || offset >= partition.handedOver {
            let first = (isPassedOver ? partition.passedOver?.lowerBound : nil) ?? partition.handedOver
            recordsBelow.unread += 1
            lose(name, .passedOver, readingAt: offset, now)
            self[name]?.passedOver = first..<offset
            return true
        }
        recordsBelow.repeated += 1
        notices.append(
            .recordRepeated(
                topic: topics[Int(name.topic)].name, partition: name.number, offset: offset, position: partition.next))
        return false
    }

    /// A record was handed over, and the history left it out as one that was read before. It counts as lost, and others may be
    /// lost too. To be called after the batch.
    package mutating func passOver(_ name: PartitionName, _ now: Moment) {
        guard let partition = self[name], partition.opening != nil else { return }
        recordsBelow.unread += 1
        lose(name, .passedOver, readingAt: partition.next, now)
    }

    /// The mark of the record that `read` asked for.
    package mutating func mark(_ topic: Int, _ number: Int32, _ mark: RecordMark) {
        if topics[topic].partitions[Int(number)].anchor.first == nil {
            topics[topic].partitions[Int(number)].anchor.first = mark
        }
        topics[topic].partitions[Int(number)].anchor.last = mark
    }

    /// What was read has been handed over.
    package mutating func endBatch() { current = nil }

    /// Reading began at the log start. The first good stamp shows before which time the log was empty, or had only what was
    /// removed since. A node that reads the very first record knows the log from then on.
    private mutating func noteFirst(_ timestamp: Int64, _ offset: Int64, _ name: PartitionName, _ now: Moment) {
        let (topic, index) = (Int(name.topic), Int(name.number))
        guard let opening = topics[topic].partitions[index].opening else { return }
        let isFirst = topics[topic].partitions[index].next == 0
        let isGood = timestamp >= 0 && timestamp <= now.wall
        // If the beginning was compacted or aborted, no first record follows it.
        let isGone = isFirst && offset > 0
        if isFirst, !isGone {
            topics[topic].partitions[index].known = max(topics[topic].partitions[index].known ?? .min, now.wall)
            topics[topic].partitions[index].opening?.firstReadAt = now.wall
            topics[topic].partitions[index].opening?.firstStamp = timestamp
        }
        if isGood {
            // A stamp from behind the first record may be later than the moment at which that record was read here.
            let born = min(timestamp, topics[topic].partitions[index].opening?.firstReadAt ?? timestamp)
            if opening.start == 0, !isGone { topics[topic].partitions[index].opening?.born = born }
            let stampedBefore = min(opening.unread?.stampedBefore ?? .max, timestamp)
            topics[topic].partitions[index].opening?.unread?.stampedBefore = stampedBefore
        }
        if isGone || isGood { topics[topic].partitions[index].opening?.readsFirst = false }
        change(name)
    }

    private mutating func advance(_ topic: Int, _ index: Int, to next: Int64, _ now: Moment) {
        let wasLoaded = topics[topic].partitions[index].isLoaded
        if topics[topic].partitions[index].next != next { topics[topic].partitions[index].watch.release() }
        topics[topic].partitions[index].next = next
        topics[topic].partitions[index].anchor.next = next
        topics[topic].partitions[index].hasAnswered = true
        topics[topic].partitions[index].watch.answer(at: now.monotonic)
        topics[topic].partitions[index].watch.moveOn()
        topics[topic].isUnreadable = false
        if !wasLoaded, topics[topic].partitions[index].isLoaded { unloaded -= 1 }
    }

    /// A fetch reported that the log has nothing from `offset` on for now.
    package mutating func reachEnd(_ topic: Int, _ number: Int32, offset: Int64, _ now: Moment) {
        let name = PartitionName(topic: UInt16(topic), number: number)
        guard let partition = self[name], partition.opening != nil, partition.isAssigned, !partition.isOutdated,
            offset >= partition.next
        else { return }
        if partition.failure != nil, offset > partition.next { endFailure(name, at: offset, now) }
        current = nil
        if partition.next == 0, offset > 0 {
            // Aborted or compacted away: no first record is left that could show anything.
            self[name]?.opening?.readsFirst = false
        }
        let isChanged = partition.next != offset
        advance(topic, Int(number), to: offset, now)
        if isChanged { change(name) }
    }

    /// How far a partition's log goes by the last fetch, including what open transactions hold back; below 0 where no fetch has
    /// reported it. If everything that may be read is read, and the log goes on, a transaction is open.
    package mutating func noteHighWatermark(_ name: PartitionName, _ high: Int64, _ now: Moment) {
        guard let partition = self[name], partition.opening != nil else { return }
        let isAtEnd = partition.hasAnswered && partition.end.map { $0 <= partition.next } ?? false
        if isAtEnd, high > partition.next {
            self[name]?.watch.hold(at: now.monotonic)
        } else {
            self[name]?.watch.release()
        }
    }

    /// The broker refuses the position. The partition does not advance until the next refresh has found out why.
    ///
    /// Below 0: since librdkafka 2.1 a leader reports that its log was cut back (KIP-320), without a position.
    package mutating func refuse(_ topic: Int, _ number: Int32, offset: Int64, _ now: Moment) {
        let name = PartitionName(topic: UInt16(topic), number: number)
        guard let partition = self[name], partition.isAssigned, !partition.isOutdated else { return }
        wantsRefresh = true
        // We never were at this offset. The library assumed it inside a batch that it cannot read, and cannot go on there.
        if partition.failure != nil, offset >= 0, offset != partition.next { return stopReading(name, now) }
        // It may come before or after the report of such a batch, or concern the former log and arrive when the next one is read
        // already. A refusal of an offset behind all that was read, and all that its leader reported, shows nothing of the log:
        // if the log is another one, what is read again is refused again.
        if offset > max(partition.end ?? .min, partition.next) {
            self[name]?.failure = .reread(from: partition.next)
            return resume(name, at: partition.next, now)
        }
        self[name]?.refused = offset < 0 ? partition.next : offset
    }

    /// The broker does not allow the partition to be read for now; the library requests the same records again.
    package mutating func trouble(_ topic: Int, _ number: Int32, reason: String) {
        notices.append(.partitionTrouble(topic: topics[topic].name, partition: number, reason: reason))
    }

    /// We lack the right to read the topic.
    package mutating func forbidReading(_ topic: Int) {
        if !topics[topic].isUnreadable { notices.append(.topicUnreadable(topic: topics[topic].name)) }
        topics[topic].isUnreadable = true
    }
}

/// Records that came below the position of their partition. A log that only grows, and is read from one position on, has none.
package struct RecordsBelow: Sendable, Equatable {
    /// They were handed over before, and are left out.
    package var repeated: UInt64 = 0
    /// They were not handed over before, and all clients must resync.
    package var unread: UInt64 = 0

    package init(repeated: UInt64 = 0, unread: UInt64 = 0) { (self.repeated, self.unread) = (repeated, unread) }
}
