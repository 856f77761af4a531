import KafkaLogs

/// A Kafka cluster as far as `LogTracker` can tell: what it answers to probes, and what its consumer brings.
///
/// A value without time: copies go on apart. Whatever happens to a topic happens by a call; a broker that is frozen goes on
/// telling what it knew then, as one that is behind its controller does.
package struct ScriptedBroker: Sendable {
    /// What a broker knows of a topic without having its logs.
    private struct Known: Sendable {
        var exists = false
        var id = TopicID(high: 0, low: 0)
        var leaders: [Int32?] = []
    }

    private struct Topic: Sendable {
        var exists = false
        var id = TopicID(high: 0, low: 0)
        var logs: [Log] = []
        /// Of one that was deleted: who led it is asked about it.
        var formerLeaders: [Int32?] = []

        var known: Known { Known(exists: exists, id: id, leaders: logs.map(\.leader)) }
    }

    package enum Damage: Sendable {
        /// It says so, and goes on behind it.
        case skipped
        /// It says so, and asks for it again and again.
        case repeated
        /// It says nothing.
        case silent
    }

    private struct Reader: Sendable {
        var position: Int64
        /// Nothing more comes until it is assigned anew.
        var isRefused = false
        var toldEnd: Int64?
    }

    package let brokers: [Int32]
    package var clusterID = "scripted"
    /// Whether topics have ids.
    package var hasTopicIDs: Bool
    /// Brokers that answer nothing.
    package var silent: Set<Int32> = []
    /// Brokers that tell no ids of topics.
    package var idless: Set<Int32> = []
    /// What the library makes of a damaged record.
    package var damage = Damage.skipped
    /// Whether offsets for times are refused at a damaged record.
    package var refusesDamaged = false
    /// The follower that records are read from, as beside `client.rack`; nil: leaders.
    package var follower: Int32?
    /// Who answers when any broker is asked.
    package var anyBroker: Int32
    private var topics: [Topic]
    private var frozen: [Int32: [Known]] = [:]
    private var frozenTopics: [Int32: [Topic]] = [:]
    private var nextID: UInt64 = 1
    private var readers: [PartitionName: Reader] = [:]
    private var turn = 0

    /// Brokers are numbered from 1; topics by their index, none of them exists yet.
    package init(brokers: Int = 1, topics: Int = 1, hasTopicIDs: Bool = false) {
        self.brokers = (1...Int32(brokers)).map { $0 }
        self.hasTopicIDs = hasTopicIDs
        self.topics = Array(repeating: Topic(), count: topics)
        anyBroker = 1
    }

    // MARK: - What happens to topics

    package func log(_ topic: Int, _ partition: Int) -> Log { topics[topic].logs[partition] }
    package func partitions(_ topic: Int) -> Int { topics[topic].logs.count }
    package func exists(_ topic: Int) -> Bool { topics[topic].exists }

    /// Creates it, or creates it anew: its logs are empty, and it has another id.
    package mutating func create(_ topic: Int, partitions: Int) {
        topics[topic] = Topic(exists: true, id: TopicID(high: 7, low: nextID), logs: [])
        nextID += 1
        addPartitions(topic, to: partitions)
    }

    package mutating func delete(_ topic: Int) {
        topics[topic] = Topic(formerLeaders: topics[topic].logs.map(\.leader))
    }

    package mutating func addPartitions(_ topic: Int, to count: Int) {
        while topics[topic].logs.count < count {
            let leader = brokers[topics[topic].logs.count % brokers.count]
            topics[topic].logs.append(Log(leader: leader))
        }
    }

    @discardableResult
    package mutating func append(_ topic: Int, _ partition: Int, _ record: ScriptedRecord) -> Int64 {
        topics[topic].logs[partition].records.append(record)
        return topics[topic].logs[partition].end - 1
    }

    /// Retention, or an operator: what stands before the offset is deleted.
    package mutating func deleteRecords(_ topic: Int, _ partition: Int, before offset: Int64) {
        let log = topics[topic].logs[partition]
        topics[topic].logs[partition].start = max(log.start, min(offset, log.end))
    }

    /// Compaction, or an abort.
    package mutating func remove(_ topic: Int, _ partition: Int, _ offset: Int64) {
        topics[topic].logs[partition].records[Int(offset)].isRemoved = true
    }

    package mutating func damage(_ topic: Int, _ partition: Int, _ offset: Int64, _ isDamaged: Bool = true) {
        topics[topic].logs[partition].records[Int(offset)].isDamaged = isDamaged
    }

    /// An unclean election: the log ends at the offset now. Below what was deleted, whoever leads has not heard of that.
    package mutating func cutBack(_ topic: Int, _ partition: Int, to offset: Int64) {
        topics[topic].logs[partition].records.removeSubrange(Int(offset)...)
        if topics[topic].logs[partition].start > offset { topics[topic].logs[partition].start = 0 }
    }

    package mutating func setLeader(_ topic: Int, _ partition: Int, _ leader: Int32?) {
        topics[topic].logs[partition].leader = leader
    }

    /// From now on the broker hears nothing of what happens to topics.
    package mutating func freeze(_ broker: Int32) { frozen[broker] = topics.map(\.known) }
    /// The same, and it has forgotten all of them: it reads what its controller decided from the beginning.
    package mutating func forgetTopics(_ broker: Int32) { frozen[broker] = topics.map { _ in Known() } }
    /// The same, and it has the logs that it has now: it answers for them, and what is written to others it does not see.
    /// Or those that another script has.
    package mutating func freezeWithLogs(_ broker: Int32, as other: ScriptedBroker? = nil) {
        frozen[broker] = (other ?? self).topics.map(\.known)
        frozenTopics[broker] = (other ?? self).topics
    }
    package mutating func thaw(_ broker: Int32) {
        frozen[broker] = nil
        frozenTopics[broker] = nil
    }

    private func known(_ broker: Int32) -> [Known] { frozen[broker] ?? topics.map(\.known) }

    // MARK: - Answers

    package func answer(_ probe: Probe) -> ProbeAnswer {
        switch probe.question {
        case .metadata(let broker): metadata(from: broker ?? anyBroker)
        case .topicIDs(let questions): .topicIDs(questions.map(topicID))
        case .offsets(let names, let time):
            .offsets(names.indices.map { offset(names[$0], time, $0) })
        case .records(let questions): .records(questions.map(record))
        }
    }

    private func metadata(from broker: Int32) -> ProbeAnswer {
        guard !silent.contains(broker) else { return .noMetadata("broker \(broker) is silent") }
        let answers = known(broker).map { $0.exists ? TopicMetadata.present($0.leaders) : .missing }
        let addresses = Dictionary(uniqueKeysWithValues: brokers.map { ($0, "broker\($0):9092") })
        return .metadata(MetadataAnswer(broker: broker, brokers: addresses, clusterID: clusterID, topics: answers))
    }

    private func topicID(_ question: TopicIDQuestion) -> TopicIDAnswer {
        guard !silent.contains(question.broker) else { return .silent }
        let known = known(question.broker)[question.topic]
        guard known.exists else { return .unknownTopic }
        return hasTopicIDs && !idless.contains(question.broker) ? .id(known.id) : .none
    }

    private func answering(_ name: PartitionName) -> Result<Log, OffsetFailure> {
        let topic = topics[Int(name.topic)]
        guard topic.exists, Int(name.number) < topic.logs.count else {
            let number = Int(name.number)
            guard number < topic.formerLeaders.count else { return .failure(.unknown) }
            let isSilent = topic.formerLeaders[number].map { silent.contains($0) } ?? true
            return .failure(isSilent ? .silent : .unknown)
        }
        let log = topic.logs[Int(name.number)]
        guard let leader = log.leader, !silent.contains(leader) else { return .failure(.silent) }
        guard let before = frozenTopics[leader]?[Int(name.topic)] else { return .success(log) }
        guard before.exists, Int(name.number) < before.logs.count else { return .failure(.unknown) }
        return .success(before.logs[Int(name.number)])
    }

    private enum OffsetFailure: Error { case unknown, silent }

    private func offset(_ name: PartitionName, _ time: OffsetTime, _ index: Int) -> OffsetAnswer {
        switch answering(name) {
        case .failure(let failure): return failure == .unknown ? .unknownPartition : .silent
        case .success(let log):
            switch time {
            case .logEnd: return .offset(log.end)
            case .logStart: return .offset(log.start)
            case .times(let times):
                var offset = log.start
                while let (found, record) = log.first(from: offset) {
                    if record.isDamaged, refusesDamaged { return .refused }
                    if record.timestamp >= times[index] { return .offset(found) }
                    offset = found + 1
                }
                return .end
            }
        }
    }

    private func record(_ question: RecordQuestion) -> RecordAnswer {
        guard case .success(let log) = answering(question.partition) else { return .silent }
        guard question.offset >= log.start, question.offset <= log.end else { return .outOfRange }
        guard let (offset, record) = log.first(from: question.offset) else { return .end(at: log.end) }
        if record.isDamaged { return damage == .silent ? .silent : .unreadable }
        guard let limit = question.stampedUntil else { return .record(record.mark(at: offset)) }
        var next = offset
        while let (found, record) = log.first(from: next), !(0...limit).contains(record.timestamp) { next = found + 1 }
        return .firstRecord(record.mark(at: offset), goodStamp: log.first(from: next)?.record.timestamp)
    }

    // MARK: - The consumer

    package enum Delivery: Equatable, Sendable {
        case record(PartitionName, offset: Int64, ScriptedRecord, broker: Int32)
        case end(PartitionName, offset: Int64)
        /// The position is not in the log.
        case refused(PartitionName, offset: Int64)
        /// A batch could not be read; the next one may come behind it.
        case unreadable(PartitionName, offset: Int64)
    }

    package mutating func assign(_ assignments: [Assignment]) {
        for assignment in assignments {
            switch assignment {
            case .stop(let name): readers[name] = nil
            case .read(let name, let offset): readers[name] = Reader(position: offset)
            }
        }
    }

    package var assigned: [PartitionName] { readers.keys.sorted() }

    /// What the consumer brings next, at most so many, one partition after the other. A recreated log that is long enough
    /// is read on in its middle, without a word, as librdkafka does.
    package mutating func fetch(_ maximum: Int) -> [Delivery] {
        var deliveries: [Delivery] = []
        let names = assigned
        turn += 1
        for index in names.indices where deliveries.count < maximum {
            fetch(names[(index + turn) % names.count], maximum, &deliveries)
        }
        return deliveries
    }

    private mutating func fetch(_ name: PartitionName, _ maximum: Int, _ deliveries: inout [Delivery]) {
        guard var reader = readers[name], !reader.isRefused, case .success(let log) = answering(name) else { return }
        defer { readers[name] = reader }
        guard reader.position >= log.start, reader.position <= log.end else {
            reader.isRefused = true
            return deliveries.append(.refused(name, offset: reader.position))
        }
        while deliveries.count < maximum {
            guard let (offset, record) = log.first(from: reader.position) else {
                reader.position = log.end
                guard reader.toldEnd != log.end else { return }
                reader.toldEnd = log.end
                return deliveries.append(.end(name, offset: log.end))
            }
            if record.isDamaged {
                guard damage != .silent else { return }
                deliveries.append(.unreadable(name, offset: offset))
                // Nothing behind it: the same batch is fetched again.
                guard damage == .skipped, log.first(from: offset + 1) != nil else { return }
            } else {
                deliveries.append(.record(name, offset: offset, record, broker: follower ?? log.leader ?? -1))
            }
            reader.position = offset + 1
        }
    }
}
