import CRdKafka

/// The client, its queue and a handle for each topic, shared by the consumer and its probes.
///
/// SAFETY: immutable after init, and everything behind the pointers belongs to librdkafka, which is thread-safe.
@safe
final class ConsumerHandle: @unchecked Sendable {
    @safe
    struct Topic {
        let name: String
        let pointer: OpaquePointer
    }

    let client: ClientHandle
    let queue: OpaquePointer
    /// Sorted by the bytes of their names, each once.
    let topics: [Topic]
    let settings: ConsumerSettings
    var pointer: OpaquePointer { unsafe client.pointer }

    init(_ settings: ConsumerSettings) throws(KafkaError) {
        let client = try ClientHandle(RD_KAFKA_CONSUMER, try settings.allProperties())
        // Everything that librdkafka reports arrives in one queue, so one descriptor wakes us for all of it.
        unsafe rd_kafka_poll_set_consumer(client.pointer)
        guard let queue = unsafe rd_kafka_queue_get_consumer(client.pointer) else {
            throw .client(reason: "the consumer has no queue")
        }
        var topics: [Topic] = []
        for name in settings.orderedTopics {
            guard let topic = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
                for topic in topics { unsafe rd_kafka_topic_destroy(topic.pointer) }
                unsafe rd_kafka_queue_destroy(queue)
                throw .client(reason: "no handle for topic \(name): \(rd_kafka_last_error().sentence)")
            }
            unsafe topics.append(Topic(name: name, pointer: topic))
        }
        self.client = client
        unsafe self.queue = queue
        self.topics = topics
        self.settings = settings
    }

    deinit {
        for topic in topics { unsafe rd_kafka_topic_destroy(topic.pointer) }
        unsafe rd_kafka_queue_destroy(queue)
    }
}
