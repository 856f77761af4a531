import CRdKafka
import Synchronization

/// Looks at the cluster with blocking calls, on a thread where that harms nobody, and yields maps for the consumer.
///
/// It shares the consumer's connections. Call `look` every 2 s: then a partition that was added is read within 4 s of
/// having a leader.
package final class Scout: Sendable {
    /// How long metadata may take. Longer than a healthy cluster ever needs, short enough to look again soon.
    static let metadataTimeoutMilliseconds: Int32 = 2_000
    /// How long one leader may take to tell offsets.
    static let offsetsTimeoutMilliseconds: Int32 = 1_500
    /// The same for a leader that did not answer the last time, so that it does not hold up the others.
    static let silentLeaderTimeoutMilliseconds: Int32 = 250

    struct Memory {
        var history: PartitionHistory
        var silentLeaders: Set<Int32> = []
    }

    private let handle: ConsumerHandle
    var pointer: OpaquePointer { unsafe handle.client.pointer }
    private let memory: Mutex<Memory>

    convenience init(_ handle: ConsumerHandle) {
        self.init(handle, PartitionHistory(topics: handle.topics.map(\.name)))
    }

    init(_ handle: ConsumerHandle, _ history: PartitionHistory) {
        self.handle = handle
        memory = Mutex(Memory(history: history))
    }

    /// Blocks until the brokers have answered or the time is up. Callers wait for each other.
    package func look() -> PartitionMap {
        memory.withLock { look(&$0) }
    }

    private func look(_ memory: inout Memory) -> PartitionMap {
        var map = PartitionMap(topics: [], brokers: [:], failure: nil)
        for (index, topic) in handle.topics.enumerated() {
            // One request a topic: a request for all local topics sets allow_auto_topic_creation in 2.0.2 once they
            // are cached, whatever the settings say, and so brings deleted topics back to life.
            switch sight(topic, brokers: &map.brokers) {
            case .success(let sighting):
                map.topics.append(memory.history.see(sighting, topic: index))
            case .failure(let failure):
                return PartitionMap(topics: [], brokers: [:], failure: "\(failure)")
            }
        }
        for leader in leaders(of: map).sorted(by: { Self.isEarlier($0, $1, memory) }) {
            askOffsets(of: leader, &map, &memory)
        }
        return map
    }

    private static func isEarlier(_ a: Int32, _ b: Int32, _ memory: Memory) -> Bool {
        let (a, b) = ((memory.silentLeaders.contains(a), a), (memory.silentLeaders.contains(b), b))
        return a.0 == b.0 ? a.1 < b.1 : !a.0
    }

    private func leaders(of map: PartitionMap) -> Set<Int32> {
        var leaders: Set<Int32> = []
        for topic in map.topics {
            guard case .present(let partitions) = topic.state else { continue }
            leaders.formUnion(partitions.compactMap(\.leader))
        }
        return leaders
    }

    /// Metadata of one topic.
    private func sight(
        _ topic: ConsumerHandle.Topic, brokers: inout [Int32: String]
    ) -> Result<PartitionHistory.Sighting, KafkaError> {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(
            handle.client.pointer, 0, topic.pointer, &answer, Self.metadataTimeoutMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer else {
            return .failure(.request(what: "metadata of \(topic.name)", code: code.symbol, reason: code.sentence))
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        for index in 0..<Int(unsafe metadata.pointee.broker_cnt) {
            let broker = unsafe metadata.pointee.brokers[index]
            unsafe brokers[broker.id] = "\(String(cString: broker.host)):\(broker.port)"
        }
        guard unsafe metadata.pointee.topic_cnt == 1 else { return .success(.unclear("no answer for the topic")) }
        return .success(unsafe Self.sighting(metadata.pointee.topics[0]))
    }

    private static func sighting(_ topic: rd_kafka_metadata_topic) -> PartitionHistory.Sighting {
        switch unsafe topic.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
            guard unsafe topic.partition_cnt > 0 else { return .unclear("the topic has no partitions yet") }
            let partitions = unsafe (0..<Int(topic.partition_cnt)).map { index in
                let partition = unsafe topic.partitions[index]
                let leader = unsafe partition.leader
                return unsafe (number: partition.id, leader: leader < 0 ? nil : leader)
            }
            return .present(partitions)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
            return .missing
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return .forbidden
        default:
            return .unclear((unsafe topic.err).sentence)
        }
    }
}
