import CRdKafka
import KafkaLogs

extension ProbeClient {
    /// The ids of topics as these brokers know them: one request for each broker, all at once (KIP-516, librdkafka 2.3).
    func topicIDs(_ questions: [TopicIDQuestion], until deadline: ContinuousClock.Instant) -> [TopicIDAnswer] {
        var answers = [TopicIDAnswer](repeating: .silent, count: questions.count)
        guard KafkaLibrary.canAskTopicIDs, let queue = unsafe rd_kafka_queue_new(client.pointer) else { return answers }
        defer { unsafe rd_kafka_queue_destroy(queue) }
        let brokers = Dictionary(grouping: questions.indices) { questions[$0].broker }
        let timeout = Int32(max(100, (deadline - .now).milliseconds))
        var left = 0
        for (broker, indices) in brokers {
            var names: [UnsafePointer<CChar>?] = unsafe indices.map {
                unsafe rd_kafka_topic_name(topics.pointers[questions[$0].topic])
            }
            if unsafe crdkafka_describe_topics(client.pointer, queue, broker, &names, names.count, timeout) != 0 {
                left += 1
            }
        }
        while left > 0, let event = unsafe rd_kafka_queue_poll(queue, Int32(max(1, (deadline - .now).milliseconds))) {
            defer { unsafe rd_kafka_event_destroy(event) }
            let broker = unsafe crdkafka_described_broker(event)
            guard broker >= 0 else { continue }
            left -= 1
            for index in brokers[broker] ?? [] {
                answers[index] = unsafe Self.answer(event, topicName(questions[index].topic))
            }
        }
        return answers
    }

    private static func answer(_ event: OpaquePointer, _ name: String) -> TopicIDAnswer {
        var (high, low): (Int64, Int64) = (0, 0)
        switch unsafe crdkafka_described_topic(event, name, &high, &low) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            return high == 0 && low == 0
                ? .none : .id(TopicID(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low)))
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return .unknownTopic
        default: return .silent
        }
    }
}

/// Handles of topics of one client, in order.
///
/// SAFETY: immutable after init, and what is behind the pointers belongs to librdkafka, which is thread-safe.
@safe
final class TopicHandles: @unchecked Sendable {
    let pointers: [OpaquePointer]
    /// Outlives its topics.
    private let client: ClientHandle

    init(_ client: ClientHandle, _ names: [String]) throws(KafkaError) {
        var pointers: [OpaquePointer] = unsafe []
        for name in names {
            guard let pointer = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
                for index in unsafe pointers.indices { unsafe rd_kafka_topic_destroy(pointers[index]) }
                throw .client(reason: "no handle for topic \(name): \(rd_kafka_last_error().sentence)")
            }
            unsafe pointers.append(pointer)
        }
        unsafe self.pointers = pointers
        self.client = client
    }

    deinit {
        for index in unsafe pointers.indices { unsafe rd_kafka_topic_destroy(pointers[index]) }
    }
}
