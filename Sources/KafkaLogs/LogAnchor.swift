/// What is kept of a record to recognize it later.
package struct RecordMark: Sendable, Equatable {
    package var offset: Int64
    /// As Kafka has it; −1 if it has none.
    package var timestamp: Int64
    /// Of key and value.
    package var check: UInt64

    package init(offset: Int64, timestamp: Int64, check: UInt64) {
        self.offset = offset
        self.timestamp = timestamp
        self.check = check
    }

    /// Whether the record is still where it was read, or may have been removed from there; nil while that is not known.
    func isKept(_ found: RecordAnswer, end: Int64) -> Bool? {
        if case .record(let mark) = found, mark.offset == offset { return mark == self }
        // Compaction and retention leave nothing behind to compare with.
        return found != .silent && found != .unreadable && end > offset ? true : nil
    }
}

/// What was read of a log up to one moment. Its size is constant.
struct LogAnchor: Sendable, Equatable {
    struct Witness: Sendable, Equatable {
        var timestamp: Int64
        /// Of the first record that was read with this time stamp.
        var offset: Int64
    }

    /// Everything below was read, or left out by the broker (aborted, compacted).
    var next: Int64
    /// The newest time stamp of all that was read, in the future or not; nil while that is not known.
    var newest: Witness?
    /// The time stamp of the newest record, if that was removed from the log. No record that was read and is left has a later
    /// one, but which of them is the newest is not kept. Nil where it was not removed, or a newer record was read since.
    private(set) var removedNewest: Int64?
    /// The record that was read first since reading began.
    var first: RecordMark?
    /// The record that was read last, or the one before the start: compaction keeps it longer than any other.
    var last: RecordMark?
    /// The broker that it came from, or the one that led when reading began.
    private(set) var broker: Int32?
    /// The record that was read last before those of another broker, until that broker was found to have it too. If the leader
    /// changes again before that, only the first such record is compared.
    var handover: RecordMark?
    /// The leader is not the broker that led when reading began, and no record is known that could show whether it has the same
    /// log. True until its log start shows that.
    var isStartOpen = false

    init(next: Int64, newest: Witness? = nil, last: RecordMark? = nil, broker: Int32? = nil) {
        self.broker = broker
        self.next = next
        self.newest = newest
        self.last = last
    }

    /// Notes which broker a record comes from, before it is the last one.
    mutating func note(broker: Int32) {
        if let before = self.broker, before != broker { handOver() }
        self.broker = broker
    }

    /// The leader is not the broker that the last record came from: it must have that record.
    mutating func expect(leader: Int32) {
        if broker != leader { handOver() }
    }

    private mutating func handOver() {
        guard handover == nil else { return }
        handover = last
        // Before offset 0 nothing can be missed.
        if last == nil, next > 0 { isStartOpen = true }
    }

    /// The new leader has the record that was read last.
    mutating func confirm(leader: Int32?) { broker = leader }

    /// Notes the time stamp of a record.
    mutating func note(timestamp: Int64, at offset: Int64) {
        guard timestamp >= 0 else { return }
        if let newest = newest?.timestamp ?? removedNewest, newest >= timestamp { return }
        newest = Witness(timestamp: timestamp, offset: offset)
        removedNewest = nil
    }

    /// The record with the newest time stamp is gone. No other record that was read replaces it: an older one may have a later
    /// stamp than the last one.
    mutating func removeWitness(_ offset: Int64) {
        guard let newest, newest.offset == offset else { return }
        removedNewest = newest.timestamp
        self.newest = nil
    }
}
