import CRdKafka
import KafkaLogs

/// One record, borrowed while `Consumer.drain` runs its body. Keep only copies of its contents.
@safe
package struct Record: ~Copyable {
    private let message: UnsafeMutablePointer<rd_kafka_message_t>
    /// Shared by all records of the topic: no allocation.
    package let topic: String
    private let index: UInt16

    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: String, index: UInt16) {
        unsafe self.message = message
        self.topic = topic
        self.index = index
    }

    deinit {
        unsafe rd_kafka_message_destroy(message)
    }

    package var partitionName: PartitionName { PartitionName(topic: index, number: partition) }
    package var partition: Int32 { unsafe message.pointee.partition }
    package var offset: Int64 { unsafe message.pointee.offset }

    /// Milliseconds since 1970, by the clock of the producer or the broker, as the topic is configured. Nil without a time stamp,
    /// which is −1 in Kafka's protocol. Brokers accept any other number, including times before 1970.
    package var timestamp: Int64? {
        let timestamp = unsafe rd_kafka_message_timestamp(message, nil)
        return timestamp == -1 ? nil : timestamp
    }

    /// Bytes of the value; 0 also if there is none.
    package var valueByteCount: Int { unsafe message.pointee.len }

    /// Lends the value to `body`; false, without a call, if the record has none (a tombstone).
    package func readValue(_ body: (Span<UInt8>) -> Void) -> Bool {
        unsafe Self.lend(message.pointee.payload, message.pointee.len, body)
    }

    /// Lends the key to `body`; false, without a call, if the record has none.
    package func readKey(_ body: (Span<UInt8>) -> Void) -> Bool {
        unsafe Self.lend(message.pointee.key, message.pointee.key_len, body)
    }

    /// Lends the first value of the header to `body`; false, without a call, if there is none or it is null. Names are
    /// compared bytewise.
    package func readHeader(_ name: String, _ body: (Span<UInt8>) -> Void) -> Bool {
        var headers: OpaquePointer?
        var value: UnsafeRawPointer?
        var count = 0
        guard unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR,
            unsafe rd_kafka_header_get(headers, 0, name, &value, &count) == RD_KAFKA_RESP_ERR_NO_ERROR
        else { return false }
        return unsafe Self.lend(value, count, body)
    }

    private static func lend(_ bytes: UnsafeRawPointer?, _ count: Int, _ body: (Span<UInt8>) -> Void) -> Bool {
        guard let bytes = unsafe bytes else { return false }
        unsafe body(UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: count).span)
        return true
    }
}
