import LiveUpdates

/// The position of an event among all others, as bytes that a database compares. Their order is that of its ``ArchiveID``,
/// without its check, which every reader can compute again.
///
/// Stamp + 1 in 6 bytes, the topic's hash in 4. Then partition and offset: each as the count of its bytes and these bytes, as
/// few as possible, highest first. Most events need 14 to 16 bytes; fixed numbers would need 22.
///
/// Other stamps have 8 bytes with the sign bit inverted, behind a start that no other key has. Below −1 the start is seven
/// bytes of 0; −1, which means no stamp, has six and a 1. Above, it is ten of 255: in a key with 6 bytes of stamp at most a 4
/// follows them. Keys with 6 bytes of stamp never change: files hold them.
struct EventKey: Hashable, Sendable {
    /// Above every event: a key has at most 22 bytes of 255 in a row.
    static let end = EventKey(bytes: Array(repeating: 0xFF, count: 24))
    /// Below every event; what a person without a mark has read.
    static let start = EventKey(bytes: [])
    /// The last stamp that 6 bytes hold. Before later stamps had keys of their own, it was used for them too.
    static let lastShortStamp: Int64 = 1 << 48 - 2

    let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    init(stamp: Int64, topic: UInt32, partition: Int32, offset: Int64) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        Self.append(stamp: stamp, to: &bytes)
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
        Self.append(stamp: stamp, to: &bytes)
        self.bytes = bytes
    }

    /// Below every event that a store keeps, by its horizon: −1 as long as everything is kept.
    init(keptFrom horizon: Int64) {
        self = horizon == -1 ? .start : EventKey(before: horizon)
    }

    private static func append(stamp: Int64, to bytes: inout [UInt8]) {
        switch stamp {
        case ...(-2):
            append(0, count: 7, to: &bytes)
            append(turned(stamp), count: 8, to: &bytes)
        case -1: append(1, count: 7, to: &bytes)
        case ...lastShortStamp: append(UInt64(stamp + 1), count: 6, to: &bytes)
        default:
            for _ in 0..<10 { bytes.append(0xFF) }
            append(turned(stamp), count: 8, to: &bytes)
        }
    }

    private static func turned(_ stamp: Int64) -> UInt64 { UInt64(bitPattern: stamp) ^ 1 << 63 }

    private static func append(_ number: UInt64, count: Int, to bytes: inout [UInt8]) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }

    private static func appendShortest(_ number: UInt64, to bytes: inout [UInt8]) {
        let count = (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
        bytes.append(UInt8(count))
        append(number, count: count, to: &bytes)
    }

    /// From the bytes that a file holds.
    init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// Its stamp and how many bytes that has, where there is one: neither ``start`` nor ``end`` has.
    private var head: (stamp: Int64, count: Int)? {
        guard bytes.count >= 6 else { return nil }
        let short = bytes[..<6].reduce(Int64(0)) { $0 << 8 | Int64($1) } - 1
        switch short {
        case -1:
            guard bytes.count >= 7 else { return nil }
            return bytes[6] == 1 ? (-1, 7) : turned(from: 7)
        case Self.lastShortStamp where bytes.count > 10 && bytes[6..<10].allSatisfy { $0 == 0xFF } && bytes[10] >= 0x80:
            return turned(from: 10)
        default: return (short, 6)
        }
    }

    private func turned(from index: Int) -> (stamp: Int64, count: Int)? {
        guard bytes.count >= index + 8 else { return nil }
        let number = bytes[index..<index + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (Int64(bitPattern: number ^ 1 << 63), index + 8)
    }

    var stamp: Int64? { self == .end ? nil : head?.stamp }

    /// The newest stamp below it.
    var newestStampBelow: Int64? {
        guard self != .end, let head else { return nil }
        return bytes.count == head.count && head.stamp > .min ? head.stamp - 1 : head.stamp
    }

    /// The event's id.
    ///
    /// - Throws: where the bytes are no key, as in a damaged file.
    func id(check: UInt64) throws(ArchiveError) -> ArchiveID {
        guard let (stamp, count) = head, bytes.count >= count + 6 else {
            throw .corrupt("a key of \(bytes.count) bytes")
        }
        let topic = bytes[count..<count + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var index = count + 4
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
