// Tests: RecreationInference.swift, Refresh.swift, TrackedTopic.swift

import ScriptedBroker
import Testing

@testable import KafkaLogs

/// A node that reads a scripted cluster; time goes on with each step.
struct TestNode {
    var broker: ScriptedBroker
    var reader: ScriptedReader
    var now = Moment(monotonic: 1_000, wall: 1_000_000)
    private(set) var changes: [LogChange] = []
    private(set) var records: [Int] = []
    private(set) var notices: [LogNotice] = []

    init(
        brokers: Int = 1, topics: [String] = ["t"], partitions: Int? = 1, window: Int64? = 100_000, ids: Bool = false
    ) {
        broker = ScriptedBroker(brokers: brokers, topics: topics.count, hasTopicIDs: ids)
        reader = ScriptedReader(topics: topics, windowMilliseconds: window, canAskIDs: ids)
        for topic in topics.indices where partitions != nil { broker.create(topic, partitions: partitions ?? 0) }
    }

    mutating func write(_ payloads: Int..., to partition: Int = 0, stamp: Int64? = nil) {
        for payload in payloads {
            broker.append(0, partition, ScriptedRecord(timestamp: stamp ?? now.wall, payload: payload))
        }
    }

    mutating func refresh(after milliseconds: Int64 = 2_000) {
        wait(milliseconds)
        take(reader.refresh(&broker, now))
    }

    /// The same, and something happens before that step of it, or behind the last one.
    mutating func refresh(beforeStep wanted: Int, _ happen: (inout TestNode) -> Void) {
        wait(2_000)
        var step = 0
        repeat {
            if step == wanted { happen(&self) }
            take(reader.refreshStep(&broker, now))
            step += 1
        } while reader.isRefreshing
        if step <= wanted { happen(&self) }
    }

    mutating func wait(_ milliseconds: Int64) {
        now.monotonic += milliseconds
        now.wall += milliseconds
    }

    /// Reads all there is.
    mutating func drain() {
        for _ in 0..<20 { take(reader.drain(&broker, atMost: 100, now)) }
    }

    private mutating func take(_ outputs: [ScriptedReader.Output]) {
        for output in outputs {
            switch output {
            case .change(let change): changes.append(change)
            case .record(_, _, let record): records.append(record.payload)
            }
        }
        notices += reader.takeNotices()
    }

    mutating func forget() { (changes, records, notices) = ([], [], []) }

    func facts(_ partition: Int = 0) -> LogFacts? { reader.tracker.facts(of: name(partition)) }
    func name(_ partition: Int = 0) -> PartitionName { PartitionName(topic: 0, number: Int32(partition)) }
    var isReady: Bool { reader.tracker.readiness.isReady }
    /// What makes everybody resync.
    var resyncs: [LogChange] {
        changes.filter {
            switch $0 {
            case .recreated, .recordsLost: true
            case .facts, .found, .vanished, .identified: false
            }
        }
    }
    var isStalled: Bool {
        var reader = reader
        if case .stalled = reader.sourceState(now) { return true }
        return false
    }
}

@Suite struct `One stale answer is no proof` {
    @Test(arguments: [false, true])
    func `a topic that a broker behind its controller lacks stays as it is`(_ ids: Bool) {
        var node = TestNode(brokers: 2, partitions: nil, ids: ids)
        node.broker.freeze(1)
        node.broker.create(0, partitions: 2)
        node.broker.anyBroker = 2
        node.broker.thaw(1)
        node.write(1)
        node.refresh()
        node.drain()
        #expect(node.isReady && node.records == [1])
        // Broker 1 leads nothing any more, and starts again without having heard of the topic yet.
        node.broker.setLeader(0, 0, 2)
        node.refresh()
        node.forget()
        node.broker.forgetTopics(1)
        node.broker.anyBroker = 1
        for _ in 0..<3 { node.refresh() }
        node.write(2)
        node.drain()
        #expect(node.resyncs == [] && node.records == [2] && node.notices == [])
    }

    @Test(arguments: [false, true])
    func `partitions that it lacks stay as they are`(_ ids: Bool) {
        var node = TestNode(brokers: 2, partitions: 1, ids: ids)
        node.refresh()
        node.broker.setLeader(0, 0, 2)
        node.broker.freeze(1)
        node.broker.addPartitions(0, to: 2)
        node.broker.anyBroker = 2
        node.refresh()
        node.write(1, to: 1)
        node.drain()
        node.forget()
        node.broker.anyBroker = 1
        node.refresh()
        node.write(2, to: 1)
        node.drain()
        #expect(node.resyncs == [] && node.records == [2] && node.notices == [])
    }

    @Test(arguments: [false, true])
    func `a topic is gone when its leader says so, and another one when it is there again`(_ ids: Bool) {
        var node = TestNode(brokers: 2, partitions: 2, ids: ids)
        node.write(1, 2)
        node.refresh()
        node.drain()
        node.forget()
        node.broker.delete(0)
        node.refresh()
        #expect(node.notices == [.topicGone(topic: "t")] && node.resyncs == [])
        #expect(node.broker.assigned == [])
        node.broker.create(0, partitions: 1)
        node.write(7, 8)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [7, 8])
        #expect(node.notices.last == .topicFound(topic: "t", partitions: 1))
    }

    @Test func `a leader that does not answer leaves it open`() {
        var node = TestNode(brokers: 2, partitions: 1)
        node.write(1)
        node.refresh()
        node.drain()
        node.forget()
        node.broker.delete(0)
        node.broker.silent = [1]
        node.broker.anyBroker = 2
        for _ in 0..<3 { node.refresh() }
        #expect(node.resyncs == [] && node.notices == [])
        #expect(node.isStalled)
        node.broker.silent = []
        node.refresh()
        #expect(node.notices == [.topicGone(topic: "t")])
    }

    @Test func `a leader that answers when it is asked once more is not said to be stalled`() {
        var node = TestNode(brokers: 2, partitions: 2)
        node.broker.setLeader(0, 1, 2)
        node.refresh()
        node.drain()
        #expect(!node.reader.tracker.suspectsSilence(node.now))
        node.broker.silent = [2]
        node.refresh()
        #expect(node.reader.tracker.suspectsSilence(node.now) && !node.isStalled)
        node.wait(1_900)
        #expect(!node.isStalled)
        node.broker.silent = []
        node.refresh(after: 0)
        node.wait(100)
        #expect(!node.reader.tracker.suspectsSilence(node.now) && !node.isStalled)
        // One that does not is, and then there is nothing left to find out soon.
        node.broker.silent = [2]
        node.refresh(after: 1_900)
        for _ in 0..<4 { node.refresh(after: 500) }
        #expect(node.isStalled && !node.reader.tracker.suspectsSilence(node.now))
    }

    /// librdkafka may tell what was refused of the log of before when it was told to read the one of now already.
    @Test(arguments: [(3, 0), (3, 1), (1, 0)] as [(Int64, Int)])
    func `a refusal of before is none of the log that is read now`(offset: Int64, read: Int) {
        var node = TestNode(partitions: 1)
        node.write(1, 2, 3)
        node.refresh()
        node.drain()
        node.broker.create(0, partitions: 1)
        if read > 0 { node.write(4) }
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)])
        if read > 0 { node.drain() }
        node.reader.tracker.refuse(0, 0, offset: offset, node.now)
        node.write(5)
        for _ in 0..<3 {
            node.refresh()
            node.drain()
        }
        #expect(node.resyncs == [.recreated(topic: 0)] && !node.isStalled)
        #expect(node.records == (read > 0 ? [1, 2, 3, 4, 5] : [1, 2, 3, 5]))
    }

    @Test func `with fewer partitions it was recreated, if its leader says so too`() {
        var node = TestNode(brokers: 2, partitions: 3)
        node.write(1, to: 2)
        node.refresh()
        node.drain()
        node.forget()
        node.broker.create(0, partitions: 2)
        node.write(5, to: 1)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [5])
        #expect(node.notices == [.topicRecreated(topic: "t")])
    }
}

@Suite struct `At the start two answers agree` {
    @Test func `of two brokers, where there are two`() {
        var node = TestNode(brokers: 2, partitions: 1)
        node.broker.freeze(1)
        node.broker.addPartitions(0, to: 2)
        node.refresh()
        #expect(!node.isReady && node.broker.assigned == [] && node.notices == [.brokersDisagree])
        node.broker.thaw(1)
        node.refresh()
        node.drain()
        #expect(node.isReady && node.broker.assigned.count == 2)
    }

    @Test func `where there is one, twice`() {
        var node = TestNode()
        node.refresh()
        node.drain()
        #expect(node.isReady)
    }

    @Test func `if only one of two answers for long, it is believed`() {
        var node = TestNode(brokers: 2)
        node.broker.silent = [2]
        for _ in 0..<5 { node.refresh() }
        #expect(!node.isReady)
        node.refresh()
        node.refresh()
        node.drain()
        #expect(node.isReady)
    }

    @Test func `a refresh that no broker answers tells nothing of a topic`() {
        var node = TestNode(brokers: 2, partitions: nil)
        // Both have to tell the same first, which is one refresh.
        node.refresh()
        #expect(node.reader.tracker.topicAnswers.map(\.count) == [1])
        node.refresh()
        #expect(node.reader.tracker.topicAnswers.map(\.count) == [2])
        node.broker.silent = [1, 2]
        for _ in 0..<3 { node.refresh() }
        #expect(node.reader.tracker.topicAnswers.map(\.count) == [2])
        node.broker.silent = []
        node.broker.create(0, partitions: 1)
        node.refresh()
        #expect(node.reader.tracker.topicAnswers.map(\.count) == [3])
    }

    @Test func `a topic that both lack is missing, and read from its start when it is created`() {
        var node = TestNode(brokers: 2, partitions: nil)
        node.refresh()
        #expect(node.notices == [.topicMissing(topic: "t")])
        node.broker.create(0, partitions: 1)
        node.write(1, 2, stamp: 5)
        node.refresh()
        node.drain()
        #expect(node.records == [1, 2] && node.resyncs == [])
        #expect(node.facts()?.unread == nil && node.facts()?.born == 5)
    }

    @Test func `a cluster without an id has an empty one, and a partition without a leader is told as found`() {
        var node = TestNode(partitions: 2)
        node.broker.clusterID = ""
        node.broker.setLeader(0, 1, nil)
        node.refresh()
        node.drain()
        #expect(node.reader.tracker.clusterID == "")
        #expect(node.facts(1) == nil && node.facts(0) != nil && !node.isReady)
        #expect(node.changes.contains(.found(node.name(1))))
        #expect(node.notices == [.partitionWithoutLeader(topic: "t", partition: 1)])
        node.wait(2_500)
        #expect(node.isStalled)
        node.broker.setLeader(0, 1, 1)
        node.refresh()
        node.drain()
        #expect(node.isReady && !node.isStalled)
    }
}

@Suite struct `Topic ids decide alone` {
    @Test func `a topic that was recreated is noticed at once, longer than it was and with the same records`() {
        for ids in [true, false] {
            var node = TestNode(ids: ids)
            node.write(1, 2, 3)
            node.refresh()
            node.drain()
            node.refresh()
            node.forget()
            let old = node.facts()?.topicID
            let stamp = node.now.wall - 2_000
            node.broker.create(0, partitions: 1)
            // To the byte what was read, and one more.
            for payload in [1, 2, 3] { node.write(payload, stamp: stamp - 2_000) }
            node.write(4)
            node.refresh()
            node.drain()
            if ids {
                #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [1, 2, 3, 4])
                #expect(node.facts()?.topicID != old && node.facts()?.topicID != nil)
                #expect(node.facts()?.notBefore != nil)
            } else {
                #expect(node.resyncs == [], "nothing tells it from the one before")
            }
        }
    }

    @Test func `a topic that is recreated behind the answer about its id, and before that about its log, is so once`() {
        // Each row: before which step of the refresh.
        for step in 1..<12 {
            var node = TestNode(ids: true)
            node.write(1, 2, 3)
            node.refresh()
            node.drain()
            node.refresh()
            node.forget()
            node.refresh(beforeStep: step) { node in
                node.broker.create(0, partitions: 1)
                node.write(4)
            }
            for _ in 0..<3 {
                node.drain()
                node.refresh()
            }
            #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [4], "step \(step)")
        }
    }

    @Test func `a leader that still tells the id before is behind, and changes nothing`() {
        var node = TestNode(brokers: 2, partitions: 2, ids: true)
        node.write(1)
        node.refresh()
        node.drain()
        node.broker.freeze(2)
        node.broker.create(0, partitions: 2)
        node.write(2)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)])
        let id = node.facts()?.topicID
        for _ in 0..<3 { node.refresh() }
        node.broker.thaw(2)
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts()?.topicID == id)
    }

    @Test func `a log that was cut back keeps the id, and its positions have lost their meaning`() {
        var node = TestNode(ids: true)
        node.write(1, 2, 3, 4)
        node.refresh()
        node.drain()
        node.refresh()
        let (id, known) = (node.facts()?.topicID, node.facts()?.known ?? .max)
        node.broker.cutBack(0, 0, to: 2)
        node.refresh()
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts()?.topicID == id && id != nil)
        #expect(node.facts()?.notBefore ?? .min > known)
    }

    @Test func `the hash of an id is never 0, and no other than that of itself`() {
        let id = TopicID(high: 1, low: 2)
        #expect(id.hash == TopicID(high: 1, low: 2).hash && id.hash != TopicID(high: 2, low: 1).hash && id.hash != 0)
    }
}
