import CRdKafka
import Glibc

/// Reads every partition of the topics and remembers where it is.
///
/// Confined to one queue, and never waits for a broker: what blocks is done by its `scout`. Starts without partitions;
/// each map that the scout makes is adopted, which assigns what is new. The caller then drains whenever the descriptor
/// of `enableWake` becomes readable, and takes the notices after each drain and each map.
///
/// Memory is bounded by librdkafka: `queued.max.messages.kbytes` (64 MiB) for all partitions together, and what one
/// fetch of each broker brings beyond that (`fetch.max.bytes`, 50 MiB).
@safe
package final class Consumer {
    /// Records taken by one drain at most: enough to pay for the wake, little enough that others get their turn.
    package static let maximumBatch = 1_024
    /// How long "all brokers down" must last before it is believed: one cut connection says it too.
    static let outageDebounce = Duration.seconds(3)
    /// How often an outage that lasts is told.
    static let outageReminder = Duration.seconds(10)
    /// A partition is assigned anew at most once in this time, however often its position is refused.
    static let resetPause = Duration.seconds(1)
    /// Looks between two reminders of a situation that lasts: 30 s at one look in 2 s.
    static let looksBetweenReminders = 15

    let handle: ConsumerHandle
    var topics: [TopicReading]
    private var indexes: [OpaquePointer: Int]
    private var lastIndex = 0
    private let batch: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    var reach = BrokerReach()
    var sourceWatch = SourceWatch(now: WallClock.now)
    var events: [SourceEvent] = []
    /// The cluster's own name for itself; nil until a broker has answered.
    package internal(set) var clusterID: String?
    /// Counts up when anything of `partitionFacts` but `next` has changed.
    package internal(set) var factsVersion = 0
    /// Maps that were adopted.
    var looks = 0

    /// Looks at the cluster for this consumer, on another thread.
    package let scout: Scout

    package init(_ settings: ConsumerSettings) throws(KafkaError) {
        handle = try ConsumerHandle(settings)
        scout = try Scout(handle)
        unsafe indexes = [:]
        topics = handle.topics.map { unsafe TopicReading(name: $0.name, pointer: $0.pointer) }
        unsafe batch = .allocate(capacity: Self.maximumBatch)
        unsafe batch.initialize(repeating: nil)
        for (index, topic) in topics.enumerated() { unsafe indexes[topic.pointer] = index }
    }

    deinit {
        unsafe batch.deallocate()
    }

    /// Set when librdkafka has given up for good. The process is to end with status 70.
    package var fatalError: String? { handle.client.fatalError }

    /// Makes librdkafka write to `descriptor` when something waits and nothing did before; writes once at the start.
    ///
    /// The descriptor is non-blocking and stays open until `disableWake`. What is written is 8 bytes, the number 1, so
    /// that an eventfd will do as well as a pipe. After a wake: empty the descriptor, then drain until a drain takes
    /// fewer than it might; only then does the next record write again.
    package func enableWake(descriptor: Int32) {
        var one: UInt64 = 1
        unsafe rd_kafka_queue_io_event_enable(handle.queue, descriptor, &one, MemoryLayout<UInt64>.size)
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)  // Full means that a wake is waiting already.
    }

    package func disableWake() {
        unsafe rd_kafka_queue_io_event_enable(handle.queue, -1, nil, 0)
    }

    /// Takes what waits, without waiting, and hands each record to `body` in the order of its partition.
    ///
    /// Returns how much was taken, records and ends of partitions alike: if that is `maximum`, more may wait, and no
    /// wake will tell.
    package func drain(maximum: Int = maximumBatch, _ body: (borrowing Record) -> Void) -> Int {
        let count = unsafe rd_kafka_consume_batch_queue(
            handle.queue, 0, batch.baseAddress, min(maximum, Self.maximumBatch))
        guard count > 0 else { return 0 }
        reach.heard = true
        let now = ContinuousClock.now
        for position in 0..<count {
            guard let message = unsafe batch[position] else { continue }
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                guard let index = unsafe index(of: message.pointee.rkt) else {
                    unsafe rd_kafka_message_destroy(message)
                    continue
                }
                unsafe take(message, topic: index, isLast: isLastOfRun(position, count), at: now)
                body(unsafe Record(message, topic: topics[index].name))
            } else {
                unsafe note(message, at: now)
                unsafe rd_kafka_message_destroy(message)
            }
        }
        return count
    }

    /// Whether the next message of the batch is of another partition or another node, or no record, or there is none.
    private func isLastOfRun(_ position: Int, _ count: Int) -> Bool {
        guard position + 1 < count, let message = unsafe batch[position], let next = unsafe batch[position + 1] else {
            return true
        }
        return unsafe next.pointee.partition != message.pointee.partition || next.pointee.rkt != message.pointee.rkt
            || next.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR
            || rd_kafka_message_broker_id(next) != rd_kafka_message_broker_id(message)
    }

    /// Which of our topics it is; consecutive records are mostly of one.
    private func index(of topic: OpaquePointer?) -> Int? {
        guard let topic = unsafe topic else { return nil }
        if topics.indices.contains(lastIndex), unsafe topics[lastIndex].pointer == topic { return lastIndex }
        guard let index = unsafe indexes[topic] else { return nil }
        lastIndex = index
        return index
    }

    /// Takes in a message that is no record.
    private func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>, at now: ContinuousClock.Instant) {
        guard let index = unsafe index(of: message.pointee.rkt) else {
            // Without a topic it is about the client, or about the group, which we never join: no cause of anything.
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR__FATAL { tell(.fatal, [(.reason, fatalError ?? "")]) }
            return
        }
        let (code, number) = unsafe (message.pointee.err, message.pointee.partition)
        switch code {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            unsafe topics[index].advance(number, to: message.pointee.offset, at: now)
            learnFirst(nil, topic: index, partition: number)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
            refused(position: unsafe message.pointee.offset, topic: index, partition: number)
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            topics[index].isUnreadable = true
            tell(.topicUnreadable, [(.topic, topics[index].name)])
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            break  // The scout sees it too, and knows more.
        default:
            let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? ""
            tell(
                .partitionTrouble,
                [(.topic, topics[index].name), (.partition, String(number)), (.reason, "\(text) (\(code.symbol))")])
        }
    }

    func tell(_ cause: KafkaCause, _ facts: [(name: KafkaNotice.Fact, value: String)]) {
        handle.client.notices.post(KafkaNotice(cause, facts))
    }
}

@available(*, unavailable)
extension Consumer: Sendable {}
