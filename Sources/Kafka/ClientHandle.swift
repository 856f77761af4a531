import CRdKafka
import Synchronization

/// The owner of one `rd_kafka_t`: made once, destroyed once, when the last user lets go.
///
/// SAFETY: librdkafka documents `rd_kafka_t` as completely thread-safe (rdkafka.h, INTRODUCTION.md "Threads and
/// callbacks"); the pointer never changes, and nothing else is stored here that could.
@safe
final class ClientHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let notices: NoticeQueue
    private let context: Unmanaged<CallbackContext>

    /// How long an owner waits for the end of its client. Threads end within 0.1 s, unless they never do.
    private static let closeMilliseconds: Int32 = 1_000

    /// `deliveries` counts the reports of a producer.
    init(
        _ type: rd_kafka_type_t, _ properties: [(String, String)], deliveries: DeliveryCounters? = nil
    ) throws(KafkaError) {
        let notices = NoticeQueue()
        let context = CallbackContext(
            notices: notices, deliveries: deliveries,
            diagnosis: BrokerErrorDiagnosis(properties))
        var configuration = ClientConfiguration()
        try configuration.set(properties)
        configuration.send(to: context)
        if deliveries != nil { configuration.reportDeliveries() }
        unsafe pointer = try configuration.makeClient(type)
        self.notices = notices
        unsafe self.context = .passRetained(context)
    }

    /// Waits for librdkafka's threads a little. If they do not end, they are left, and with them what they may call.
    deinit {
        let ended = unsafe crdkafka_destroy_within(pointer, Self.closeMilliseconds) != 0
        if ended { unsafe context.release() }
    }

    /// Set when librdkafka has given up for good: the process ends with it.
    var fatalError: String? {
        let capacity = 512
        var text = [CChar](repeating: 0, count: capacity)
        let code = unsafe rd_kafka_fatal_error(pointer, &text, capacity)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : "\(string(from: text)) (\(code.symbol))"
    }
}

/// What the C callbacks find behind their opaque pointer. Outlives the client, whose handle owns it.
final class CallbackContext: Sendable {
    let notices: NoticeQueue
    let deliveries: DeliveryCounters?
    let diagnosis: BrokerErrorDiagnosis

    init(notices: NoticeQueue, deliveries: DeliveryCounters?, diagnosis: BrokerErrorDiagnosis) {
        self.notices = notices
        self.deliveries = deliveries
        self.diagnosis = diagnosis
    }

    var pointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    static func behind(_ pointer: UnsafeMutableRawPointer?) -> CallbackContext? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<CallbackContext>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// Called by the thread that drains the queue.
func errorCallback(
    _ client: OpaquePointer?, _ code: CInt, _ text: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?
) {
    guard let context = unsafe CallbackContext.behind(context) else { return }
    let code = rd_kafka_resp_err_t(code)
    guard !isTopicOrGroupMatter(code) else { return }
    guard code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN else { return context.notices.postAllBrokersDown() }
    let text = unsafe text.map { unsafe String(cString: $0) } ?? ""
    context.notices.post(context.diagnosis.notice(code: code, text: text))
}

/// Errors that arrive here too but do not matter: the metadata refresh finds topics itself, and there is no consumer group.
private func isTopicOrGroupMatter(_ code: rd_kafka_resp_err_t) -> Bool {
    switch code {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
        true
    default: false
    }
}

/// Called by any thread of librdkafka.
func logCallback(
    _ client: OpaquePointer?, _ level: CInt, _ facility: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?
) {
    guard let context = unsafe CallbackContext.behind(rd_kafka_opaque(client)) else { return }
    let facility = unsafe facility.map { unsafe String(cString: $0) } ?? ""
    let text = unsafe text.map { unsafe String(cString: $0) } ?? ""
    if facility == "FAIL", let guess = context.diagnosis.guess(line: text) { context.notices.post(guess) }
    let notice = LineDiagnosis.notice(level: level, facility: facility, text: text)
    if notice.cause == .library { context.notices.post(line: notice) } else { context.notices.post(notice) }
}

extension rd_kafka_resp_err_t {
    /// librdkafka's name of the error, such as `_TIMED_OUT`.
    var symbol: String { unsafe String(cString: rd_kafka_err2name(self)) }
    /// librdkafka's sentence for it.
    var sentence: String { unsafe String(cString: rd_kafka_err2str(self)) }
}
