import CRdKafka
import Glibc
import Synchronization

/// Looks at the cluster with blocking calls, on a thread where that harms nobody, and yields maps for the consumer.
///
/// The ends of the logs it asks for on the consumer's own connections: then answers prove that those are alive. All else
/// goes through a client of its own. Call `look` every 2 s: then a partition that was added is read within 4 s of having
/// a leader.
package final class Scout: Sendable {
    /// How long metadata and the ends of all partitions may take together: then whoever has not answered is silent.
    static let patience = Duration.seconds(2)
    /// Of that, how long metadata may take before it is asked for once more, of another broker perhaps.
    static let metadataTimeoutMilliseconds: Int32 = 1_000
    /// How long checking the logs may take. With the interval of the looks it stays below `SourceWatch.longestSilence`.
    static let checkPatience = Duration.seconds(1)
    /// How long it may take to find where reading begins.
    static let openingPatience = Duration.seconds(2)
    /// The least that a leader is waited for, however many others were silent before it.
    static let shortestWait = Duration.milliseconds(100)

    /// Last records that a look reads once more without a suspicion: cheap for the broker, whose cache has them.
    static let patrolsPerLook = 4

    struct Memory {
        var history: PartitionHistory
        var silentLeaders: Set<Int32> = []
        /// As the last look found them, for the next one that gets no metadata.
        var topics: [PartitionMap.Topic] = []
        /// What the consumer's client knows of the partitions and their leaders.
        var told: [Int: PartitionHistory.Sighting] = [:]
        /// Records that were read again without a suspicion.
        var patrolled = 0
        /// Looks in a row in which the first records of some logs did not come.
        var failedPeeks = 0
        /// Whether it is the broker within librdkafka, which cannot find offsets by time.
        var isEmbedded = false
    }

    private let handle: ConsumerHandle
    let side: SideClient
    var retention: Duration? { handle.settings.retention }
    private let memory: Mutex<Memory>

    convenience init(_ handle: ConsumerHandle) throws(KafkaError) {
        try self.init(handle, PartitionHistory(topics: handle.topics.map(\.name)))
    }

    init(_ handle: ConsumerHandle, _ history: PartitionHistory) throws(KafkaError) {
        self.handle = handle
        side = try SideClient(handle.settings)
        memory = Mutex(Memory(history: history))
    }

    func topicName(_ index: Int) -> String { handle.topics[index].name }

    /// Blocks until the brokers have answered or the time is up. Callers wait for each other.
    ///
    /// `anchors` are the consumer's of this moment: they show whether the logs are still those that it reads.
    package func look(_ anchors: ReadingAnchors = ReadingAnchors()) -> PartitionMap {
        memory.withLock { look(anchors, &$0) }
    }

    private func look(_ anchors: ReadingAnchors, _ memory: inout Memory) -> PartitionMap {
        let deadline = ContinuousClock.now + Self.patience
        var map = PartitionMap(topics: [], brokers: [:], failure: nil)
        if let failure = sight(&map, &memory) {
            // The leaders may answer nevertheless, and are those of before.
            map = PartitionMap(topics: memory.topics, brokers: [:], failure: "\(failure)")
        }
        map.clusterID = clusterID()
        memory.isEmbedded = map.clusterID?.hasPrefix("mockCluster") == true
        side.hush()
        let ends = askEnds(until: deadline, &map, &memory)
        guard map.failure == nil else { return map }
        check(ends, anchors, until: .now + Self.checkPatience, &map, &memory)
        open(ends, until: .now + Self.openingPatience, &map, &memory)
        return map
    }

    /// Asks the leaders for the ends of their partitions.
    ///
    /// A look at a healthy cluster thereby proves that each leader answers, which metadata, told by any node, does not.
    private func askEnds(
        until deadline: ContinuousClock.Instant, _ map: inout PartitionMap, _ memory: inout Memory
    ) -> [PartitionPlace: Int64] {
        let places = places(of: map)
        guard !places.isEmpty else { return [:] }
        let answers = ask(
            places.map { OffsetQuestion(place: $0, time: Int64(RD_KAFKA_OFFSET_END)) }, of: handle.client,
            until: deadline, &memory.silentLeaders)
        let heardAt = ContinuousClock.now
        var ends: [PartitionPlace: Int64] = [:]
        for (place, answer) in zip(places, answers) {
            guard case .offset(let end) = answer else { continue }
            ends[place] = end
            map.topics[place.topic].setPartition(at: place.position) {
                $0.end = end
                $0.heardAt = heardAt
            }
        }
        return ends
    }

    private func places(of map: PartitionMap) -> [PartitionPlace] {
        map.topics.enumerated().flatMap { index, topic -> [PartitionPlace] in
            guard case .present(let partitions) = topic.state else { return [] }
            return partitions.enumerated().compactMap { position, partition in
                partition.leader.map {
                    PartitionPlace(topic: index, position: position, partition: partition.number, leader: $0)
                }
            }
        }
    }

    /// Reads the metadata of all topics into the map, or answers why it could not.
    private func sight(_ map: inout PartitionMap, _ memory: inout Memory) -> KafkaError? {
        for (index, topic) in handle.topics.enumerated() {
            // One request a topic: a request for all local topics sets allow_auto_topic_creation in 2.0.2 once they
            // are cached, whatever the settings say, and so brings deleted topics back to life.
            var brokers: [Int32: String] = [:]
            var answer = sight(topic.name, of: side.client, &brokers, within: Self.metadataTimeoutMilliseconds)
            if case .failure = answer {
                answer = sight(topic.name, of: side.client, &brokers, within: Self.metadataTimeoutMilliseconds / 2)
            }
            switch answer {
            case .success(let sighting):
                map.topics.append(memory.history.see(sighting, topic: index))
                map.brokers.merge(brokers) { $1 }
                tell(sighting, topic: index, &memory)
            case .failure(let failure): return failure
            }
        }
        memory.topics = map.topics
        return nil
    }

    /// Makes the consumer's client look for itself when there is something new: by itself it does so after an error only,
    /// and takes half a second to begin with a partition whose leader it does not know.
    private func tell(_ sighting: PartitionHistory.Sighting, topic index: Int, _ memory: inout Memory) {
        guard case .present = sighting, memory.told[index] != sighting else { return }
        var brokers: [Int32: String] = [:]
        let found = sight(
            handle.topics[index].name, of: handle.client, &brokers, within: Self.metadataTimeoutMilliseconds)
        if case .success(let sighting) = found { memory.told[index] = sighting }
    }

    /// Known from the first answer of a broker on: it costs no request.
    private func clusterID() -> String? {
        guard let text = unsafe rd_kafka_clusterid(side.client.pointer, 0) else { return nil }
        defer { unsafe rd_kafka_mem_free(side.client.pointer, text) }
        return unsafe String(cString: text)
    }

    func pause(_ time: Duration) {
        usleep(UInt32(time.milliseconds * 1_000))
    }

    /// Metadata of one topic.
    private func sight(
        _ name: String, of client: ClientHandle, _ brokers: inout [Int32: String], within milliseconds: Int32
    ) -> Result<PartitionHistory.Sighting, KafkaError> {
        guard let topic = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
            return .failure(.client(reason: "no handle for topic \(name)"))
        }
        defer { unsafe rd_kafka_topic_destroy(topic) }
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(client.pointer, 0, topic, &answer, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe answer else {
            return .failure(.request(what: "metadata of \(name)", code: code.symbol, reason: code.sentence))
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
            return .present(partitions.sorted { $0.number < $1.number })
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
            return .missing
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return .forbidden
        default:
            return .unclear((unsafe topic.err).sentence)
        }
    }
}
