import LiveUpdates

/// An event's place among all others, as bytes that a database compares: the order of its ``ArchiveID``, without its check,
/// which every reader can make again.
///
/// Stamp + 1 in 6 bytes, the topic's hash in 4, then partition and offset, each as the number of its bytes and these, as few as
/// can be, highest first: 14 to 16 bytes for most events, where fixed numbers would take 22.
struct EventKey: Hashable, Sendable {
    /// Above every event.
    static let end = EventKey(bytes: [0xFF])
    /// Below every event; what a person without a mark has read.
    static let start = EventKey(bytes: [])

    let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    init(stamp: Int64, topic: UInt32, partition: Int32, offset: Int64) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        Self.append(Self.coded(stamp), count: 6, to: &bytes)
        Self.append(UInt64(topic), count: 4, to: &bytes)
        Self.appendShortest(UInt64(partition), to: &bytes)
        Self.appendShortest(UInt64(offset), to: &bytes)
        self.bytes = bytes
    }

    init(_ id: ArchiveID) {
        self.init(stamp: id.stamp, topic: id.topic, partition: id.partition, offset: id.offset)
    }

    /// Below every event of this stamp and above every earlier one.
    init(before stamp: Int64) {
        var bytes: [UInt8] = []
        Self.append(Self.coded(stamp), count: 6, to: &bytes)
        self.bytes = bytes
    }

    private static func coded(_ stamp: Int64) -> UInt64 { UInt64(min(max(-1, stamp), ArchiveID.latestStamp) + 1) }

    private static func append(_ number: UInt64, count: Int, to bytes: inout [UInt8]) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }

    private static func appendShortest(_ number: UInt64, to bytes: inout [UInt8]) {
        let count = (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
        bytes.append(UInt8(count))
        append(number, count: count, to: &bytes)
    }

    /// Takes what a file holds.
    init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// Its stamp, where it has one: neither ``start`` nor ``end`` does.
    var stamp: Int64? {
        guard bytes.count >= 6 else { return nil }
        return bytes[..<6].reduce(Int64(0)) { $0 << 8 | Int64($1) } - 1
    }

    /// The newest stamp below it.
    var newestStampBelow: Int64? { bytes.count == 6 ? stamp.map { $0 - 1 } : stamp }

    /// The event's id.
    ///
    /// - Throws: where the bytes are none of a key, which a damaged file may hold.
    func id(check: UInt64) throws(ArchiveError) -> ArchiveID {
        guard let stamp, bytes.count >= 12 else { throw .corrupt("a key of \(bytes.count) bytes") }
        let topic = bytes[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var index = 10
        guard let partition = number(at: &index), let partition = Int32(exactly: partition),
            let offset = number(at: &index), index == bytes.count
        else { throw .corrupt("a key that ends wrongly") }
        return ArchiveID(stamp: stamp, topic: topic, partition: partition, offset: offset, check: check)
    }

    /// Nil for a number that ends behind the key or is larger than any offset.
    private func number(at index: inout Int) -> Int64? {
        guard index < bytes.count, bytes[index] <= 8 else { return nil }
        let end = index + 1 + Int(bytes[index])
        guard end <= bytes.count else { return nil }
        let number = bytes[(index + 1)..<end].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        index = end
        return Int64(exactly: number)
    }
}

extension EventKey: Comparable {
    /// As SQLite compares blobs.
    static func < (left: EventKey, right: EventKey) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
