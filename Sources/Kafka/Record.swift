import CRdKafka
import KafkaLogs

/// One record, borrowed while `Consumer.drain` runs its body; nothing of it may be kept but copies.
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

    /// Milliseconds since 1970, by the producer's clock or the broker's as the topic says, or nil if it has none.
    package var timestamp: Int64? {
        let timestamp = unsafe rd_kafka_message_timestamp(message, nil)
        return timestamp < 0 ? nil : timestamp
    }

    /// Bytes of the value; 0 also if there is none.
    package var valueByteCount: Int { unsafe message.pointee.len }

    /// Replaces the contents of `buffer` by the value; false, and empty, if the record has none (a tombstone).
    package func copyValue(into buffer: inout [UInt8]) -> Bool {
        unsafe Self.copy(message.pointee.payload, message.pointee.len, into: &buffer)
    }

    /// Replaces the contents of `buffer` by the key; false, and empty, if the record has none.
    package func copyKey(into buffer: inout [UInt8]) -> Bool {
        unsafe Self.copy(message.pointee.key, message.pointee.key_len, into: &buffer)
    }

    /// Replaces the contents of `buffer` by the first value of the header; false, and empty, if there is none or it is
    /// null. Names are compared bytewise.
    package func copyHeader(_ name: String, into buffer: inout [UInt8]) -> Bool {
        var headers: OpaquePointer?
        var value: UnsafeRawPointer?
        var count = 0
        guard unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR,
            unsafe rd_kafka_header_get(headers, 0, name, &value, &count) == RD_KAFKA_RESP_ERR_NO_ERROR
        else {
            buffer.removeAll(keepingCapacity: true)
            return false
        }
        return unsafe Self.copy(value, count, into: &buffer)
    }

    private static func copy(_ bytes: UnsafeRawPointer?, _ count: Int, into buffer: inout [UInt8]) -> Bool {
        buffer.removeAll(keepingCapacity: true)
        guard let bytes = unsafe bytes else { return false }
        unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return true
    }
}
