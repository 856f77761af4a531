/// The events of one account in one partition, as one run of bytes.
///
/// An event consists of the distances of its offset and of its arrival to the event before, of its time stamp to its arrival, and
/// of its sequence (varints). Its word (entity and type) follows, with one bit that is set if it has no time stamp, then length
/// and bytes of its id. Words that the vocabulary does not hold are in full before the id. About 13 bytes plus the id.
struct PartitionLog {
    /// The position of an event: in the partition, in time, and in the order in which the node read it.
    struct Mark {
        var offset: Int64
        /// In ms.
        var arrival: Int64
        var sequence: UInt64
    }

    /// Where reading may begin, other than at the head.
    private struct Checkpoint {
        /// Of the event before it.
        var mark: Mark
        /// The byte where the next event begins.
        var index: Int
    }

    /// So many events lie between two checkpoints: a page reads half of them in vain, and checkpoints cost 0.5 bytes an event.
    private static let checkpointDistance: Int32 = 64

    let partition: PartitionName
    /// The slot of what the history knows of the partition.
    private let slot32: Int32
    private var sinceCheckpoint: Int32 = 0
    private(set) var bytes: [UInt8] = []
    private var checkpoints: [Checkpoint] = []
    /// Where the oldest event that is held begins.
    private var head32: Int32 = 0
    private var count32: Int32 = 0
    /// The event before the oldest that is held: the last one that was let go. Its offset may be higher than that of any event,
    /// if the account inherits what was let go of others.
    private(set) var base: Mark
    private(set) var last: Mark
    /// The time stamp of the last event as Kafka has it; it may have been let go.
    private(set) var lastTimestamp: Int64 = -1
    /// Of the oldest event that is held: its time stamp, or its arrival where it has none.
    private(set) var firstStamp: Int64 = 0
    private(set) var firstArrival: Int64 = 0
    /// The newest arrival among what was let go; times after the letting go count as that time.
    private(set) var newestLetGo: Int64

    init(partition: PartitionName, slot: Int, letGo: Int64, newestLetGo: Int64, now: Int64) {
        self.partition = partition
        slot32 = Int32(slot)
        self.newestLetGo = newestLetGo
        base = Mark(offset: letGo, arrival: now, sequence: 0)
        last = base
    }

    var slot: Int { Int(slot32) }
    var head: Int { Int(head32) }
    var count: Int { Int(count32) }

    /// The same in another slot.
    func moved(toSlot slot: Int) -> PartitionLog {
        var log = PartitionLog(partition: partition, slot: slot, letGo: 0, newestLetGo: newestLetGo, now: 0)
        (log.bytes, log.checkpoints, log.sinceCheckpoint) = (bytes, checkpoints, sinceCheckpoint)
        (log.head32, log.count32, log.base, log.last) = (head32, count32, base, last)
        (log.lastTimestamp, log.firstStamp, log.firstArrival) = (lastTimestamp, firstStamp, firstArrival)
        return log
    }

    /// Bytes allocated for events.
    var allocatedBytes: Int {
        (bytes.capacity == 0 ? 0 : bytes.capacity + Self.arrayHeaderBytes)
            + (checkpoints.capacity == 0
                ? 0 : checkpoints.capacity * MemoryLayout<Checkpoint>.stride + Self.arrayHeaderBytes)
    }
    static let arrayHeaderBytes = 32

    // MARK: - Adding

    /// `timestamp` is as Kafka has it, −1 for none.
    mutating func append(_ event: RecordedEvent, at mark: Mark, timestamp: Int64, word: Int) {
        let isUnstamped = timestamp == -1
        let stamp = isUnstamped ? mark.arrival : timestamp
        let numbers = (
            UInt64(bitPattern: mark.offset &- last.offset), UInt64(zigzag: mark.arrival &- last.arrival),
            UInt64(zigzag: stamp &- mark.arrival), mark.sequence - last.sequence,
            UInt64(word) << 1 | (isUnstamped ? 1 : 0)
        )
        let numberBytes =
            numbers.0.varintBytes + numbers.1.varintBytes + numbers.2.varintBytes + numbers.3.varintBytes
            + numbers.4.varintBytes
        let id = event.bytes.span.extracting(event.idRange)
        let size = numberBytes + 1 + id.count + (word == 0 ? event.kind.wordBytes : 0)
        makeRoom(for: size)
        bytes.append(addingCapacity: size) { room in
            room.appendVarint(numbers.0)
            room.appendVarint(numbers.1)
            room.appendVarint(numbers.2)
            room.appendVarint(numbers.3)
            room.appendVarint(numbers.4)
            if word == 0 {
                room.appendText(event.kind.entity.utf8Span.span)
                room.appendText(event.kind.type.utf8Span.span)
            }
            room.appendText(id)
        }
        if count32 == 0 { (firstStamp, firstArrival) = (stamp, mark.arrival) }
        last = mark
        lastTimestamp = timestamp
        count32 += 1
        sinceCheckpoint += 1
        if sinceCheckpoint == Self.checkpointDistance {
            sinceCheckpoint = 0
            checkpoints.append(Checkpoint(mark: mark, index: bytes.count))
        }
    }

    /// Grows by half at a time: an account's log is mostly small, and doubling would leave half of it empty.
    private mutating func makeRoom(for more: Int) {
        guard bytes.count + more > bytes.capacity else { return }
        if head > 0 && head >= bytes.count / 4 { dropRead { bytes, head in bytes.removeSubrange(0..<head) } }
        let wanted = bytes.count + more
        if wanted > bytes.capacity { bytes.reserveCapacity(max(wanted, bytes.count + bytes.count / 2)) }
    }

    /// Drops the bytes before the head.
    private mutating func dropRead(_ body: (inout [UInt8], Int) -> Void) {
        let gone = head
        body(&bytes, gone)
        checkpoints.removeAll { $0.index < gone }
        for index in checkpoints.indices { checkpoints[index].index -= gone }
        head32 = 0
    }

    // MARK: - Letting go

    /// Lets the oldest event go; there is one. Returns its number in the vocabulary.
    mutating func letFirstGo(now: Int64) -> Int {
        var walk = Walk(self)
        guard let first = walk.next() else { preconditionFailure("no event is left to let go") }
        base = first.mark
        newestLetGo = max(newestLetGo, min(base.arrival, now))
        count32 -= 1
        head32 = Int32(walk.index)
        let next = walk.next()
        (firstStamp, firstArrival) = (next?.stamp ?? 0, next?.mark.arrival ?? 0)
        if count32 == 0 {
            bytes = []
            checkpoints = []
            sinceCheckpoint = 0
            head32 = 0
        }
        return first.word
    }

    /// Frees memory that a log which was longer once no longer needs.
    mutating func shrink() {
        let used = bytes.count - head
        guard bytes.capacity > 4 * used + 256 else { return }
        dropRead { bytes, head in
            var fitting: [UInt8] = []
            fitting.reserveCapacity(used + used / 4)
            fitting.append(contentsOf: bytes[head...])
            bytes = fitting
        }
        if checkpoints.capacity > 4 * checkpoints.count + 8 { checkpoints = checkpoints.map(\.self) }
    }

    // MARK: - Where to begin

    /// Begins at an event before which all have a lower sequence than `sequence + 1`, or a lower offset than `offset`. It is at
    /// most ``checkpointDistance`` events before the first with neither, or twice as many where one of them is wanted too.
    func walk(afterSequence sequence: UInt64, fromOffset offset: Int64, withOneBefore: Bool = false) -> Walk {
        var (low, high) = (0, checkpoints.count)
        while low < high {
            let middle = (low + high) / 2
            let mark = checkpoints[middle].mark
            if mark.sequence <= sequence || mark.offset < offset { low = middle + 1 } else { high = middle }
        }
        let index = low - (withOneBefore ? 2 : 1)
        guard index >= 0, checkpoints[index].index > head else { return Walk(self) }
        return Walk(self, from: checkpoints[index].mark, index: checkpoints[index].index)
    }

    /// The event at an offset, if it is held.
    func entry(at offset: Int64) -> Entry? {
        var walk = walk(afterSequence: 0, fromOffset: offset)
        while let entry = walk.next(), entry.mark.offset <= offset {
            if entry.mark.offset == offset { return entry }
        }
        return nil
    }
}

extension EventKind {
    fileprivate var wordBytes: Int { 2 + entity.utf8.count + type.utf8.count }
}

extension OutputSpan<UInt8> {
    fileprivate mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// A length of one byte, and the bytes.
    fileprivate mutating func appendText(_ text: Span<UInt8>) {
        append(UInt8(text.count))
        for index in text.indices { append(text[index]) }
    }
}
