import CRdKafka
import Glibc
import KafkaLogs

/// Reads every partition of the topics, without a group and without waiting for a broker.
///
/// Confined to one queue. It only transfers records: its `LogTracker` decides what is known of the logs and what is to be read.
/// The caller drains whenever the descriptor of `enableWake` becomes readable. It also runs the refreshes: it calls
/// `beginRefresh`, has `probes` answer on another thread, and passes each answer to `receive`, until that returns nil. After each
/// drain and each answer it collects changes and notices.
///
/// librdkafka bounds the memory: `queued.max.messages.kbytes` (64 MiB) for all partitions together, and beyond that one fetch of
/// each broker (`fetch.max.bytes`, 50 MiB).
@safe
package final class Consumer {
    /// Records in one drain at most: enough to be worth the wake, few enough that other work gets its turn.
    package static let maximumBatch = 1_024
    /// How long "all brokers down" must last before the consumer believes it. One cut connection already causes that report.
    static let outageDebounce = Duration.seconds(3)
    /// How often the operator is notified of an outage that lasts.
    static let outageReminder = Duration.seconds(10)

    let handle: ConsumerHandle
    /// What is known of the logs. Reading it from another module copies it; for each record use ``hasChanges`` instead.
    package var tracker: LogTracker
    private var indexes: [OpaquePointer: Int]
    private var lastIndex = 0
    /// The partition that ``noteHighWatermarks()`` begins with.
    private var firstWatermark = 0
    private let batch: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    private var reach = BrokerReach()

    /// Asks brokers for this consumer, on another thread.
    package let probes: ProbeClient

    package init(_ settings: ConsumerSettings) throws(KafkaError) {
        handle = try ConsumerHandle(settings)
        probes = try ProbeClient(handle)
        tracker = LogTracker(
            topics: handle.topics.map(\.name), windowMilliseconds: settings.retention?.milliseconds,
            canAskIDs: KafkaLibrary.canAskTopicIDs)
        unsafe indexes = [:]
        unsafe batch = .allocate(capacity: Self.maximumBatch)
        unsafe batch.initialize(repeating: nil)
        for (index, topic) in handle.topics.enumerated() { unsafe indexes[topic.pointer] = index }
    }

    deinit {
        unsafe batch.deallocate()
    }

    /// Set when librdkafka has failed for good. The process must then end with status 70.
    package var fatalError: String? { handle.client.fatalError }

    /// Makes librdkafka fail as it would by itself, so that tests can check the consequences.
    package func injectFatalError(_ reason: String) {
        unsafe rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR__FATAL, reason)
    }

    /// Makes librdkafka write to `descriptor` when a message waits and none did before. Also writes once at the start.
    ///
    /// The descriptor is non-blocking and stays open until `disableWake`. Each write is 8 bytes, the number 1, so an eventfd
    /// works as well as a pipe. After a wake, empty the descriptor, then drain until a drain returns fewer than its maximum. Only
    /// then does the next record cause another write.
    package func enableWake(descriptor: Int32) {
        var one: UInt64 = 1
        unsafe rd_kafka_queue_io_event_enable(handle.queue, descriptor, &one, MemoryLayout<UInt64>.size)
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)  // Full means that a wake is waiting already.
    }

    package func disableWake() {
        unsafe rd_kafka_queue_io_event_enable(handle.queue, -1, nil, 0)
    }

    // MARK: - Records

    /// Drains the waiting messages without blocking, and hands each record to `body` in the order of its partition. `body` first
    /// calls `takeChanges` if there are any: they come before the record.
    ///
    /// Returns the number of drained messages, records and ends of partitions alike. If that is `maximum`, more may wait, and no
    /// further wake comes.
    package func drain(maximum: Int = maximumBatch, _ body: (borrowing Record) -> Void) -> Int {
        let count = unsafe rd_kafka_consume_batch_queue(
            handle.queue, 0, batch.baseAddress, min(maximum, Self.maximumBatch))
        guard count > 0 else { return 0 }
        reach.hasAnswered = true
        let now = Moment.now
        for index in 0..<count {
            guard let message = unsafe batch[index] else { continue }
            guard unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                unsafe note(message, now)
                unsafe rd_kafka_message_destroy(message)
                continue
            }
            guard let topic = unsafe topic(of: message.pointee.rkt),
                unsafe read(message, topic, isLast: isLastOfRun(index, count), now)
            else {
                unsafe rd_kafka_message_destroy(message)
                continue
            }
            body(unsafe Record(message, topic: handle.topics[topic].name, index: UInt16(topic)))
        }
        tracker.endBatch()
        assign()
        return count
    }

    /// Whether the record is to be handed over.
    private func read(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, _ topic: Int, isLast: Bool, _ now: Moment
    ) -> Bool {
        let number = unsafe message.pointee.partition
        let reception = unsafe tracker.read(
            topic, number, offset: message.pointee.offset, timestamp: rd_kafka_message_timestamp(message, nil),
            broker: rd_kafka_message_broker_id(message), isLast: isLast, now)
        if reception == .handOverMarked { tracker.mark(topic, number, unsafe RecordMark(message)) }
        return reception != .drop
    }

    /// Whether the next message of the batch is of another partition or another broker, or no record, or there is none.
    private func isLastOfRun(_ index: Int, _ count: Int) -> Bool {
        guard index + 1 < count, let message = unsafe batch[index], let next = unsafe batch[index + 1] else {
            return true
        }
        return unsafe next.pointee.partition != message.pointee.partition || next.pointee.rkt != message.pointee.rkt
            || next.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR
            || rd_kafka_message_broker_id(next) != rd_kafka_message_broker_id(message)
    }

    /// The index of our topic. Consecutive records are mostly of one topic.
    private func topic(of pointer: OpaquePointer?) -> Int? {
        guard let pointer = unsafe pointer else { return nil }
        if unsafe handle.topics[lastIndex].pointer == pointer { return lastIndex }
        guard let index = unsafe indexes[pointer] else { return nil }
        lastIndex = index
        return index
    }

    /// A message that is no record.
    private func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>, _ now: Moment) {
        guard let topic = unsafe topic(of: message.pointee.rkt) else {
            // Without a topic it concerns the client, or the group, which we never join: no cause for anything.
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR__FATAL {
                handle.client.notices.post(KafkaNotice(.fatal, [(.reason, fatalError ?? "")]))
            }
            return
        }
        let (code, number) = unsafe (message.pointee.err, message.pointee.partition)
        switch code {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            tracker.reachEnd(topic, number, offset: unsafe message.pointee.offset, now)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
            tracker.refuse(topic, number, offset: unsafe message.pointee.offset, now)
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            tracker.forbidReading(topic)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            break  // The next refresh finds out, and knows more.
        default:
            let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? ""
            let reason = "\(text) (\(code.symbol))"
            if code.isUnreadableBatch {
                tracker.fail(topic, number, reason: reason, now)
            } else {
                tracker.trouble(topic, number, reason: reason)
            }
        }
    }

    /// Records of these partitions were handed over, but were treated as older records; see `LogTracker.passOver`.
    package func passOver(_ partitions: Set<PartitionName>) {
        for partition in partitions.sorted() { tracker.passOver(partition, .now) }
    }

    /// Whether the tracker has changes that must be applied before the current record.
    package var hasChanges: Bool { tracker.hasChanges }

    // MARK: - The refresh

    package func beginRefresh() -> Probe { tracker.beginRefresh(.now) }

    /// Handles the answer to a probe. Returns the next probe, or nil when the refresh is over.
    package func receive(_ answer: ProbeAnswer) -> Probe? {
        switch answer {
        case .noMetadata: handle.client.notices.postAllBrokersDown()
        case .metadata: reach.hasAnswered = true
        case .offsets(let answers) where answers.contains(where: { $0.offset != nil }): reach.hasAnswered = true
        case .offsets, .records, .topicIDs: break
        }
        defer { assign() }
        return tracker.receive(answer, .now)
    }

    // MARK: - What has come of it

    /// The operator's notices since the last call. Call it after each drain and each answer.
    package func takeNotices() -> [KafkaNotice] {
        for notice in tracker.takeNotices() { handle.client.notices.post(KafkaNotice(notice)) }
        let (notices, allBrokersDown) = handle.client.notices.take()
        return reach.sort(notices, allBrokersDown: allBrokersDown, at: .now)
    }

    /// Whether answers arrive. Cheap: call it about every half second. `isReading` is false while records wait because of us.
    package func sourceState(isReading: Bool = true) -> KafkaLogs.SourceState {
        if isReading { noteHighWatermarks() }
        return tracker.sourceState(.now, isReading: isReading)
    }

    /// The number of partitions checked in one call, each in about a microsecond: 1,000 partitions within 2 s.
    private static let watermarksPerCall = 256

    /// Passes the high watermarks of fetches to the tracker. Each fetch answer reports how far its partition goes, including
    /// records that an open transaction holds back. The log ends that are requested lie before those records.
    private func noteHighWatermarks() {
        let states = tracker.partitionStates(firstWatermark..<(firstWatermark + Self.watermarksPerCall))
        firstWatermark = states.count < Self.watermarksPerCall ? 0 : firstWatermark + Self.watermarksPerCall
        for state in states {
            var (low, high): (Int64, Int64) = (-1, -1)
            let topic = tracker.topicName(Int(state.partition.topic))
            let code = unsafe rd_kafka_get_watermark_offsets(
                handle.pointer, topic, state.partition.number, &low, &high)
            if code == RD_KAFKA_RESP_ERR_NO_ERROR { tracker.noteHighWatermark(state.partition, high, .now) }
        }
    }

    /// Whether the next refresh must come soon: a question about a partition got no answer, and it is not stalled yet.
    package var suspectsSilence: Bool { tracker.suspectsSilence(.now) }

    /// The partition that has been stalled for longest, and how many are; nil if none is.
    ///
    /// `isHeld`: a transaction holds its records back.
    package var stalledPartitions: (topic: String, partition: Int32, count: Int, isHeld: Bool)? {
        let now = Moment.now
        return tracker.stalledPartitions(now).map {
            let isHeld = tracker.isHeldByTransaction($0.first, now)
            return (tracker.topicName(Int($0.first.topic)), $0.first.number, $0.count, isHeld)
        }
    }

    /// Sorted by their bytes, each once: a topic's index in them is its number in names of partitions.
    package var topics: [String] { handle.topics.map(\.name) }

    /// Since when no broker can be reached, or nil.
    package var unreachableSince: ContinuousClock.Instant? { reach.downSince }

    /// Why, in the words of the log. Nil when no reason was reported.
    package var unreachableReason: String? { reach.explanation }

    // MARK: - Assignment

    /// Gives librdkafka the partitions to read. Its own thread does the work, and other partitions continue undisturbed.
    private func assign() {
        let assignments = tracker.takeAssignments()
        guard !assignments.isEmpty else { return }
        var (stopped, begun): ([(PartitionName, Int64)], [(PartitionName, Int64)]) = ([], [])
        for assignment in assignments {
            switch assignment {
            case .stop(let name): stopped.append((name, Int64(RD_KAFKA_OFFSET_INVALID)))
            case .read(let name, let offset): begun.append((name, offset))
            }
        }
        // Once this call has returned, records fetched for an ended assignment no longer arrive.
        if !stopped.isEmpty {
            let failure = unsafe withList(stopped) { unsafe rd_kafka_incremental_unassign(handle.pointer, $0) }
            unsafe report(failure, "unassign")
        }
        guard !begun.isEmpty else { return }
        let failure = unsafe withList(begun) { unsafe rd_kafka_incremental_assign(handle.pointer, $0) }
        unsafe report(failure, "assign")
    }

    private func withList(
        _ partitions: [(PartitionName, Int64)],
        _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> OpaquePointer?
    ) -> OpaquePointer? {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(partitions.count))
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for (name, offset) in partitions {
            let topic = handle.topics[Int(name.topic)].name
            let entry = unsafe rd_kafka_topic_partition_list_add(list, topic, name.number)
            unsafe entry?.pointee.offset = offset
        }
        return unsafe body(list)
    }

    private func report(_ failure: OpaquePointer?, _ what: String) {
        guard let failure = unsafe failure else { return }
        let reason = "\(what): \(unsafe String(cString: rd_kafka_error_string(failure)))"
        handle.client.notices.post(KafkaNotice(.trouble, [(.reason, reason)]))
        unsafe rd_kafka_error_destroy(failure)
    }
}

@available(*, unavailable)
extension Consumer: Sendable {}
