/// An event's id in the archive, the same on every node: made from nothing but its record.
///
/// As text it has 40 characters that a URL carries unchanged, and the order of their bytes is the order of the ids: by stamp,
/// then topic, partition and offset. 30 bytes stand behind them: stamp + 1 in 6, a hash of the topic's name in 4, partition
/// in 4, offset in 8, and in 8 a hash of account, entity, id and type, so that a topic that was recreated does not give
/// an old id to a new event.
package struct ArchiveID: Hashable, Sendable {
    /// As many characters as every id has.
    package static let length = 40
    /// The year 10889; later stamps are taken for this one.
    package static let latestStamp: Int64 = 1 << 48 - 2

    /// The record's time stamp in ms; −1 where it has none.
    package let stamp: Int64
    /// Of the topic's name: ``hash(ofTopic:)``.
    package let topic: UInt32
    package let partition: Int32
    package let offset: Int64
    /// Of account and event: ``hash(of:account:)``.
    package let check: UInt64

    package init(stamp: Int64, topic: UInt32, partition: Int32, offset: Int64, check: UInt64) {
        precondition(partition >= 0 && offset >= 0, "a record has a partition and an offset")
        self.stamp = min(max(-1, stamp), Self.latestStamp)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.check = check
    }

    package static func hash(ofTopic name: String) -> UInt32 {
        var hash = StableHash()
        hash.combine(name)
        return hash.folded
    }

    package static func hash(of event: ThinEvent, account: Account) -> UInt64 {
        var hash = StableHash()
        hash.combine(account.text)
        hash.combine(event.entity)
        hash.combine(event.id)
        hash.combine(event.type)
        return hash.state
    }

    // MARK: - Text

    /// Appends its 40 characters; allocates only where the array has no room for them.
    package func append(to text: inout [UInt8]) {
        let characters = characters
        text.append(addingCapacity: Self.length) { room in
            for index in characters.indices { room.append(characters[index]) }
        }
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private var characters: InlineArray<40, UInt8> {
        var characters = InlineArray<40, UInt8>(repeating: 0)
        var index = 0
        var held: UInt64 = 0
        var bits: UInt64 = 0
        func put(_ field: UInt64, bytes: UInt64) {
            for shift in stride(from: 8 * (bytes - 1), through: 0, by: -8) {
                held = held << 8 | field >> shift & 0xFF
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    characters[index] = Self.character(of: UInt8(held >> bits & 0x3F))
                    index += 1
                }
            }
        }
        put(UInt64(stamp + 1), bytes: 6)
        put(UInt64(topic), bytes: 4)
        put(UInt64(partition), bytes: 4)
        put(UInt64(offset), bytes: 8)
        put(check, bytes: 8)
        return characters
    }

    /// Reads what somebody sent; nil when no node can have made it. Allocates nothing.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.length else { return nil }
        var index = 0
        var held: UInt64 = 0
        var bits: UInt64 = 0
        func take(bytes: Int) -> UInt64? {
            var field: UInt64 = 0
            for _ in 0..<bytes {
                while bits < 8 {
                    guard let sextet = Self.sextet(of: text[index]) else { return nil }
                    held = held << 6 | UInt64(sextet)
                    bits += 6
                    index += 1
                }
                bits -= 8
                field = field << 8 | held >> bits & 0xFF
            }
            return field
        }
        guard let stamp = take(bytes: 6), let topic = take(bytes: 4), let partition = take(bytes: 4),
            let offset = take(bytes: 8), let check = take(bytes: 8)
        else { return nil }
        guard let partition = Int32(exactly: partition), let offset = Int64(exactly: offset) else { return nil }
        self.init(
            stamp: Int64(stamp) - 1, topic: UInt32(topic), partition: partition, offset: offset, check: check)
    }

    package init?(_ text: String) { self.init(text.utf8Span.span) }

    // The 64 characters of base64url, in the order of their bytes.

    private static func character(of sextet: UInt8) -> UInt8 {
        switch sextet {
        case 0: UInt8(ascii: "-")
        case 1...10: UInt8(ascii: "0") + sextet - 1
        case 11...36: UInt8(ascii: "A") + sextet - 11
        case 37: UInt8(ascii: "_")
        default: UInt8(ascii: "a") + sextet - 38
        }
    }

    private static func sextet(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "-"): 0
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 1
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A") + 11
        case UInt8(ascii: "_"): 37
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 38
        default: nil
        }
    }
}

extension ArchiveID: Comparable {
    /// As the bytes of their texts.
    package static func < (left: ArchiveID, right: ArchiveID) -> Bool {
        (left.stamp, left.topic, left.partition, left.offset, left.check)
            < (right.stamp, right.topic, right.partition, right.offset, right.check)
    }
}

/// Makes the ids of a node's events: it knows the topics by which partitions are named.
package struct ArchiveIDs: Sendable {
    private let topics: [UInt32]

    /// - Parameter topics: in the order in which ``PartitionName`` numbers them.
    package init(topics: [String]) { self.topics = topics.map(ArchiveID.hash(ofTopic:)) }

    /// Reads all bytes of account, entity, id and type.
    package func id(of event: LoggedEvent, account: Account) -> ArchiveID {
        ArchiveID(
            stamp: event.timestamp, topic: topics[Int(event.partition.topic)], partition: event.partition.number,
            offset: event.offset, check: ArchiveID.hash(of: event.event, account: account))
    }
}
