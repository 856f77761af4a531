// Tests: Administrator.swift, ProbeClient.swift

import Testing

@testable import Kafka

/// Everything that needs a real broker, one test after the other: two cores run it all.
@Suite(.serialized, .enabled(if: ApacheKafka.isThere, "no ../shared/kafka or no java on PATH: not run"))
enum AgainstApacheKafka {}

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Logs and positions` {
        let kafka: ApacheKafka
        let administrator: Administrator
        let topic = freshTopic()

        init() throws {
            kafka = try ApacheKafka.cluster(.current)
            administrator = try kafka.administrator()
        }

        @Test func `aborted records never come, and a transaction that is open at the start comes once committed`()
            throws
        {
            try administrator.createTopic(topic)
            let plain = try kafka.producer()
            let one = try kafka.producer([("transactional.id", "one-\(topic)")])
            let two = try kafka.producer([("transactional.id", "two-\(topic)")])
            try one.beginTransactions()
            try two.beginTransactions()
            try plain.send(topic, 0, "before")
            try one.beginTransaction()
            try one.send(topic, 0, "open at the start")
            try plain.send(topic, 0, "behind the open one")
            let reading = try kafka.reading(topic)
            try two.beginTransaction()
            try two.send(topic, 0, "aborted")
            try two.abortTransaction()
            try one.send(topic, 0, "of the open one, later")
            reading.run(for: .seconds(1))
            #expect(reading.entries.isEmpty)
            try one.commitTransaction()
            try plain.send(topic, 0, "last")
            try #require(reading.run { $0.values.last == "last" })
            #expect(
                reading.values == ["open at the start", "behind the open one", "of the open one, later", "last"])
        }

        @Test func `a position is the end that was reached, past the records that nobody sees`() throws {
            try administrator.createTopic(topic)
            let producer = try kafka.producer([("transactional.id", topic)])
            try producer.beginTransactions()
            let reading = try kafka.reading(topic)
            #expect(reading.positions == [0])
            try producer.beginTransaction()
            try producer.send(topic, 0, "a", "b")
            try producer.abortTransaction()
            // Two records and the control record of the abort.
            #expect(reading.run { $0.positions == [3] })
            #expect(reading.entries.isEmpty)
        }

        @Test(arguments: ["gzip", "snappy", "lz4", "zstd"])
        func `compressed records arrive`(codec: String) throws {
            try administrator.createTopic(topic)
            let reading = try kafka.reading(topic)
            let producer = try kafka.producer([("compression.type", codec), ("linger.ms", "20")])
            let long = String(repeating: "all the same ", count: 100)
            for number in 0..<100 { _ = try producer.produce(topic: topic, value: bytes("\(number) \(long)")) }
            try #require(
                reading.run {
                    producer.poll()
                    return $0.entries.count == 100
                })
            #expect(reading.values == (0..<100).map { "\($0) \(long)" })
        }

        @Test func `a record of 10 MB arrives`() throws {
            try administrator.createTopic(topic, settings: [("max.message.bytes", "10485760")])
            let reading = try kafka.reading(topic)
            let producer = try kafka.producer([("message.max.bytes", "10485760")])
            let value = String(repeating: "0123456789", count: 1_040_000)
            try producer.send(topic, 0, value, "after")
            try #require(reading.run { $0.entries.count == 2 })
            #expect(reading.values == [value, "after"])
        }

        @Test func `a compacted topic is read over its holes to its end`() throws {
            try administrator.createTopic(
                topic,
                settings: [
                    ("cleanup.policy", "compact"), ("segment.ms", "100"), ("min.cleanable.dirty.ratio", "0.01"),
                    ("min.compaction.lag.ms", "0"), ("max.compaction.lag.ms", "100"),
                ])
            let producer = try kafka.producer()
            var number: Int64 = 0
            func write() throws {
                _ = try producer.produce(topic: topic, partition: 0, key: bytes("k"), value: bytes("\(number)"))
                #expect(producer.flush(within: 10_000))
                number += 1
            }
            for _ in 0..<50 { try write() }
            let deadline = ContinuousClock.now + .seconds(60)
            var offsets: [Int64] = []
            repeat {
                // What is written last is never compacted, nor is anything else of its segment: only a record that comes
                // 100 ms later begins another one.
                try write()
                let reading = try Reading(
                    ConsumerSettings(brokers: kafka.plaintext, topics: [topic], retention: .seconds(3_600)))
                try #require(reading.run { $0.positions == [number] })
                offsets = reading.entries.map(\.offset)
            } while offsets.count == number && ContinuousClock.now < deadline
            #expect(offsets.count < number, "not compacted in 60 s")
            #expect(offsets.last == number - 1 && offsets == offsets.sorted())
        }

        @Test func `a partition that is added is read from its beginning and the others go on`() throws {
            try administrator.createTopic(topic, partitions: 2)
            let reading = try kafka.reading(topic)
            reading.refreshInterval = .seconds(2)
            var producer = try kafka.producer()
            try producer.send(topic, 0, "a0")
            try producer.send(topic, 1, "a1")
            try #require(reading.run { $0.entries.count == 2 })
            try administrator.growTopic(topic, to: 4)
            producer = try kafka.producer()
            for partition in 0..<4 { try producer.send(topic, Int32(partition), "b\(partition)") }
            // Their leaders have acknowledged records: the next refresh finds them.
            let isFound = reading.run(refreshes: 2) { $0.has(.partitionsAdded) }
            #expect(isFound)
            try #require(reading.run { $0.entries.count == 6 })
            for partition in 0..<4 {
                let expected = (partition < 2 ? ["a\(partition)"] : []) + ["b\(partition)"]
                #expect(reading.entries.filter { $0.partition == partition }.map(\.value) == expected)
            }
            #expect(reading.notice(.partitionsAdded)?[.count] == "2")
        }

        @Test func `a topic created later is read from its beginning, and is never created by us`() throws {
            let producer = try kafka.producer()
            let reading = try kafka.reading(topic, readying: false)
            try #require(reading.run { $0.has(.topicMissing) })
            reading.run(for: .seconds(2))
            // The broker creates topics for whoever asks to; had we asked, it would be there.
            #expect(reading.readiness.topicsMissing == [topic])
            try administrator.createTopic(topic, partitions: 3)
            for partition in 0..<3 { try producer.send(topic, Int32(partition), "\(partition)") }
            try #require(reading.run { $0.isReady && $0.entries.count == 3 })
            #expect(reading.count(.topicFound) == 1)
        }

        @Test func `a topic that is deleted is told, not created again by us, and read from its start when it is back`()
            throws
        {
            try administrator.createTopic(topic, partitions: 2)
            let producer = try kafka.producer()
            let reading = try kafka.reading(topic)
            try producer.send(topic, 0, "1", "2", "3")
            try #require(reading.run { $0.entries.count == 3 })
            try administrator.deleteTopic(topic)
            try #require(reading.run { $0.has(.topicGone) })
            reading.run(for: .seconds(3))
            #expect(!reading.has(.topicFound))
            #expect(reading.positions.isEmpty)
            try administrator.createTopic(topic, partitions: 1)
            try kafka.producer().send(topic, 0, "new")
            try #require(reading.run { $0.values.last == "new" })
            #expect(reading.entries.last?.offset == 0)
            #expect(reading.values == ["1", "2", "3", "new"])
        }

        @Test func `a topic recreated at once and shorter is read from its beginning with one notice and one event`()
            throws
        {
            try administrator.createTopic(topic, partitions: 1)
            let reading = try kafka.reading(topic)
            try kafka.producer().send(topic, 0, "1", "2", "3")
            try #require(reading.run { $0.entries.count == 3 })
            try administrator.deleteTopic(topic)
            try administrator.createTopic(topic, partitions: 1)
            try kafka.producer().send(topic, 0, "new")
            try #require(reading.run { $0.values.last == "new" })
            reading.run(for: .seconds(1))
            #expect(reading.recreated == [topic])
            #expect(reading.count(.positionOutOfRange) == 0)
            #expect(reading.values == ["1", "2", "3", "new"])
        }
    }
}
