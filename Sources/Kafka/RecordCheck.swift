import CRdKafka

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
