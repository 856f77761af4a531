import CRdKafka
import KafkaLogs

extension ProbeClient {
    /// The first record at or after each offset. Blocks.
    ///
    /// `body` receives the records that are exactly at the offsets, with the index of their question.
    func records(
        _ questions: [RecordQuestion], until deadline: ContinuousClock.Instant,
        _ body: (Int, borrowing Record) -> Void = { _, _ in }
    ) -> [RecordAnswer] {
        var walk = RecordWalk(questions)
        assign(walk.starts)
        while !walk.isOver {
            let wait = (deadline - .now).milliseconds
            guard wait > 0, let message = unsafe rd_kafka_consumer_poll(client.pointer, Int32(wait)) else { break }
            // Destroys the message.
            let number = unsafe topic(of: message)
            let record = unsafe Record(
                message, topic: number.map { topicName($0) } ?? "", index: UInt16(number ?? 0))
            guard let number, let answer = unsafe Self.answer(message) else { continue }
            let name = PartitionName(topic: UInt16(number), number: unsafe message.pointee.partition)
            let offset = unsafe message.pointee.offset
            if case .record = answer {
                for index in walk.indices(of: name, at: offset) { body(index, record) }
            }
            switch walk.take(answer, of: name, at: offset) {
            case .readOn: break
            case .read(let next):
                release(name)
                assignAgain(RecordQuestion(partition: name, offset: next))
            case .release: release(name)
            }
        }
        unsafe rd_kafka_assign(client.pointer, nil)
        discardMessages()
        return walk.answers
    }

    private func topic(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> Int? {
        guard let topic = unsafe message.pointee.rkt, let name = unsafe rd_kafka_topic_name(topic) else { return nil }
        return indexes[unsafe String(cString: name)]
    }

    private func assign(_ questions: [RecordQuestion]) {
        let list = unsafe list(of: questions)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        unsafe rd_kafka_assign(client.pointer, list)
    }

    private func assignAgain(_ question: RecordQuestion) {
        let list = unsafe list(of: [question])
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        if let failure = unsafe rd_kafka_incremental_assign(client.pointer, list) {
            unsafe rd_kafka_error_destroy(failure)
        }
    }

    private func list(
        of questions: [RecordQuestion]
    ) -> UnsafeMutablePointer<rd_kafka_topic_partition_list_t>? {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(questions.count))
        for question in questions {
            let entry = unsafe rd_kafka_topic_partition_list_add(
                list, topicName(Int(question.partition.topic)), question.partition.number)
            unsafe entry?.pointee.offset = question.offset
        }
        return unsafe list
    }

    /// Stops reading the partition: all its questions are answered.
    private func release(_ name: PartitionName) {
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        unsafe rd_kafka_topic_partition_list_add(list, topicName(Int(name.topic)), name.number)
        if let failure = unsafe rd_kafka_incremental_unassign(client.pointer, list) {
            unsafe rd_kafka_error_destroy(failure)
        }
    }

    private static func answer(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> RecordAnswer? {
        switch unsafe message.pointee.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR: unsafe .record(RecordMark(message))
        case RD_KAFKA_RESP_ERR__PARTITION_EOF: .end(at: unsafe message.pointee.offset)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: .outOfRange
        case let code where code.isUnreadableBatch: .unreadable
        default: nil
        }
    }
}

extension RecordMark {
    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        var check = RecordCheck()
        unsafe check.add(UnsafeRawBufferPointer(start: message.pointee.key, count: message.pointee.key_len))
        unsafe check.add(UnsafeRawBufferPointer(start: message.pointee.payload, count: message.pointee.len))
        unsafe self.init(
            offset: message.pointee.offset, timestamp: rd_kafka_message_timestamp(message, nil), check: check.sum)
    }
}

/// A checksum that distinguishes contents which are not crafted to collide: FNV-1a over words of 8 bytes, lengths included.
struct RecordCheck {
    private(set) var sum: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
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
        // The shift moves the upper bits down, which a multiplication alone never does.
        sum = (sum ^ word) &* 0x0000_0100_0000_01b3
        sum ^= sum >> 29
    }
}
