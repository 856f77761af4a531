import CRdKafka
import KafkaLogs
import Synchronization

/// Writes records: for the demo's feed, the bench and tests. The gateway itself never writes.
///
/// Confined to one thread or queue at a time.
package final class Producer {
    /// The maximum of records that wait for the broker. Beyond it `produce` returns false.
    package static let maximumQueued = 100_000

    private let client: ClientHandle
    private let counters: DeliveryCounters
    private let brokers: String
    private var reminder = ProducerReminder()
    var pointer: OpaquePointer { unsafe client.pointer }

    /// `properties` are librdkafka's. They override the defaults: all replicas acknowledge every record, and it is sent at once.
    package init(brokers: String, _ properties: [(String, String)] = []) throws(KafkaError) {
        let counters = DeliveryCounters()
        let defaults = [
            ("client.id", "livegate-producer"), ("enable.idempotence", "true"), ("linger.ms", "0"),
            ("reconnect.backoff.max.ms", "1000"), ("socket.nagle.disable", "true"),
            ("queue.buffering.max.messages", String(Self.maximumQueued)),
        ]
        client = try ClientHandle(
            RD_KAFKA_PRODUCER, defaults + properties + [("bootstrap.servers", brokers)], deliveries: counters)
        self.counters = counters
        self.brokers = brokers
    }

    /// Requests the leaders of a topic's partitions, so that its first record does not wait for them. By itself librdkafka asks
    /// when it has a record, and continues 0.3 to 0.5 s later (measured with 2.0.2 and its embedded broker).
    ///
    /// Blocks.
    @discardableResult
    package func learnLeaders(of topic: String, within milliseconds: Int32 = 1_000) -> TopicAnswer {
        guard let handle = unsafe rd_kafka_topic_new(pointer, topic, nil) else { return .none }
        defer { unsafe rd_kafka_topic_destroy(handle) }
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(pointer, 0, handle, &answer, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer else { return .none }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        guard unsafe metadata.pointee.topic_cnt == 1 else { return .missing }
        let found = unsafe metadata.pointee.topics[0]
        if unsafe found.partition_cnt > 0 { return .known }
        return unsafe found.err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? .forbidden : .missing
    }

    /// What a broker reports about a topic.
    package enum TopicAnswer: Sendable {
        /// It is there, with the leaders of its partitions.
        case known
        /// It is not there, or not yet on the broker that was asked.
        case missing
        /// We may not see whether it is there.
        case forbidden
        /// No broker answered within the time.
        case none
    }

    /// Hands a record over. Returns false if `maximumQueued` records wait; then `poll` and try again.
    ///
    /// The key selects the partition if none is given, and without a key it is random. A nil value is a tombstone.
    package func produce(
        topic: String, partition: Int32? = nil, key: [UInt8]? = nil, value: [UInt8]?,
        headers: [(name: String, value: [UInt8]?)] = [], timestamp: Int64 = 0
    ) throws(KafkaError) -> Bool {
        let list = headers.isEmpty ? nil : unsafe rd_kafka_headers_new(headers.count)
        for (name, value) in headers {
            unsafe Self.withBytes(of: value) {
                _ = unsafe rd_kafka_header_add(list, name, -1, $0, value == nil ? 0 : value!.count)
            }
        }
        let code = unsafe Self.withBytes(of: key) { keyBytes in
            unsafe Self.withBytes(of: value) { valueBytes in
                unsafe crdkafka_produce(
                    client.pointer, topic, partition ?? -1, timestamp, keyBytes, key?.count ?? 0, valueBytes,
                    value?.count ?? 0, list)
            }
        }
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return true }
        if let list = unsafe list { unsafe rd_kafka_headers_destroy(list) }
        if code == RD_KAFKA_RESP_ERR__QUEUE_FULL { return false }
        throw .request(what: "produce to \(topic)", code: code.symbol, reason: code.sentence)
    }

    /// A pointer to the bytes, nil for nil; empty is not nil.
    private static func withBytes<R>(of bytes: [UInt8]?, _ body: (UnsafeRawPointer?) -> R) -> R {
        guard let bytes else { return body(nil) }
        if bytes.isEmpty { return unsafe [UInt8(0)].withUnsafeBytes { unsafe body($0.baseAddress) } }
        return unsafe bytes.withUnsafeBytes { unsafe body($0.baseAddress) }
    }

    /// Handles delivery reports. Waits for the first one for at most this time.
    package func poll(_ milliseconds: Int32 = 0) {
        _ = unsafe rd_kafka_poll(client.pointer, milliseconds)
        remind()
    }

    /// Gives the client its first addresses again when no broker answers it, so that waiting records are sent even after the
    /// longest outage. A caller that has something to deliver polls.
    private func remind() {
        guard KafkaLibrary.forgetsBrokers,
            reminder.note(waiting: waiting, delivered: delivered, at: Moment.now.monotonic)
        else { return }
        _ = unsafe rd_kafka_brokers_add(client.pointer, brokers)
    }

    /// Waits until everything is delivered or has failed; false if the deadline came first.
    package func flush(within milliseconds: Int32) -> Bool {
        unsafe rd_kafka_flush(client.pointer, milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Records acknowledged by the broker.
    package var delivered: Int { counters.delivered.load(ordering: .relaxed) }
    /// Records that could not be delivered.
    package var failed: Int { counters.failed.load(ordering: .relaxed) }
    package var lastFailure: String? { counters.lastFailure.withLock { $0 } }
    /// Records that wait for the broker.
    package var waiting: Int { unsafe Int(rd_kafka_outq_len(client.pointer)) }
    package func takeNotices() -> [KafkaNotice] { client.notices.take().notices }
}

@available(*, unavailable)
extension Producer: Sendable {}

/// For a producer made with `transactional.id`. All of it blocks.
extension Producer {
    package func beginTransactions(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("init transactions", rd_kafka_init_transactions(pointer, milliseconds))
    }

    package func beginTransaction() throws(KafkaError) {
        try unsafe check("begin transaction", rd_kafka_begin_transaction(pointer))
    }

    package func commitTransaction(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("commit transaction", rd_kafka_commit_transaction(pointer, milliseconds))
    }

    package func abortTransaction(within milliseconds: Int32 = 20_000) throws(KafkaError) {
        try unsafe check("abort transaction", rd_kafka_abort_transaction(pointer, milliseconds))
    }

    private func check(_ what: String, _ failure: OpaquePointer?) throws(KafkaError) {
        guard let failure = unsafe failure else { return }
        defer { unsafe rd_kafka_error_destroy(failure) }
        throw .request(
            what: what, code: (unsafe rd_kafka_error_code(failure)).symbol,
            reason: unsafe String(cString: rd_kafka_error_string(failure)))
    }
}

/// What became of the records that a producer accepted.
final class DeliveryCounters: Sendable {
    let delivered = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let lastFailure = Mutex<String?>(nil)
}

/// Called by the thread that polls the producer.
func deliveryCallback(
    _ client: OpaquePointer?, _ message: UnsafePointer<rd_kafka_message_t>?, _ context: UnsafeMutableRawPointer?
) {
    guard let counters = unsafe CallbackContext.behind(context)?.deliveries, let message = unsafe message else {
        return
    }
    let code = unsafe message.pointee.err
    if code == RD_KAFKA_RESP_ERR_NO_ERROR {
        counters.delivered.add(1, ordering: .relaxed)
    } else {
        counters.failed.add(1, ordering: .relaxed)
        counters.lastFailure.withLock { $0 = "\(code.sentence) (\(code.symbol))" }
    }
}
