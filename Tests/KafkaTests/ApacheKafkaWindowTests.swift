import KafkaLogs
import Testing

@testable import Kafka

extension AgainstApacheKafka {
    @Suite(.serialized) struct `The window` {
        let kafka: ApacheKafka
        let administrator: Administrator
        let topic = freshTopic()

        init() throws {
            kafka = try ApacheKafka.cluster(.current)
            administrator = try kafka.administrator()
        }

        private func windowed(_ topics: String..., readying: Bool = true) throws -> Reading {
            let reading = try Reading(
                ConsumerSettings(brokers: kafka.plaintext, topics: topics, retention: .seconds(3_600)))
            if readying { try #require(reading.run { $0.isReady }, "\(reading.readiness)") }
            return reading
        }

        private func write(_ producer: Producer, _ partition: Int32, _ numbers: Range<Int>, at time: Int64) throws {
            for number in numbers {
                _ = try producer.produce(
                    topic: topic, partition: partition, value: bytes("\(partition) \(number)"),
                    timestamp: time + Int64(number))
            }
            guard producer.flush(within: 20_000), producer.failed == 0 else { throw NotDelivered(producer) }
        }

        @Test func `each partition is read from where its window begins, and what is known of it is right`() throws {
            try administrator.createTopic(topic, partitions: 4)
            let now = WallClock.now
            let (old, young) = (now - 7_200_000, now - 600_000)
            let producer = try kafka.producer()
            try write(producer, 0, 0..<100, at: old)
            try write(producer, 0, 100..<150, at: young)
            try write(producer, 1, 0..<30, at: young)
            try write(producer, 2, 0..<20, at: old)
            let reading = try windowed(topic)
            #expect(reading.loading == LoadingProgress(offsetsRead: 80, offsetsLeft: 0))
            #expect(reading.entries.count == 80)
            #expect(reading.entries.filter { $0.partition == 0 }.map(\.offset) == Array(100..<150))
            #expect(reading.entries.filter { $0.partition == 1 }.map(\.offset) == Array(0..<30))
            let facts = reading.facts
            #expect(facts.map(\.start) == [100, 0, 20, 0])
            #expect(facts.map(\.liveFrom) == [150, 30, 20, 0])
            #expect(facts.map(\.next) == [150, 30, 20, 0])
            #expect(facts[0].born == old && facts[1].born == young && facts[2].born == old && facts[3].born == nil)
            for fact in [facts[0], facts[2]] {
                let before = fact.unread?.stampedBefore
                #expect(before.map { (now - 3_600_000...WallClock.now - 3_600_000).contains($0) } == true)
            }
            #expect(facts[1].unread == nil && facts[3].unread == nil, "everything that there ever was")
            let later = WallClock.now
            try #require(reading.run { $0.isKnown(after: later) })
            #expect(reading.consumer.tracker.clusterID?.isEmpty == false)
            #expect(reading.resyncs.isEmpty)
        }

        @Test func `a log whose start was removed is known from its first record on`() throws {
            try administrator.createTopic(
                topic, settings: [("segment.bytes", "1048576"), ("retention.bytes", "1048576")])
            let now = WallClock.now
            let producer = try kafka.producer()
            let large = [UInt8](repeating: 0x78, count: 500_000)
            for number in 0..<12 {
                _ = try producer.produce(
                    topic: topic, partition: 0, value: large, timestamp: now - 60_000 + Int64(number))
            }
            try #require(producer.flush(within: 20_000))
            try waitForRetention(kafka, topic)
            let reading = try windowed(topic)
            let fact = try #require(reading.facts.first)
            let first = try #require(reading.entries.first)
            #expect(fact.start == first.offset && fact.start > 0)
            #expect(fact.born == nil, "what is left of a log tells nothing of its beginning")
            #expect(fact.unread?.stampedBefore == now - 60_000 + first.offset)
        }

        @Test func `aborted records at the beginning and at the end, and partitions added while loading`() throws {
            try administrator.createTopic(topic)
            let producer = try kafka.producer([("transactional.id", topic)])
            try producer.beginTransactions()
            for (value, commits) in [("no", false), ("no", false), ("yes", true), ("no", false)] {
                try producer.beginTransaction()
                try producer.send(topic, 0, value, value)
                if commits { try producer.commitTransaction() } else { try producer.abortTransaction() }
            }
            let reading = try windowed(topic, readying: false)
            try #require(reading.run { $0.facts.count == 1 })
            try administrator.growTopic(topic, to: 2)
            try kafka.producer().send(topic, 1, "added")
            try #require(reading.run { $0.isReady && $0.entries.count == 3 })
            #expect(Set(reading.values) == ["yes", "added"])
            let facts = reading.facts
            #expect(facts.map(\.start) == [0, 0] && facts.map(\.unread) == [nil, nil])
            #expect(facts[0].liveFrom == 12)
            let later = WallClock.now
            try #require(reading.run { $0.isKnown(after: later) })
            #expect(reading.resyncs.isEmpty)
        }

        @Test func `loading says how far it is`() throws {
            try administrator.createTopic(topic)
            try write(try kafka.producer(), 0, 0..<5_000, at: WallClock.now - 600_000)
            let reading = try windowed(topic, readying: false)
            reading.batch = 100
            try #require(reading.run { $0.entries.count >= 100 })
            let progress = reading.loading
            #expect(progress.offsetsRead == Int64(reading.entries.count))
            #expect(progress.offsetsLeft == 5_000 - progress.offsetsRead)
            #expect(reading.readiness.offsetsLeft == progress.offsetsLeft && !reading.isReady)
            #expect(progress.secondsLeft.map { (590...700).contains($0) } == true)
            try #require(reading.run { $0.isReady })
            #expect(reading.loading.isLoaded && reading.loading.secondsLeft == nil)
        }
    }
}

/// Until the log begins behind offset 1, and has begun there for two rounds of the broker's cleaner, a second each: what
/// is still to be removed would be found missing later, once more.
func waitForRetention(_ kafka: ApacheKafka, _ topic: String) throws {
    let probes = try Consumer(ConsumerSettings(brokers: kafka.plaintext, topics: [topic])).probes
    let log = PartitionName(topic: 0, number: 0)
    let deadline = ContinuousClock.now + .seconds(30)
    var (start, since) = (Int64(0), ContinuousClock.now)
    while ContinuousClock.now < deadline {
        let answer = probes.answer(Probe(question: .offsets([log], .logStart), timeout: 1_000))
        guard case .offsets(let starts) = answer, let found = starts[0].offset else { continue }
        if found != start { (start, since) = (found, ContinuousClock.now) }
        if start > 1, ContinuousClock.now - since > .milliseconds(2_500) { return }
    }
    Issue.record("retention removed nothing in 30 s")
}
