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

extension RecordMark {
    /// Whether the record stands where it was read, or may have been removed from there; nil where that is open yet.
    func isKept(_ found: PeekAnswer, end: Int64) -> Bool? {
        if case .record(let mark) = found, mark.offset == offset { return mark == self }
        // Compaction and retention leave nothing behind to judge by.
        return found != .silent && end > offset ? true : nil
    }
}

/// The scout's own client: for all that is not to wait behind the fetches of the consumer, and for reading single records
/// while the consumer's own position must not move.
///
/// A broker answers the requests of one connection one after the other, and an idle fetch takes half a second
/// (`fetch.wait.max.ms`): seven questions in a row took three seconds on the consumer's connection, and a few
/// milliseconds on this one.
///
/// It sees aborted records too: they tell as much of a log as others, and come at once, however many there are.
@safe
final class SideClient: Sendable {
    struct Place: Hashable {
        var topic: String
        var partition: Int32
        var offset: Int64
    }

    /// Small fetches, because one record is wanted; the broker sends a larger batch nevertheless. But not fewer records
    /// than a fetch brings: a full queue puts the partition off for a second in 2.0.2, longer than a look has.
    private static let ownProperties: [(String, String)] = [
        ("client.id", "livegate-scout"), ("isolation.level", "read_uncommitted"),
        ("queued.min.messages", "10000"), ("fetch.message.max.bytes", "65536"), ("fetch.wait.max.ms", "10"),
    ]

    let client: ClientHandle

    init(_ settings: ConsumerSettings) throws(KafkaError) {
        client = try ClientHandle(RD_KAFKA_CONSUMER, try settings.allProperties() + Self.ownProperties)
        unsafe rd_kafka_poll_set_consumer(client.pointer)
    }

    /// Takes what the client has to say about brokers: the consumer's own says the same.
    func hush() {
        while let message = unsafe rd_kafka_consumer_poll(client.pointer, 0) {
            unsafe rd_kafka_message_destroy(message)
        }
        _ = client.notices.take()
    }

    /// The first record at each place or behind it. Blocks.
    func records(at places: [Place], until deadline: ContinuousClock.Instant) -> [PeekAnswer] {
        var answers = [PeekAnswer](repeating: .silent, count: places.count)
        var open: [String: [Int32: Int]] = [:]
        for (index, place) in places.enumerated() { open[place.topic, default: [:]][place.partition] = index }
        var left = places.count
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
        hush()
        return answers
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
