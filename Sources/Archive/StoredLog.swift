import KafkaLogs

/// The log in which a stored position counts, and some records that identify it and show where it was cut.
///
/// A store keeps it as bytes, in the transaction of its position.
package struct StoredLog: Equatable, Sendable {
    /// A record that was stored or skipped.
    package struct Point: Equatable, Sendable {
        package let offset: Int64
        /// In ms, not below 0.
        package let stamp: Int64

        package init(offset: Int64, stamp: Int64) {
            self.offset = offset
            self.stamp = stamp
        }
    }

    /// Each is about twice as far from the newest as the one behind it, so they cover some 2^24 offsets.
    package static let maximumPoints = 24
    private static let version: UInt8 = 1

    package var known: KnownLog
    /// The oldest is first.
    package private(set) var points: [Point]
    /// The log was cut back and is read again: what lies before this offset may be stored, although the position is before it.
    /// Nil: nothing behind the position is stored.
    package var until: Int64?
    /// What lies from this offset on was read after the last proof of the log. It may be of another log, or of this one after
    /// it was cut back, and records may have been skipped there. Nil: nobody has noted it.
    package var sure: Int64?

    package init(known: KnownLog = KnownLog(), points: [Point] = [], until: Int64? = nil, sure: Int64? = nil) {
        self.known = known
        self.points = points
        self.until = until
        self.sure = sure
    }

    /// For a position whose log was not noted, with the stamp of the last record before it. That record is directly before the
    /// position, or before the markers of some transactions.
    init(next: Int64, stamp: Int64) {
        let offsets = stamp >= 0 ? max(0, next - Int64(Self.maximumMarkers))..<max(0, next) : 0..<0
        self.init(points: offsets.map { Point(offset: $0, stamp: stamp) })
    }

    private static let maximumMarkers = 8

    /// What is known of the log at a position; nil where that is unknown.
    func known(at next: Int64) -> KnownLog? { next >= until ?? .min ? known : nil }

    /// The stamp of the last record before a position that is certainly of this log, −1 where none is; nil: all are.
    func sureStamp(at next: Int64) -> Int64? {
        guard let sure, sure < next else { return nil }
        return points.last { $0.offset < sure }?.stamp ?? -1
    }

    /// Those that were read after the log was proved last, or else the last one.
    var newest: [Point] {
        let unproved = points.filter { $0.offset >= sure ?? .max }
        return unproved.isEmpty ? Array(points.suffix(1)) : unproved
    }

    /// Adds a record behind the others, and drops some of these.
    package mutating func add(_ point: Point) {
        guard point.stamp >= 0, point.offset > points.last?.offset ?? -1 else { return }
        var kept: [Point] = []
        var last = -1
        for other in points {
            let distance = point.offset - other.offset
            let step = 63 - distance.leadingZeroBitCount
            // Of those at about the same distance only the oldest is kept: it becomes the next one's.
            if step != last { kept.append(other) }
            last = step
        }
        points = kept.suffix(Self.maximumPoints - 1) + [point]
    }

    /// The log ends before this offset.
    package mutating func cut(at offset: Int64) {
        points.removeAll { $0.offset >= offset }
        sure = sure.map { min($0, offset) }
    }

    /// What lies before this offset was read before the log was proved.
    mutating func prove(before offset: Int64) { sure = max(sure ?? offset, offset) }

    // MARK: - Bytes

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let topicID = Flags(rawValue: 1)
        static let first = Flags(rawValue: 2)
        static let known = Flags(rawValue: 4)
        static let until = Flags(rawValue: 8)
        static let sure = Flags(rawValue: 16)
    }

    /// A version, the flags, then numbers of eight bytes with the highest byte first.
    package var bytes: [UInt8] {
        var flags: Flags = []
        var numbers: [Int64] = []
        func add(_ flag: Flags, _ number: Int64?) {
            guard let number else { return }
            flags.insert(flag)
            numbers.append(number)
        }
        add(.topicID, known.topicID.map(Int64.init))
        add(.first, known.first)
        add(.known, known.known)
        add(.until, until)
        add(.sure, sure)
        for point in points { numbers += [point.offset, point.stamp] }
        var bytes = [Self.version, flags.rawValue]
        for number in numbers {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        return bytes
    }

    /// Nil for what another version has written.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2, bytes[0] == Self.version, bytes.count % 8 == 2 else { return nil }
        let flags = Flags(rawValue: bytes[1])
        var numbers = stride(from: 2, to: bytes.count, by: 8).map { start in
            bytes[start..<(start + 8)].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }[...]
        func has(_ flag: Flags) -> Bool { flags.contains(flag) }
        let topicID = has(.topicID) ? numbers.popFirst() : nil
        known = KnownLog(
            topicID: topicID.map { UInt32(truncatingIfNeeded: $0) }, first: has(.first) ? numbers.popFirst() : nil,
            known: has(.known) ? numbers.popFirst() : nil)
        until = has(.until) ? numbers.popFirst() : nil
        sure = has(.sure) ? numbers.popFirst() : nil
        points = []
        while let offset = numbers.popFirst(), let stamp = numbers.popFirst() {
            points.append(Point(offset: offset, stamp: stamp))
        }
    }
}

/// How far a partition is stored.
package struct StoredPosition: Equatable, Sendable {
    package let topic: String
    package let partition: Int32
    /// The next offset to be read.
    package let next: Int64
    /// The log in which the offset counts; nil where that is unknown.
    package let log: KnownLog?
    /// The known ones of the last records before it. A node that read another record there knows that the log is not its own.
    package let newest: [StoredLog.Point]

    package init(topic: String, partition: Int32, next: Int64, log: KnownLog? = nil, newest: [StoredLog.Point] = []) {
        self.topic = topic
        self.partition = partition
        self.next = next
        self.log = log
        self.newest = newest
    }

    init(topic: String, partition: Int32, next: Int64, of log: StoredLog?) {
        self.init(
            topic: topic, partition: partition, next: next, log: log?.known(at: next), newest: log?.newest ?? [])
    }
}
