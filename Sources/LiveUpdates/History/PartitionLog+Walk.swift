extension PartitionLog {
    /// How many events there are up to the last one that is stamped or arrived before a moment. O(n).
    func count(upToLastBefore moment: Int64) -> Int {
        var (count, found) = (0, 0)
        var walk = Walk(self)
        while let entry = walk.next() {
            count += 1
            if min(entry.stamp, entry.mark.arrival) < moment { found = count }
        }
        return found
    }

    /// An event as it is in the log; its texts are created when they are requested.
    struct Entry {
        let mark: Mark
        /// Its time stamp, or its arrival where it has none.
        let stamp: Int64
        let isUnstamped: Bool
        /// Its number in the vocabulary; 0 when entity and type are in the log itself.
        let word: Int
        fileprivate let entity: Range<Int>
        fileprivate let type: Range<Int>
        fileprivate let id: Range<Int>

        /// As Kafka has it: -1 where there is none.
        var timestamp: Int64 { isUnstamped ? -1 : stamp }
    }

    /// Goes over a log, from the oldest event that is held or from a checkpoint.
    struct Walk {
        private var reader: ByteReader
        private var mark: Mark

        init(_ log: PartitionLog) { self.init(log, from: log.base, index: log.head) }

        /// `mark` is of the event before the one at `index`.
        init(_ log: PartitionLog, from mark: Mark, index: Int) {
            reader = ByteReader(bytes: log.bytes, index: index, end: log.bytes.count)
            self.mark = mark
        }

        /// Where the next event begins.
        var index: Int { reader.index }

        mutating func next() -> Entry? {
            guard reader.index < reader.end else { return nil }
            guard let offset = reader.varint(), let arrival = reader.zigzag(), let stamp = reader.zigzag(),
                let sequence = reader.varint(), let word = reader.varint()
            else { preconditionFailure("a log holds whole events") }
            mark.offset &+= Int64(bitPattern: offset)
            mark.arrival &+= arrival
            mark.sequence += sequence
            let number = Int(word >> 1)
            let entity = number == 0 ? text() : 0..<0
            let type = number == 0 ? text() : 0..<0
            return Entry(
                mark: mark, stamp: mark.arrival &+ stamp, isUnstamped: word & 1 == 1, word: number, entity: entity,
                type: type, id: text())
        }

        private mutating func text() -> Range<Int> {
            let count = Int(reader.bytes[reader.index])
            let start = reader.index + 1
            reader.index = start + count
            return start..<start + count
        }

        func event(of entry: Entry, _ words: [EventKind]) -> ThinEvent {
            let id = String(decoding: reader.bytes[entry.id], as: UTF8.self)
            let entity = entity(of: entry, words)
            let type =
                entry.word == 0 ? String(decoding: reader.bytes[entry.type], as: UTF8.self) : words[entry.word].type
            return ThinEvent(entity: entity, id: id, type: type)
        }

        func entity(of entry: Entry, _ words: [EventKind]) -> String {
            entry.word == 0 ? String(decoding: reader.bytes[entry.entity], as: UTF8.self) : words[entry.word].entity
        }
    }
}

/// Goes over the logs of several partitions at once, in the order in which their events were read.
struct MergedWalk {
    private struct Head {
        let part: Int
        var walk: PartitionLog.Walk
        var entry: PartitionLog.Entry
    }

    private var heads: [Head] = []
    private var current = -1

    /// Leaves out events up to `sequence`, and those below the offset that `floor` gives for a partition.
    init(_ parts: [PartitionLog], after sequence: UInt64, floor: (PartitionName) -> Int64) {
        for (index, part) in parts.enumerated() where part.count > 0 && part.last.sequence > sequence {
            let offset = floor(part.partition)
            var walk = part.walk(afterSequence: sequence, fromOffset: offset)
            while let entry = walk.next() {
                guard entry.mark.sequence > sequence, entry.mark.offset >= offset else { continue }
                heads.append(Head(part: index, walk: walk, entry: entry))
                break
            }
        }
    }

    /// The next event and the part that it belongs to.
    mutating func next() -> (part: Int, PartitionLog.Entry)? {
        if current >= 0 {
            if let entry = heads[current].walk.next() {
                heads[current].entry = entry
            } else {
                heads.remove(at: current)
            }
        }
        current = -1
        for index in heads.indices
        where current < 0 || heads[index].entry.mark.sequence < heads[current].entry.mark.sequence { current = index }
        return current < 0 ? nil : (heads[current].part, heads[current].entry)
    }

    /// Of the event that ``next()`` returned last.
    func entity(_ words: [EventKind]) -> String { heads[current].walk.entity(of: heads[current].entry, words) }

    /// The same.
    func event(_ words: [EventKind]) -> ThinEvent { heads[current].walk.event(of: heads[current].entry, words) }
}
