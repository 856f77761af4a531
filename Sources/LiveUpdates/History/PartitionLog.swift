/// The events of one account in one partition, as one run of bytes.
///
/// An event is: distance of its offset, time stamp and sequence to the event before (varints), its word (entity and
/// type) with one bit that says it has no time stamp, length and bytes of its id; words that the vocabulary does not
/// hold stand in full before the id. About 12 bytes beside the id.
struct PartitionLog {
    /// Where an event stands, in the partition, in time and in the order in which the node took it.
    struct Mark {
        var offset: Int64
        /// In ms; of an event without a time stamp, when it was read.
        var stamp: Int64
        var sequence: UInt64
    }

    let partition: PartitionName
    /// The index of what the history knows of the partition.
    let place: Int
    private(set) var bytes: [UInt8] = []
    /// Where the oldest event that is held begins.
    private(set) var head = 0
    private(set) var count = 0
    /// The event before the oldest that is held: the last one let go. Its offset may be higher than that of any event,
    /// when the account takes over what was let go of others.
    private(set) var base: Mark
    private(set) var last: Mark
    private(set) var lastIsUnstamped = false
    /// The time stamp of the oldest event that is held.
    private(set) var firstStamp: Int64 = 0
    /// The newest time stamp among what was let go; times after the letting go count as that time.
    private(set) var newestLetGo: Int64

    init(partition: PartitionName, place: Int, letGo: Int64, newestLetGo: Int64, now: Int64) {
        self.partition = partition
        self.place = place
        self.newestLetGo = newestLetGo
        base = Mark(offset: letGo, stamp: now, sequence: 0)
        last = base
    }

    /// The time stamp of the last event as Kafka has it; it may have been let go.
    var lastTimestamp: Int64 { lastIsUnstamped ? -1 : last.stamp }

    /// Bytes allocated for events.
    var allocatedBytes: Int { bytes.capacity == 0 ? 0 : bytes.capacity + Self.arrayHeaderBytes }
    static let arrayHeaderBytes = 32

    // MARK: - Adding

    mutating func append(_ event: ThinEvent, at mark: Mark, isUnstamped: Bool, word: Int) {
        makeRoom(for: Self.maximumFixedBytes + event.id.utf8.count + (word == 0 ? event.wordBytes : 0))
        bytes.appendVarint(UInt64(mark.offset - last.offset))
        bytes.appendZigzag(mark.stamp - last.stamp)
        bytes.appendVarint(mark.sequence - last.sequence)
        bytes.appendVarint(UInt64(word) << 1 | (isUnstamped ? 1 : 0))
        if word == 0 {
            bytes.append(UInt8(event.entity.utf8.count))
            bytes.append(contentsOf: event.entity.utf8)
            bytes.append(UInt8(event.type.utf8.count))
            bytes.append(contentsOf: event.type.utf8)
        }
        bytes.append(UInt8(event.id.utf8.count))
        bytes.append(contentsOf: event.id.utf8)
        if count == 0 { firstStamp = mark.stamp }
        last = mark
        lastIsUnstamped = isUnstamped
        count += 1
    }

    /// Three numbers of 64 bits, one of 13, two lengths and one more.
    private static let maximumFixedBytes = 3 * 10 + 2 + 3

    /// Grows by half at a time: an account's log is mostly small, and doubling would leave half of it empty.
    private mutating func makeRoom(for more: Int) {
        guard bytes.count + more > bytes.capacity else { return }
        if head > 0 && head >= bytes.count / 4 {
            bytes.removeSubrange(0..<head)
            head = 0
        }
        let wanted = bytes.count + more
        if wanted > bytes.capacity { bytes.reserveCapacity(max(wanted, bytes.count + bytes.count / 2)) }
    }

    // MARK: - Letting go

    /// Lets the oldest event go; there is one.
    mutating func letFirstGo(now: Int64) {
        var walk = Walk(self)
        guard let first = walk.next() else { preconditionFailure("no event is left to let go") }
        base = first.mark
        newestLetGo = max(newestLetGo, min(base.stamp, now))
        count -= 1
        head = walk.place
        firstStamp = walk.next()?.mark.stamp ?? 0
        if count == 0 {
            bytes = []
            head = 0
        }
    }

    /// Lets all events go, without reading any but their end.
    mutating func letAllGo(now: Int64) {
        while count > 0 { letFirstGo(now: now) }
    }

    /// Gives back memory that a log which was longer once has no more use for.
    mutating func shrink() {
        let used = bytes.count - head
        guard bytes.capacity > 4 * used + 256 else { return }
        var fitting: [UInt8] = []
        fitting.reserveCapacity(used + used / 4)
        fitting.append(contentsOf: bytes[head...])
        bytes = fitting
        head = 0
    }
}

extension ThinEvent {
    fileprivate var wordBytes: Int { 2 + entity.utf8.count + type.utf8.count }
}

// MARK: - Reading

extension PartitionLog {
    /// An event as it stands in the log; its texts are made when they are asked for.
    struct Entry {
        let mark: Mark
        let isUnstamped: Bool
        /// Its number in the vocabulary; 0 when entity and type stand in the log.
        let word: Int
        fileprivate let entity: Range<Int>
        fileprivate let type: Range<Int>
        fileprivate let id: Range<Int>

        /// As Kafka has it: -1 where there is none.
        var timestamp: Int64 { isUnstamped ? -1 : mark.stamp }
    }

    /// Goes over a log from the oldest event that is held.
    struct Walk {
        private var reader: ByteReader
        private var mark: Mark

        init(_ log: PartitionLog) {
            reader = ByteReader(bytes: log.bytes, place: log.head, end: log.bytes.count)
            mark = log.base
        }

        /// Where the next event begins.
        var place: Int { reader.place }

        mutating func next() -> Entry? {
            guard reader.place < reader.end else { return nil }
            guard let offset = reader.varint(), let stamp = reader.zigzag(), let sequence = reader.varint(),
                let word = reader.varint()
            else { preconditionFailure("a log holds whole events") }
            mark.offset += Int64(offset)
            mark.stamp += stamp
            mark.sequence += sequence
            let number = Int(word >> 1)
            let entity = number == 0 ? text() : 0..<0
            let type = number == 0 ? text() : 0..<0
            return Entry(
                mark: mark, isUnstamped: word & 1 == 1, word: number, entity: entity, type: type, id: text())
        }

        private mutating func text() -> Range<Int> {
            let count = Int(reader.bytes[reader.place])
            let start = reader.place + 1
            reader.place = start + count
            return start..<start + count
        }

        func event(of entry: Entry, _ words: [Vocabulary.Word]) -> ThinEvent {
            let id = String(decoding: reader.bytes[entry.id], as: UTF8.self)
            let entity = entity(of: entry, words)
            let type =
                entry.word == 0 ? String(decoding: reader.bytes[entry.type], as: UTF8.self) : words[entry.word].type
            return ThinEvent(entity: entity, id: id, type: type)
        }

        func entity(of entry: Entry, _ words: [Vocabulary.Word]) -> String {
            entry.word == 0 ? String(decoding: reader.bytes[entry.entity], as: UTF8.self) : words[entry.word].entity
        }
    }

    /// The event at an offset, if it is held. Goes over the log.
    func entry(at offset: Int64) -> Entry? {
        var walk = Walk(self)
        while let entry = walk.next(), entry.mark.offset <= offset {
            if entry.mark.offset == offset { return entry }
        }
        return nil
    }
}
