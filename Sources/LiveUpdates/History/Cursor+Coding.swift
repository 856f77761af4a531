// The bytes of a cursor, before they become text:
//
//     version 1 · epoch 4 · account check 4 · issue 6 · age of what is known of all topics 2
//     number of positions, and for each: topic, partition, offset, age of knowledge 2
//     0, or 1 + place of the fingerprint's position, its offset's distance below that position, check 3
//     CRC-32 over all before it 4
//
// Fixed numbers have their highest byte first, the others are varints. Each cursor has one form only: varints as short
// as they can be, positions in order, nothing behind. So no change of the text goes unnoticed.
extension Cursor {
    private static let version: UInt8 = 1

    package var text: CursorText {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40 + 12 * positions.count)
        bytes.append(Self.version)
        bytes.appendFixed(UInt64(epoch.number), count: 4)
        bytes.appendFixed(UInt64(accountCheck), count: 4)
        bytes.appendFixed(UInt64(issue), count: 6)
        bytes.appendFixed(UInt64(KnowledgeAge.code(known: topicsKnown, issue: issue)), count: 2)
        bytes.appendVarint(UInt64(positions.count))
        var marked: Int?
        for (place, position) in positions.enumerated() {
            bytes.appendVarint(UInt64(position.partition.topic))
            bytes.appendVarint(UInt64(position.partition.number))
            bytes.appendVarint(UInt64(position.offset))
            bytes.appendFixed(UInt64(KnowledgeAge.code(known: position.known, issue: issue)), count: 2)
            if let fingerprint, fingerprint.partition == position.partition, fingerprint.offset < position.offset {
                marked = place
            }
        }
        if let fingerprint, let marked {
            bytes.appendVarint(UInt64(marked) + 1)
            bytes.appendVarint(UInt64(positions[marked].offset - 1 - fingerprint.offset))
            bytes.appendFixed(UInt64(fingerprint.check), count: 3)
        } else {
            bytes.append(0)
        }
        return CursorText(sealing: bytes)
    }

    /// Reads what somebody sent; nil when no node can have made it.
    package init?(_ text: [UInt8]) {
        guard text.count <= CursorText.maximumBytes, let bytes = URLText.decode(text), bytes.count > 4 else {
            return nil
        }
        let end = bytes.count - 4
        var tail = ByteReader(bytes: bytes, place: end, end: bytes.count)
        guard tail.fixed(count: 4) == UInt64(CyclicRedundancyCheck.value(of: bytes, count: end)) else { return nil }
        var reader = ByteReader(bytes: bytes, place: 0, end: end)
        guard reader.byte() == Self.version, let epoch = reader.fixed(count: 4),
            let accountCheck = reader.fixed(count: 4), let issue = reader.fixed(count: 6),
            let topicsAge = reader.fixed(count: 2), let count = reader.varint(),
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
        guard reader.place == end else { return nil }
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
    /// Puts the checksum behind the bytes of a cursor, and makes text of them.
    package init(sealing contents: [UInt8]) {
        var bytes = contents
        bytes.appendFixed(UInt64(CyclicRedundancyCheck.value(of: bytes, count: bytes.count)), count: 4)
        self.init(bytes: URLText.encode(bytes))
    }
}
