import CRdKafka
import Glibc
import KafkaLogs
import Synchronization

/// Answers probes with blocking calls, on a thread that may block.
///
/// Log ends are requested on the consumer's own connections, so answers prove that those connections are alive. Everything else
/// uses a separate client, which also reads single records without moving the consumer's positions. A broker answers the requests
/// of one connection one after the other, and an idle fetch needs half a second (`fetch.wait.max.ms`). So seven questions in a
/// row needed three seconds on the consumer's connection, and need a few milliseconds on this one.
///
/// It reads aborted records too: they prove as much about a log as others, and arrive at once, however many there are.
@safe
package final class ProbeClient: Sendable {
    /// Small fetches, because one record is wanted; the broker sends a larger batch nevertheless. But the queue must hold the
    /// records of a fetch: in 2.0.2 a full queue delays the partition for a second, longer than a probe may last.
    static let ownProperties: [(String, String)] = [
        ("client.id", "livegate-probe"), ("isolation.level", "read_uncommitted"),
        ("queued.min.messages", "10000"), ("fetch.message.max.bytes", "65536"), ("fetch.wait.max.ms", "10"),
    ]

    struct Memory {
        /// Leaders that did not answer the last time.
        var silentLeaders: Set<Int32> = []
        /// The leaders of the partitions, from the last metadata.
        var leaders: [[Int32?]] = []
        /// What the consumer's client knows of the topics and their leaders.
        var known: [TopicMetadata] = []
        /// `host:port` by broker.
        var addresses: [Int32: String] = [:]
        /// Of this client, which asks for metadata, and of the consumer's, which asks for log ends.
        var ownReminder = BrokerReminder(), consumersReminder = BrokerReminder()
    }

    let handle: ConsumerHandle
    let client: ClientHandle
    /// Held so that a metadata request without a topic is one for these topics, and never creates one. Without handles of the
    /// client, 2.0.2 would allow that (`rd_kafka_metadata`).
    let topics: TopicHandles
    let indexes: [String: Int]
    private let memory = Mutex(Memory())

    init(_ handle: ConsumerHandle) throws(KafkaError) {
        self.handle = handle
        client = try ClientHandle(
            RD_KAFKA_CONSUMER, try handle.settings.allProperties() + Self.ownProperties)
        unsafe rd_kafka_poll_set_consumer(client.pointer)
        topics = try TopicHandles(client, handle.topics.map(\.name))
        indexes = Dictionary(uniqueKeysWithValues: handle.topics.enumerated().map { ($0.element.name, $0.offset) })
    }

    func topicName(_ index: Int) -> String { handle.topics[index].name }

    /// Blocks until the brokers have answered or the time is up. Callers wait for each other.
    package func answer(_ probe: Probe) -> ProbeAnswer {
        let deadline = ContinuousClock.now + .milliseconds(probe.timeout)
        defer { discardMessages() }
        return memory.withLock { memory in
            switch probe.question {
            case .metadata(nil): metadata(until: deadline, &memory)
            case .metadata(let broker?): metadata(of: broker, until: deadline, memory)
            case .topicIDs(let questions): .topicIDs(topicIDs(questions, until: deadline))
            case .offsets(let names, let time): .offsets(offsets(names, time, until: deadline, &memory))
            case .records(let questions): .records(records(questions, until: deadline))
            }
        }
    }

    /// Reads single records, any number of one partition. `body` receives the records that are exactly at the offsets, with the
    /// index of their question. A record that has not arrived within `timeout` milliseconds is reported as silent. Blocks, and
    /// callers wait for each other.
    package func records(
        _ questions: [RecordQuestion], timeout: Int64, _ body: (Int, borrowing Record) -> Void
    ) -> [RecordAnswer] {
        let deadline = ContinuousClock.now + .milliseconds(timeout)
        return memory.withLock { _ in records(questions, until: deadline, body) }
    }

    /// Discards what the client reports about brokers: the consumer's own client reports the same.
    func discardMessages() {
        while let message = unsafe rd_kafka_consumer_poll(client.pointer, 0) {
            unsafe rd_kafka_message_destroy(message)
        }
        _ = client.notices.take()
    }

    // MARK: - Metadata

    /// Requests metadata from any broker. If that fails, it retries once, perhaps with another broker.
    private func metadata(until deadline: ContinuousClock.Instant, _ memory: inout Memory) -> ProbeAnswer {
        let time = (deadline - .now).milliseconds
        var answer = metadata(client, within: Int32(time * 2 / 3))
        if case .noMetadata = answer { answer = metadata(client, within: Int32(max(100, time / 3))) }
        guard case .metadata(let metadata) = answer else {
            remind(client, "asks for metadata", &memory.ownReminder, isAnswered: false)
            return answer
        }
        // An answer without brokers is how the client comes to forget them all.
        let wasSilent = memory.ownReminder.isSilent
        remind(client, "asks for metadata", &memory.ownReminder, isAnswered: !metadata.brokers.isEmpty)
        if wasSilent, !memory.ownReminder.isSilent { memory.consumersReminder.begin(at: Moment.now.monotonic) }
        memory.addresses = metadata.brokers
        memory.leaders = metadata.topics.map { if case .present(let leaders) = $0 { leaders } else { [] } }
        refreshConsumer(metadata, &memory)
        return answer
    }

    /// Makes the consumer's client request metadata when there is something new. By itself it does so only after an error, and
    /// needs half a second to start with a partition whose leader it does not know.
    private func refreshConsumer(_ metadata: MetadataAnswer, _ memory: inout Memory) {
        guard memory.known != metadata.topics else { return }
        let found = self.metadata(handle.client, within: 1_000)
        if case .metadata(let metadata) = found { memory.known = metadata.topics }
    }

    /// Requests metadata from this broker, through a client that knows no other broker when it asks.
    private func metadata(
        of broker: Int32, until deadline: ContinuousClock.Instant, _ memory: Memory
    ) -> ProbeAnswer {
        guard let address = memory.addresses[broker] else { return .noMetadata("broker \(broker) has no address") }
        do throws(KafkaError) {
            let properties = try handle.settings.allProperties() + Self.ownProperties
            let client = try ClientHandle(RD_KAFKA_CONSUMER, properties + [("bootstrap.servers", address)])
            let topics = try TopicHandles(client, handle.topics.map(\.name))
            defer { withExtendedLifetime(topics) {} }
            while true {
                let answer = metadata(client, within: Int32(max(100, (deadline - .now).milliseconds)))
                if case .metadata(var metadata) = answer {
                    // Until the client knows the broker's number, the answer names no broker.
                    guard metadata.broker ?? broker == broker else {
                        return .noMetadata("broker \(metadata.broker ?? -1) answered instead of \(broker)")
                    }
                    metadata.broker = broker
                    return .metadata(metadata)
                }
                guard deadline - .now > .milliseconds(100) else { return answer }
                usleep(10_000)
            }
        } catch {
            return .noMetadata("\(error)")
        }
    }

    /// One request for all topics.
    private func metadata(_ client: ClientHandle, within milliseconds: Int32) -> ProbeAnswer {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(client.pointer, 0, nil, &answer, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer else {
            return .noMetadata("metadata: \(code.sentence) (\(code.symbol))")
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        var brokers: [Int32: String] = [:]
        for index in 0..<Int(unsafe metadata.pointee.broker_cnt) {
            let broker = unsafe metadata.pointee.brokers[index]
            unsafe brokers[broker.id] = BrokerAddress.text(host: String(cString: broker.host), port: broker.port)
        }
        var topics = [TopicMetadata](repeating: .unclear("no answer for the topic"), count: handle.topics.count)
        for number in 0..<Int(unsafe metadata.pointee.topic_cnt) {
            let topic = unsafe metadata.pointee.topics[number]
            guard let index = indexes[unsafe String(cString: topic.topic)] else { continue }
            topics[index] = unsafe Self.topic(topic)
        }
        let origin = unsafe metadata.pointee.orig_broker_id
        return .metadata(
            MetadataAnswer(
                broker: origin < 0 ? nil : origin, brokers: brokers, clusterID: clusterID(client), topics: topics))
    }

    /// The cluster id. It is known after the first answer of a broker, without a request. Empty if the cluster has none.
    private func clusterID(_ client: ClientHandle) -> String {
        guard let text = unsafe rd_kafka_clusterid(client.pointer, 0) else { return "" }
        defer { unsafe rd_kafka_mem_free(client.pointer, text) }
        return unsafe String(cString: text)
    }

    private static func topic(_ topic: rd_kafka_metadata_topic) -> TopicMetadata {
        switch unsafe topic.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
            let count = unsafe Int(topic.partition_cnt)
            guard count > 0 else { return .unclear("the topic has no partitions yet") }
            var leaders = [Int32?](repeating: nil, count: count)
            for index in 0..<count {
                let partition = unsafe topic.partitions[index]
                let (number, leader) = unsafe (Int(partition.id), partition.leader)
                guard leaders.indices.contains(number) else { return .unclear("its partitions have gaps") }
                leaders[number] = leader < 0 ? nil : leader
            }
            return .present(leaders)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
            return .missing
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return .forbidden
        default:
            return .unclear((unsafe topic.err).sentence)
        }
    }
}
