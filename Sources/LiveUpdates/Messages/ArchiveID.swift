/// An event's id in the archive, the same on every node: made from nothing but its record.
///
/// As text it has 40 characters that a URL carries unchanged. The order of their bytes is the order of the ids: by stamp, then
/// topic, partition and offset. They encode 30 bytes: stamp + 1 in 6, a hash of the topic's name in 4, partition in 4, offset in
/// 8. The last 8 are a hash of account, entity, id and type, so that a recreated topic does not give an old id to a new event.
///
/// Stamps that do not fit into 6 bytes use bits of that hash (``Form``): they distinguish events by themselves.
package struct ArchiveID: Hashable, Sendable {
    /// As many characters as every id has.
    package static let length = 40

    /// How the 240 bits are divided. Ids of the usual form never change: clients hold them.
    private enum Form: Equatable {
        /// From 1970 until the year 10750: stamp + 1 in 48 bits, and fields of whole bytes.
        case usual
        /// The last of the 64 characters, then the stamp in 63 bits.
        case late
        /// −1, which is none: eight of the first character, then a bit that is set.
        case unstamped
        /// Eight of the first character, a bit that is not set, then the stamp in 63 bits, counted from the least one.
        case early

        init(stamp: Int64) {
            self =
                switch stamp {
                case ...(-2): .early
                case -1: .unstamped
                case 0..<firstLateStamp: .usual
                default: .late
                }
        }

        /// Partition and offset have a bit that is never set, in the forms that have enough bits.
        var hasSignBits: Bool { self == .usual || self == .late }

        /// How many bits of the hash fit.
        var checkBits: UInt64 {
            switch self {
            case .usual, .unstamped: 64
            case .late: 43
            case .early: 2
            }
        }
    }

    /// From here on the usual form would begin with the last character.
    package static let firstLateStamp: Int64 = 63 << 42 - 1

    /// The record's time stamp in ms; −1 where it has none.
    package let stamp: Int64
    /// Of the topic's name: ``hash(ofTopic:)``.
    package let topic: UInt32
    package let partition: Int32
    package let offset: Int64
    /// Of account and event: ``hash(of:account:)``, as many of its lowest bits as fit.
    package let check: UInt64

    package init(stamp: Int64, topic: UInt32, partition: Int32, offset: Int64, check: UInt64) {
        precondition(partition >= 0 && offset >= 0, "a record has a partition and an offset")
        self.stamp = stamp
        self.topic = topic
        self.partition = partition
        self.offset = offset
        let bits = Form(stamp: stamp).checkBits
        self.check = bits == 64 ? check : check & (1 << bits - 1)
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

    /// Appends its 40 characters; allocates only where the array has too little capacity.
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
        var text = SextetWriter()
        let form = Form(stamp: stamp)
        switch form {
        case .usual: text.put(UInt64(stamp + 1), bits: 48)
        case .late:
            text.put(0x3F, bits: 6)
            text.put(UInt64(stamp), bits: 63)
        case .unstamped: text.put(1, bits: 49)
        case .early:
            text.put(0, bits: 49)
            text.put(UInt64(stamp - .min), bits: 63)
        }
        text.put(UInt64(topic), bits: 32)
        text.put(UInt64(partition), bits: form.hasSignBits ? 32 : 31)
        text.put(UInt64(offset), bits: form.hasSignBits ? 64 : 63)
        text.put(check, bits: form.checkBits)
        if form == .unstamped { text.put(0, bits: 1) }
        return text.characters
    }

    /// Decodes what a client sent; nil when no node can have created it. Allocates nothing.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.length else { return nil }
        guard var text = SextetReader(text) else { return nil }
        let form: Form
        let stamp: Int64
        let first = text.take(bits: 48)
        switch first {
        case 0 where text.take(bits: 1) == 1: (form, stamp) = (.unstamped, -1)
        case 0: (form, stamp) = (.early, .min + Int64(text.take(bits: 63)))
        case (63 << 42)...:
            form = .late
            stamp = Int64((first & (1 << 42 - 1)) << 21 | text.take(bits: 21))
        default: (form, stamp) = (.usual, Int64(first) - 1)
        }
        guard Form(stamp: stamp) == form else { return nil }
        let topic = UInt32(text.take(bits: 32))
        guard let partition = Int32(exactly: text.take(bits: form.hasSignBits ? 32 : 31)),
            let offset = Int64(exactly: text.take(bits: form.hasSignBits ? 64 : 63))
        else { return nil }
        self.init(
            stamp: stamp, topic: topic, partition: partition, offset: offset, check: text.take(bits: form.checkBits))
    }

    package init?(_ text: String) { self.init(text.utf8Span.span) }
}

/// The 64 characters of base64url, in the order of their bytes, for six bits each.
private struct SextetWriter {
    private(set) var characters = InlineArray<40, UInt8>(repeating: 0)
    private var index = 0
    private var held: UInt64 = 0
    private var heldBits: UInt64 = 0

    /// Appends the lowest bits of a field, the highest of them first.
    mutating func put(_ field: UInt64, bits: UInt64) {
        var left = bits
        while left > 0 {
            let taken = min(left, 6 - heldBits)
            left -= taken
            held = held << taken | field >> left & (1 << taken - 1)
            heldBits += taken
            guard heldBits == 6 else { return }
            characters[index] = Self.character(of: UInt8(held))
            (index, held, heldBits) = (index + 1, 0, 0)
        }
    }

    private static func character(of sextet: UInt8) -> UInt8 {
        switch sextet {
        case 0: UInt8(ascii: "-")
        case 1...10: UInt8(ascii: "0") + sextet - 1
        case 11...36: UInt8(ascii: "A") + sextet - 11
        case 37: UInt8(ascii: "_")
        default: UInt8(ascii: "a") + sextet - 38
        }
    }

    static func sextet(of character: UInt8) -> UInt8? {
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

/// Returns what was given to a ``SextetWriter``.
private struct SextetReader {
    private var sextets = InlineArray<40, UInt8>(repeating: 0)
    private var index = 0
    private var held: UInt64 = 0
    private var heldBits: UInt64 = 0

    /// Nil: a character is of another alphabet.
    init?(_ text: Span<UInt8>) {
        for index in sextets.indices {
            guard let sextet = SextetWriter.sextet(of: text[index]) else { return nil }
            sextets[index] = sextet
        }
    }

    /// The next bits.
    mutating func take(bits: UInt64) -> UInt64 {
        var field: UInt64 = 0
        var left = bits
        while left > 0 {
            if heldBits == 0 {
                held = UInt64(sextets[index])
                (index, heldBits) = (index + 1, 6)
            }
            let taken = min(left, heldBits)
            left -= taken
            heldBits -= taken
            field = field << taken | held >> heldBits & (1 << taken - 1)
        }
        return field
    }
}

extension ArchiveID: Comparable {
    /// As the bytes of their texts.
    package static func < (left: ArchiveID, right: ArchiveID) -> Bool {
        (left.stamp, left.topic, left.partition, left.offset, left.check)
            < (right.stamp, right.topic, right.partition, right.offset, right.check)
    }
}

/// Creates the ids of a node's events: it knows the topics that partitions are named by.
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
