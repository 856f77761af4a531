// The bytes of a cursor, before they become text:
//
//     version 1 · epoch 4 · account check 4 · issue 6 · age of what is known of all topics 2
//     number of positions, and for each: topic, partition, offset, age of knowledge 2
//     0, or 1 + index of the fingerprint's position, its offset's distance below that position, check 3
//     in version 2 with flag 8: number of first records, and for each: topic, partition, check 3
//     CRC-32 over all before it 4
//
// Version 2 has a byte of flags after its number, never 0: 1 for a hash over all topics' ids, which follows it in 4 bytes; 2 for
// a cursor that does not name all partitions; 4 for the age of what was read of all partitions, in 2 bytes after the issue. Nodes
// that know no ids create and read the same cursors. Flag 8 is set only as long as a topic's first record is stamped ahead. Older
// nodes refuse such a cursor as `invalid`, and their clients resync.
//
// Fixed numbers have their highest byte first, the others are varints. Each cursor has one form only: varints as short as
// possible, positions in order, nothing at the end. So every change of the text is noticed.
extension Cursor {
    private static let withIDs: UInt8 = 1
    private static let partial: UInt8 = 2
    private static let withReadUntil: UInt8 = 4
    private static let withFirstRecords: UInt8 = 8

    package var text: CursorText {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40 + 12 * positions.count)
        let flags =
            (topicIDs == nil ? 0 : Self.withIDs) | (isPartial ? Self.partial : 0)
            | (readUntil == nil ? 0 : Self.withReadUntil) | (firstRecords.isEmpty ? 0 : Self.withFirstRecords)
        bytes.append(flags == 0 ? 1 : 2)
        if flags != 0 { bytes.append(flags) }
        if let topicIDs { bytes.appendFixed(UInt64(topicIDs), count: 4) }
        bytes.appendFixed(UInt64(epoch.number), count: 4)
        bytes.appendFixed(UInt64(accountCheck), count: 4)
        bytes.appendFixed(UInt64(issue), count: 6)
        if let readUntil {
            bytes.appendFixed(UInt64(KnowledgeAge.code(known: readUntil, issue: issue)), count: 2)
        }
        bytes.appendFixed(UInt64(KnowledgeAge.code(known: topicsKnown, issue: issue)), count: 2)
        bytes.appendVarint(UInt64(positions.count))
        var marked: Int?
        for (index, position) in positions.enumerated() {
            bytes.appendVarint(UInt64(position.partition.topic))
            bytes.appendVarint(UInt64(position.partition.number))
            bytes.appendVarint(UInt64(position.offset))
            bytes.appendFixed(UInt64(KnowledgeAge.code(known: position.known, issue: issue)), count: 2)
            if let fingerprint, fingerprint.partition == position.partition, fingerprint.offset < position.offset {
                marked = index
            }
        }
        if let fingerprint, let marked {
            bytes.appendVarint(UInt64(marked) + 1)
            bytes.appendVarint(UInt64(positions[marked].offset - 1 - fingerprint.offset))
            bytes.appendFixed(UInt64(fingerprint.check), count: 3)
        } else {
            bytes.append(0)
        }
        if !firstRecords.isEmpty { bytes.appendVarint(UInt64(firstRecords.count)) }
        for first in firstRecords {
            bytes.appendVarint(UInt64(first.partition.topic))
            bytes.appendVarint(UInt64(first.partition.number))
            bytes.appendFixed(UInt64(first.check), count: 3)
        }
        return CursorText(sealing: bytes)
    }

    /// Decodes what a client sent; nil when no node can have created it.
    package init?(_ text: [UInt8]) {
        guard text.count <= CursorText.maximumBytes, let bytes = URLText.decode(text), bytes.count > 4 else {
            return nil
        }
        let end = bytes.count - 4
        var tail = ByteReader(bytes: bytes, index: end, end: bytes.count)
        guard tail.fixed(count: 4) == UInt64(CyclicRedundancyCheck.value(of: bytes, count: end)) else { return nil }
        var reader = ByteReader(bytes: bytes, index: 0, end: end)
        var flags: UInt8 = 0
        guard let version = reader.byte(), version == 1 || version == 2 else { return nil }
        if version == 2 {
            guard let byte = reader.byte(), byte > 0,
                byte <= Self.withIDs | Self.partial | Self.withReadUntil | Self.withFirstRecords
            else { return nil }
            flags = byte
            isPartial = flags & Self.partial != 0
            if flags & Self.withIDs != 0 {
                guard let ids = reader.fixed(count: 4) else { return nil }
                topicIDs = UInt32(ids)
            }
        }
        guard let epoch = reader.fixed(count: 4), let accountCheck = reader.fixed(count: 4),
            let issue = reader.fixed(count: 6)
        else { return nil }
        if flags & Self.withReadUntil != 0 {
            guard let age = reader.fixed(count: 2) else { return nil }
            readUntil = KnowledgeAge.known(code: UInt16(age), issue: Int64(issue)) ?? .min
        }
        guard let topicsAge = reader.fixed(count: 2), let count = reader.varint(),
            count <= UInt64(Self.maximumPositions)
        else { return nil }
        self.epoch = Epoch(number: UInt32(epoch))
        self.accountCheck = UInt32(accountCheck)
        self.issue = Int64(issue)
        topicsKnown = KnowledgeAge.known(code: UInt16(topicsAge), issue: Int64(issue))
        positions = []
        for _ in 0..<count {
            guard let position = Self.position(&reader, issue: Int64(issue)) else { return nil }
            if let last = positions.last, last.partition >= position.partition { return nil }
            positions.append(position)
        }
        guard let marked = reader.varint(), marked <= count else { return nil }
        if marked > 0 {
            let position = positions[Int(marked) - 1]
            guard let distance = reader.varint(), distance < UInt64(position.offset), let check = reader.fixed(count: 3)
            else { return nil }
            fingerprint = Fingerprint(
                partition: position.partition, offset: position.offset - 1 - Int64(distance), check: UInt32(check))
        }
        if flags & Self.withFirstRecords != 0 {
            guard let firsts = Self.firstRecords(&reader) else { return nil }
            firstRecords = firsts
        }
        guard reader.index == end else { return nil }
    }

    private static func firstRecords(_ reader: inout ByteReader) -> [Fingerprint]? {
        guard let count = reader.varint(), count > 0, count <= UInt64(maximumFirstRecords) else { return nil }
        var records: [Fingerprint] = []
        for _ in 0..<count {
            guard let topic = reader.varint(), let topic = UInt16(exactly: topic), let number = reader.varint(),
                let number = Int32(exactly: number), let check = reader.fixed(count: 3)
            else { return nil }
            if let last = records.last, last.partition.topic >= topic { return nil }
            let partition = PartitionName(topic: topic, number: number)
            records.append(Fingerprint(partition: partition, offset: 0, check: UInt32(check)))
        }
        return records
    }

    private static func position(_ reader: inout ByteReader, issue: Int64) -> Position? {
        guard let topic = reader.varint(), let topic = UInt16(exactly: topic), let number = reader.varint(),
            let number = Int32(exactly: number), let offset = reader.varint(), let offset = Int64(exactly: offset),
            let age = reader.fixed(count: 2)
        else { return nil }
        return Position(
            partition: PartitionName(topic: topic, number: number), offset: offset,
            known: KnowledgeAge.known(code: UInt16(age), issue: issue))
    }
}

extension CursorText {
    /// Appends the checksum to the bytes of a cursor, and converts them to text.
    package init(sealing contents: [UInt8]) {
        var bytes = contents
        bytes.appendFixed(UInt64(CyclicRedundancyCheck.value(of: bytes, count: bytes.count)), count: 4)
        self.init(bytes: URLText.encode(bytes))
    }
}

/// How long before a cursor's issue its node last knew a log to be the one it reads, in two bytes.
///
/// Exact to the millisecond below 8 s, which is longer than the time between two metadata refreshes, and within 1/4,096 above.
/// One byte would be safe, but it would refuse good cursors: a log that was born 5 ms before it was known must not seem known
/// before it was born.
enum KnowledgeAge {
    static let never: UInt16 = .max
    private static let linear: Int64 = 8192
    private static let steps: Int64 = 4096

    /// Rounded up, so that the decoded moment is never later than the true one. `known` nil is never.
    static func code(known: Int64?, issue: Int64) -> UInt16 {
        guard let known else { return never }
        let (age, overflow) = issue.subtractingReportingOverflow(known)
        guard !overflow else { return known > issue ? 0 : never }
        if age < linear { return UInt16(max(0, age)) }
        var octave: Int64 = 0
        var mantissa = age
        while mantissa >= 2 * steps {
            mantissa = mantissa >> 1 + mantissa & 1
            octave += 1
        }
        // Rounding may have made it the first of the next octave, which is the same number.
        let code = linear + (octave - 1) * steps + mantissa - steps
        return code < Int64(never) ? UInt16(code) : never
    }

    /// Nil for never.
    static func known(code: UInt16, issue: Int64) -> Int64? {
        guard code != never else { return nil }
        guard code >= linear else { return issue - Int64(code) }
        let (octave, rest) = (Int64(code) - linear).quotientAndRemainder(dividingBy: steps)
        return issue - (steps + rest) << (octave + 1)
    }
}
