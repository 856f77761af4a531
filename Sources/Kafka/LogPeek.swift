import CRdKafka

/// What stands at an offset.
enum PeekAnswer: Equatable {
    /// The first record at the offset or behind it.
    case record(RecordMark)
    /// There is none up to the end of the log.
    case end(at: Int64)
    case outOfRange
    /// No answer within the time.
    case silent

    /// Whether the log goes on behind the offset, without a record at it.
    func isBehind(_ offset: Int64) -> Bool {
        switch self {
        case .record(let mark): mark.offset > offset
        case .end(let end): end > offset
        case .outOfRange, .silent: false
        }
    }
}

/// A second client, which reads single records: the consumer's own position must not move.
///
/// It sees aborted records too: they tell as much of a log as others, and come at once, however many there are.
@safe
final class LogPeek: Sendable {
    struct Place: Hashable {
        var topic: String
        var partition: Int32
        var offset: Int64
    }

    /// Small fetches, because one record is wanted; the broker sends a larger batch nevertheless.
    private static let ownProperties: [(String, String)] = [
        ("client.id", "livegate-peek"), ("group.id", "livegate"), ("isolation.level", "read_uncommitted"),
        ("queued.min.messages", "1"), ("fetch.message.max.bytes", "65536"), ("fetch.wait.max.ms", "10"),
    ]

    private let client: ClientHandle

    init(_ settings: ConsumerSettings) throws(KafkaError) {
        client = try ClientHandle(RD_KAFKA_CONSUMER, try settings.allProperties() + Self.ownProperties)
        unsafe rd_kafka_poll_set_consumer(client.pointer)
    }

    /// The first record at each place or behind it. Blocks.
    func records(at places: [Place], until deadline: ContinuousClock.Instant) -> [PeekAnswer] {
        var answers = [PeekAnswer](repeating: .silent, count: places.count)
        var open: [String: [Int32: Int]] = [:]
        for (index, place) in places.enumerated() { open[place.topic, default: [:]][place.partition] = index }
        var left = places.count
        learnLeaders(of: open.keys, until: deadline)
        assign(places)
        while left > 0 {
            let wait = (deadline - .now).milliseconds
            guard wait > 0, let message = unsafe rd_kafka_consumer_poll(client.pointer, Int32(wait)) else { break }
            defer { unsafe rd_kafka_message_destroy(message) }
            guard let topic = unsafe message.pointee.rkt,
                let name = unsafe rd_kafka_topic_name(topic),
                let index = open[unsafe String(cString: name)]?[unsafe message.pointee.partition],
                answers[index] == .silent, let answer = unsafe Self.answer(message)
            else { continue }
            answers[index] = answer
            left -= 1
            release(places[index])
        }
        unsafe rd_kafka_assign(client.pointer, nil)
        _ = client.notices.take()
        return answers
    }

    /// Assigning to a client that knows no leaders takes half a second.
    private func learnLeaders(of topics: some Sequence<String>, until deadline: ContinuousClock.Instant) {
        for name in topics {
            guard let topic = unsafe rd_kafka_topic_new(client.pointer, name, nil) else { continue }
            defer { unsafe rd_kafka_topic_destroy(topic) }
            var metadata: UnsafePointer<rd_kafka_metadata>?
            let wait = Int32(max(1, (deadline - .now).milliseconds))
            _ = unsafe rd_kafka_metadata(client.pointer, 0, topic, &metadata, wait)
            unsafe rd_kafka_metadata_destroy(metadata)
        }
    }

    private func assign(_ places: [Place]) {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(places.count))
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for place in places {
            let entry = unsafe rd_kafka_topic_partition_list_add(list, place.topic, place.partition)
            unsafe entry?.pointee.offset = place.offset
        }
        unsafe rd_kafka_assign(client.pointer, list)
    }

    /// Has what it wanted.
    private func release(_ place: Place) {
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        unsafe rd_kafka_topic_partition_list_add(list, place.topic, place.partition)
        if let failure = unsafe rd_kafka_incremental_unassign(client.pointer, list) {
            unsafe rd_kafka_error_destroy(failure)
        }
    }

    private static func answer(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> PeekAnswer? {
        switch unsafe message.pointee.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR: unsafe .record(RecordMark(message))
        case RD_KAFKA_RESP_ERR__PARTITION_EOF: .end(at: unsafe message.pointee.offset)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: .outOfRange
        default: nil
        }
    }
}

extension RecordMark {
    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        var check = RecordCheck()
        unsafe check.take(UnsafeRawBufferPointer(start: message.pointee.key, count: message.pointee.key_len))
        unsafe check.take(UnsafeRawBufferPointer(start: message.pointee.payload, count: message.pointee.len))
        unsafe self.init(
            offset: message.pointee.offset, timestamp: rd_kafka_message_timestamp(message, nil), check: check.sum)
    }
}

/// Tells contents apart that are not meant to look alike: FNV-1a over words of 8 bytes, lengths included.
struct RecordCheck {
    private(set) var sum: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        add(UInt64(bytes.count))
        var index = 0
        while index + 8 <= bytes.count {
            unsafe add(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        while index < bytes.count {
            unsafe add(UInt64(bytes[index]))
            index += 1
        }
    }

    private mutating func add(_ word: UInt64) {
        // The shift carries the upper bits down, which a multiplication alone never does.
        sum = (sum ^ word) &* 0x0000_0100_0000_01b3
        sum ^= sum >> 29
    }
}
