import CRdKafka
import Synchronization

/// What became of the records that a producer took.
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
