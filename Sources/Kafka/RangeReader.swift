import CRdKafka
import KafkaLogs

/// Reads parts of logs again, from requested offsets, on a separate client. Every call blocks, so it needs a thread that may
/// block.
///
/// Partitions requested in two successive calls are fetched ahead between them, so a long range is read at the brokers' speed.
@safe
package final class RangeReader {
    /// Where a partition is to be read from.
    package struct Start: Sendable {
        package let partition: PartitionName
        package let offset: Int64

        package init(_ partition: PartitionName, at offset: Int64) {
            self.partition = partition
            self.offset = offset
        }
    }

    /// What became of a partition in one call.
    package enum Outcome: Equatable, Sendable {
        /// Records before this offset were handed over, or there are none.
        case read(next: Int64)
        /// The offset that was asked for is not in the log.
        case outOfRange
        /// The library could not make records of the data at that offset.
        case unreadable
    }

    package struct Bounds: Equatable, Sendable {
        package let start: Int64
        /// The last stable offset.
        package let end: Int64

        package var range: Range<Int64> { start..<end }
    }

    /// Records in one call at most.
    package static let maximumRecords = 8_192
    /// Bytes of values after which a call ends.
    static let maximumBytes = 8 << 20
    /// The timeout of a question to one leader.
    static let questionMilliseconds: Int32 = 2_000

    private let client: ClientHandle
    private let names: [String]
    private let topics: TopicHandles
    private let indexes: [String: Int]
    /// The next position of each partition that the client reads.
    private var positions: [PartitionName: Int64] = [:]

    /// Topics have the numbers of ``ConsumerSettings/orderedTopics``.
    package init(_ settings: ConsumerSettings) throws(KafkaError) {
        client = try ClientHandle(
            RD_KAFKA_CONSUMER, try settings.allProperties() + [("client.id", "livegate-archive")])
        unsafe rd_kafka_poll_set_consumer(client.pointer)
        names = settings.orderedTopics
        topics = try TopicHandles(client, names)
        indexes = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($0.element, $0.offset) })
    }

    // MARK: - Questions

    /// Where a log begins and ends. Nil when its leader does not answer.
    package func bounds(of partition: PartitionName) -> Bounds? {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = unsafe rd_kafka_query_watermark_offsets(
            client.pointer, names[Int(partition.topic)], partition.number, &low, &high, Self.questionMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= low else { return nil }
        return Bounds(start: low, end: high)
    }

    /// The first record with this time stamp or a later one, in milliseconds since 1970. `silent` when the leader does not
    /// answer. librdkafka's embedded broker knows no times and answers `end`.
    package func first(of partition: PartitionName, since time: Int64) -> OffsetAnswer {
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        let entry = unsafe rd_kafka_topic_partition_list_add(list, names[Int(partition.topic)], partition.number)
        unsafe entry?.pointee.offset = time
        let code = unsafe rd_kafka_offsets_for_times(client.pointer, list, Self.questionMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let entry = unsafe entry,
            unsafe entry.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR
        else { return .silent }
        let offset = unsafe entry.pointee.offset
        return offset >= 0 ? .offset(offset) : .end
    }

    // MARK: - Records

    /// Continues to read these partitions: at most `maximumRecords` in total, for as long as records arrive, and no longer than
    /// the time. Returns the outcome of each partition, in their order.
    package func read(
        _ starts: [Start], maximumRecords: Int = maximumRecords, milliseconds: Int64, _ body: (borrowing Record) -> Void
    ) -> [Outcome] {
        assign(starts)
        var outcomes: [PartitionName: Outcome] = [:]
        var open = Set(starts.map(\.partition))
        var begun: [PartitionName: Int64] = [:]
        for start in starts {
            begun[start.partition] = start.offset
            outcomes[start.partition] = .read(next: start.offset)
        }
        let deadline = ContinuousClock.now + .milliseconds(milliseconds)
        var (records, bytes) = (0, 0)
        while !open.isEmpty, records < maximumRecords, bytes < Self.maximumBytes {
            let left = (deadline - .now).milliseconds
            // Consume what has already arrived; after that, the caller first has records to store.
            let wait = records > 0 ? min(left, 10) : left
            guard left > 0, let message = unsafe rd_kafka_consumer_poll(client.pointer, Int32(wait)) else { break }
            let index = unsafe topic(of: message)
            let code = unsafe message.pointee.err
            let (number, offset) = unsafe (message.pointee.partition, message.pointee.offset)
            // Destroys the message.
            let record = unsafe Record(message, topic: index.map { names[$0] } ?? "", index: UInt16(index ?? 0))
            guard let index else { continue }
            let name = PartitionName(topic: UInt16(index), number: number)
            guard let position = positions[name] else { continue }
            switch code {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
                guard offset >= position else { continue }
                body(record)
                records += 1
                bytes += record.valueByteCount
                positions[name] = offset + 1
                outcomes[name] = .read(next: offset + 1)
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                open.remove(name)
                guard offset >= position else { continue }
                positions[name] = offset
                outcomes[name] = .read(next: offset)
            case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: fail(begun[name], name, .outOfRange, &outcomes, &open)
            case let code where code.isUnreadableBatch: fail(begun[name], name, .unreadable, &outcomes, &open)
            default: break
            }
        }
        _ = client.notices.take()
        return starts.map { outcomes[$0.partition] ?? .read(next: $0.offset) }
    }

    /// Records handed over before the failure remain valid, and the next call starts again after them.
    private func fail(
        _ start: Int64?, _ name: PartitionName, _ outcome: Outcome, _ outcomes: inout [PartitionName: Outcome],
        _ open: inout Set<PartitionName>
    ) {
        open.remove(name)
        positions[name] = nil
        unassign([name])
        if case .read(let next)? = outcomes[name], next == start { outcomes[name] = outcome }
    }

    private func topic(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> Int? {
        guard let topic = unsafe message.pointee.rkt, let name = unsafe rd_kafka_topic_name(topic) else { return nil }
        return indexes[unsafe String(cString: name)]
    }

    /// Leaves partitions alone whose position has not changed.
    private func assign(_ starts: [Start]) {
        let wanted = Set(starts.map(\.partition))
        let moved = starts.filter { positions[$0.partition] != $0.offset }
        let stopped =
            positions.keys.filter { !wanted.contains($0) } + moved.map(\.partition).filter { positions[$0] != nil }
        if !stopped.isEmpty {
            unassign(stopped)
            for name in stopped { positions[name] = nil }
        }
        guard !moved.isEmpty else { return }
        let list = unsafe list(of: moved)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        if let failure = unsafe rd_kafka_incremental_assign(client.pointer, list) {
            unsafe rd_kafka_error_destroy(failure)
        }
        for start in moved { positions[start.partition] = start.offset }
    }

    private func unassign(_ names: [PartitionName]) {
        let list = unsafe list(of: names.map { Start($0, at: 0) })
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        if let failure = unsafe rd_kafka_incremental_unassign(client.pointer, list) {
            unsafe rd_kafka_error_destroy(failure)
        }
    }

    private func list(of starts: [Start]) -> UnsafeMutablePointer<rd_kafka_topic_partition_list_t>? {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(starts.count))
        for start in starts {
            let entry = unsafe rd_kafka_topic_partition_list_add(
                list, names[Int(start.partition.topic)], start.partition.number)
            unsafe entry?.pointee.offset = start.offset
        }
        return unsafe list
    }
}

@available(*, unavailable)
extension RangeReader: Sendable {}
