import CRdKafka
import KafkaLogs

/// Asks brokers once what a node needs of them, before it is started: every call blocks.
package final class ClusterCheck {
    /// What a topic is to our login.
    package enum TopicState: Equatable, Sendable {
        case readable(partitions: Int)
        case missing
        /// We may not see it.
        case hidden
        /// We may see it, and not read it.
        case unreadable
        case unclear(String)
    }

    /// How long brokers have to let us in, and each topic to be read.
    static let milliseconds: Int64 = 10_000

    private let client: ClientHandle

    package init(brokers: String, properties: [(String, String)]) throws(KafkaError) {
        let settings = ConsumerSettings(brokers: brokers, topics: [], properties: properties)
        client = try ClientHandle(RD_KAFKA_CONSUMER, try settings.allProperties() + [("client.id", "livegate-check")])
        unsafe rd_kafka_poll_set_consumer(client.pointer)
    }

    /// The brokers of the cluster; nil with the reason, in the words of the log, where none answers.
    package func brokers(within milliseconds: Int64 = milliseconds) -> (addresses: [String]?, why: String?) {
        let deadline = ContinuousClock.now + .milliseconds(milliseconds)
        var reach = BrokerReach()
        while true {
            var answer: UnsafePointer<rd_kafka_metadata>?
            // In short questions: what the library complains of meanwhile is the reason.
            let left = max(1, min(1_000, (deadline - .now).milliseconds))
            let code = unsafe rd_kafka_metadata(client.pointer, 0, nil, &answer, Int32(left))
            if code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer {
                defer { unsafe rd_kafka_metadata_destroy(metadata) }
                let found = (0..<Int(unsafe metadata.pointee.broker_cnt)).map { index in
                    let broker = unsafe metadata.pointee.brokers[index]
                    return unsafe BrokerAddress.text(host: String(cString: broker.host), port: broker.port)
                }
                return (found, nil)
            }
            discardMessages()
            let (notices, allBrokersDown) = client.notices.take()
            _ = reach.sort(notices, allBrokersDown: allBrokersDown, at: .now)
            guard ContinuousClock.now < deadline else { return (nil, reach.explanation ?? code.sentence) }
        }
    }

    /// Whether a topic is there and may be read: one record's worth is asked for at the end of its first partition.
    package func topic(_ name: String) -> TopicState {
        guard let handle = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
            return .unclear(rd_kafka_last_error().sentence)
        }
        defer { unsafe rd_kafka_topic_destroy(handle) }
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(client.pointer, 0, handle, &answer, Int32(Self.milliseconds))
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer else { return .unclear(code.sentence) }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        guard unsafe metadata.pointee.topic_cnt == 1 else { return .missing }
        let found = unsafe metadata.pointee.topics[0]
        switch unsafe found.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE: break
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: return .missing
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: return .hidden
        default: return .unclear((unsafe found.err).sentence)
        }
        let partitions = unsafe Int(found.partition_cnt)
        return partitions > 0 ? read(name) ?? .readable(partitions: partitions) : .unclear("it has no partitions yet")
    }

    /// Nil: it may be read.
    private func read(_ name: String) -> TopicState? {
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        let entry = unsafe rd_kafka_topic_partition_list_add(list, name, 0)
        unsafe entry?.pointee.offset = Int64(RD_KAFKA_OFFSET_END)
        unsafe rd_kafka_assign(client.pointer, list)
        defer { unsafe rd_kafka_assign(client.pointer, nil) }
        let deadline = ContinuousClock.now + .milliseconds(Self.milliseconds)
        var last = "nothing came within \(Self.milliseconds / 1_000) s"
        while true {
            let left = (deadline - .now).milliseconds
            guard left > 0, let message = unsafe rd_kafka_consumer_poll(client.pointer, Int32(left)) else { break }
            defer { unsafe rd_kafka_message_destroy(message) }
            guard unsafe message.pointee.rkt != nil else { continue }
            switch unsafe message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__PARTITION_EOF: return nil
            case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: return .unreadable
            default: last = (unsafe message.pointee.err).sentence
            }
        }
        return .unclear(last)
    }

    /// Whether our login may write to a topic. Nil when this library (before 2.3) or the broker does not report it.
    package func mayWrite(to topic: String) -> Bool? {
        let answer = unsafe crdkafka_is_allowed(
            client.pointer, topic, Int32(RD_KAFKA_ACL_OPERATION_WRITE.rawValue), Int32(Self.milliseconds))
        return answer < 0 ? nil : answer != 0
    }

    private func discardMessages() {
        while let message = unsafe rd_kafka_consumer_poll(client.pointer, 0) {
            unsafe rd_kafka_message_destroy(message)
        }
    }
}

@available(*, unavailable)
extension ClusterCheck: Sendable {}
