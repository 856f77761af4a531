// Tests: ClientHandle.swift, ConsumerHandle.swift, MockCluster.swift, Record.swift

import CRdKafka
import Glibc
import TestHarness
import Testing

@testable import Kafka
@testable import KafkaLogs

@Suite(.serialized) struct `Consumer with the embedded broker` {
    let cluster: MockCluster
    let producer: Producer

    init() throws {
        cluster = try MockCluster()
        producer = try Producer(brokers: cluster.bootstrap)
    }

    @Test func `a consumer is ready when every partition has answered, and reads what comes after that`() throws {
        try cluster.createTopic("incidents", partitions: 4)
        try producer.send("incidents", 0, "before")
        let reading = try Reading(cluster, "incidents")
        #expect(reading.readiness.topicsMissing == ["incidents"])
        try #require(reading.run { $0.isReady })
        for number in 0..<40 { try producer.send("incidents", Int32(number % 4), "\(number)") }
        try #require(reading.run { $0.entries.count == 40 })
        for partition in 0..<4 {
            let values = reading.entries.filter { $0.partition == partition }.map(\.value)
            #expect(values == stride(from: partition, to: 40, by: 4).map { "\($0)" })
        }
        #expect(!reading.values.contains("before"))
        #expect(reading.positions == [11, 10, 10, 10])
    }

    @Test func `a log is known from the moment it was found, and so are cursors of the first seconds`() throws {
        try cluster.createTopic("t")
        try producer.send("t", 0, "before")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { !$0.facts.isEmpty })
        for fact in reading.facts { #expect(fact.known ?? .max >= fact.born ?? .min) }
    }

    @Test func `a refusal that names no position is one of ours`() throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        try producer.send("t", 0, "1", "2")
        try #require(reading.run { $0.entries.count == 2 })
        func refused() -> Int64? { reading.consumer.tracker[PartitionName(topic: 0, number: 0)]?.refused }
        #expect(refused() == nil)
        // RD_KAFKA_OFFSET_INVALID, as it comes since 2.1 from a leader whose log was cut back.
        reading.consumer.tracker.refuse(0, 0, offset: -1_001, .now)
        #expect(refused() == 2)
        reading.consumer.tracker.refuse(0, 0, offset: 0, .now)
        #expect(refused() == 0)
    }

    @Test func `keys, headers, tombstones and empty values arrive as they are`() throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        _ = try producer.produce(topic: "t", key: bytes("k"), value: nil)
        _ = try producer.produce(topic: "t", value: [])
        let headers: [(String, [UInt8]?)] = [("x", bytes("0")), ("h", bytes("1")), ("h", bytes("2"))]
        _ = try producer.produce(topic: "t", value: bytes("v"), headers: headers.map { (name: $0, value: $1) })
        _ = try producer.produce(topic: "t", value: bytes("w"), headers: [(name: "h", value: nil)])
        #expect(producer.flush(within: 60_000))
        try #require(reading.run { $0.entries.count == 4 })
        #expect(reading.values == [nil, "", "v", "w"])
        #expect(reading.entries.map(\.key) == ["k", nil, nil, nil])
        #expect(reading.headers == ["1"])
    }

    @Test func `time stamps arrive as they are, and −1 is none`() throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        let stamps: [Int64] = [.min, -2, -1, 1, .max]
        for stamp in stamps {
            _ = try producer.produce(topic: "t", partition: 0, value: bytes("v"), timestamp: stamp)
            #expect(producer.flush(within: 60_000))
        }
        try #require(reading.run { $0.entries.count == stamps.count })
        #expect(reading.stamps == [.min, -2, nil, 1, .max])
    }

    @Test(arguments: [
        (Consumer.maximumBatch - 1, Consumer.maximumBatch - 1), (Consumer.maximumBatch, Consumer.maximumBatch),
        (Consumer.maximumBatch + 1, Consumer.maximumBatch),
    ])
    func `a drain gives no more than is asked for, and never more than a batch`(_ asked: Int, _ given: Int) throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        #expect(reading.stopRefreshing())
        let count = 2 * Consumer.maximumBatch
        for number in 0..<count { _ = try producer.produce(topic: "t", partition: 0, value: bytes("\(number)")) }
        #expect(producer.flush(within: 60_000))
        // So many wait in the library.
        let isThere = waitUntil { unsafe rd_kafka_queue_length(reading.consumer.handle.queue) >= count }
        try #require(isThere)
        var records = 0
        #expect(reading.consumer.drain(maximum: asked) { _ in records += 1 } == given)
        // The end of the partition may have been one of them.
        #expect((given - 1...given).contains(records))
    }

    @Test func `a topic that is missing is told, and read from its beginning once it is made`() throws {
        try cluster.createTopic("there")
        try cluster.createTopic("later", partitions: 2)
        try producer.send("later", 0, "a")
        try producer.send("later", 1, "b")
        // The embedded broker makes topics that are asked for, so this one is only said to be missing.
        cluster.setError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, topic: "later")
        let reading = try Reading(cluster, "there", "later")
        try #require(reading.run { $0.has(.topicMissing) })
        #expect(reading.readiness.topicsMissing == ["later"])
        #expect(reading.notice(.topicMissing)?[.topic] == "later")
        cluster.setError(nil, topic: "later")
        try #require(reading.run { $0.isReady && $0.entries.count == 2 })
        #expect(reading.has(.topicFound))
    }

    @Test func `a broker that goes and comes back loses nothing and is told with its end`() throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        try producer.send("t", 0, "1")
        try #require(reading.run { $0.entries.count == 1 })
        try cluster.setDown()
        try #require(reading.run { $0.has(.allBrokersDown) })
        #expect(reading.consumer.unreachableSince != nil)
        let wakes = reading.wakes
        reading.run(for: .seconds(2))
        #expect(reading.wakes - wakes < 50)
        try cluster.setUp()
        try producer.send("t", 0, "2")
        try #require(reading.run { $0.entries.count == 2 && $0.has(.recovered) })
        #expect(reading.values == ["1", "2"])
        #expect(reading.consumer.unreachableSince == nil)
    }

    @Test func `the record before those of another leader is remembered, wherever the batches end`() throws {
        let cluster = try MockCluster(brokers: 2)
        try cluster.createTopic("t")
        try cluster.setLeader(1, topic: "t", partition: 0)
        let producer = try Producer(brokers: cluster.bootstrap)
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        func handover() -> Int64? {
            reading.consumer.tracker[PartitionName(topic: 0, number: 0)]?.anchor.handover?.offset
        }
        try producer.send("t", 0, "1", "2")
        try #require(reading.run { $0.entries.count == 2 })
        #expect(handover() == nil)
        try cluster.setLeader(2, topic: "t", partition: 0)
        try producer.send("t", 0, "3", "4")
        try #require(reading.run { $0.entries.count == 4 })
        #expect(handover() == 1)
    }

    @Test(arguments: [
        RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
    ])
    func `a partition whose fetches fail is stalled after two refreshes, and goes on where it stood`(
        _ code: rd_kafka_resp_err_t
    ) throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        try producer.send("t", 0, "1")
        try #require(reading.run { $0.values == ["1"] })
        reading.refreshInterval = .seconds(2)
        cluster.pushErrors(Array(repeating: code, count: 100_000), request: 1)
        try producer.send("t", 0, "2")
        let isStalled = reading.run(refreshes: 3) { $0.isStalled }
        #expect(isStalled)
        cluster.clearErrors(request: 1)
        try #require(reading.run { $0.values == ["1", "2"] && !$0.isStalled })
        #expect(reading.resyncs.isEmpty && reading.isReady)
    }

    @Test func `an error that librdkafka cannot survive is told and kept`() throws {
        try cluster.createTopic("t")
        let reading = try Reading(cluster, "t")
        try #require(reading.run { $0.isReady })
        #expect(reading.consumer.fatalError == nil)
        reading.consumer.injectFatalError("out of order")
        let error = try #require(reading.consumer.fatalError)
        #expect(error.contains("out of order"))
        try #require(reading.run { $0.has(.fatal) })
        #expect(reading.notice(.fatal)?.level == .error)
    }

    @Test func `with the embedded broker, which finds no offsets by time, the window is empty and no alarm is raised`()
        throws
    {
        try cluster.createTopic("t")
        try producer.send("t", 0, "before")
        let reading = try Reading(
            ConsumerSettings(
                brokers: cluster.bootstrap, topics: ["t"], properties: [("fetch.wait.max.ms", "10")],
                retention: .seconds(3_600)))
        try #require(reading.run { $0.isReady })
        try producer.send("t", 0, "after")
        try #require(reading.run { $0.values == ["after"] })
        let later = WallClock.now
        try #require(reading.run { $0.isKnown(after: later) })
        #expect(reading.resyncs.isEmpty)
        #expect(reading.facts.map(\.start) == [1])
    }
}
