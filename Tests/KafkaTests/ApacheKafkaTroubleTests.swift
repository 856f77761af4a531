import Testing

@testable import Kafka
@testable import KafkaLogs

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Brokers that fail and come back` {
        let kafka: ApacheKafka
        let topic = freshTopic()

        init() throws {
            kafka = try ApacheKafka.cluster(.current)
            try kafka.run("fault", "all", "pass")
            try kafka.administrator().createTopic(topic, partitions: 2)
        }

        /// A stall is reckoned by the monotonic clock, in whole milliseconds, and told by the wall clock.
        static let rounding: Int64 = 10

        /// Writes while the trouble lasts, and until reading goes on; then everything that stands in the log must have come.
        private func check(_ reading: Reading, while trouble: (Reading) throws -> Void) throws {
            let writer = Writer(brokers: kafka.plaintext, topic: topic)
            try #require(reading.run { $0.entries.count > 10 })
            try trouble(reading)
            let count = reading.entries.count
            // A broker that starts on a busy machine takes its time until its partitions have leaders.
            try #require(reading.run(within: .seconds(90)) { $0.entries.count > count + 10 })
            try writer.endAndJudge(reading)
        }

        @Test func `connections cut again and again lose nothing and raise no alarm`() throws {
            let reading = try kafka.reading(topic, at: kafka.faults)
            try check(reading) { reading in
                for _ in 0..<5 {
                    try kafka.run("fault", "all", "cut")
                    reading.run(for: .milliseconds(300))
                    try kafka.run("fault", "all", "pass")
                    reading.run(for: .milliseconds(700))
                }
            }
            // On a machine that is busy enough nothing comes for so long, and then the alarm is right.
            #expect(!reading.has(.allBrokersDown) || reading.longestPause >= Consumer.outageDebounce)
        }

        @Test func `refused connections are told, without spinning, and consumption goes on where it stopped`() throws {
            let reading = try kafka.reading(topic, at: kafka.faults)
            try check(reading) { reading in
                try kafka.run("fault", "all", "refuse")
                try #require(reading.run { $0.has(.connectionRefused) && $0.has(.allBrokersDown) })
                let wakes = reading.wakes
                reading.run(for: .seconds(2))
                #expect(reading.wakes - wakes < 60)
                try kafka.run("fault", "all", "pass")
            }
            #expect(reading.run { $0.has(.recovered) })
        }

        @Test func `a broker that says nothing is told, and consumption goes on where it stopped`() throws {
            let reading = try kafka.reading(topic, at: kafka.faults, [("socket.timeout.ms", "3000")])
            try check(reading) { reading in
                try kafka.run("fault", "all", "stall")
                try #require(reading.run { $0.has(.allBrokersDown) })
                try kafka.run("fault", "all", "pass")
            }
            #expect(reading.run { $0.has(.recovered) })
        }

        @Test func `a paused broker that goes on loses nothing`() throws {
            let reading = try kafka.reading(topic)
            try check(reading) { reading in
                try kafka.run("pause", "1")
                reading.run(for: .seconds(4))
                try kafka.run("resume", "1")
            }
        }

        @Test func `a broker that is killed and started again loses nothing that it acknowledged`() throws {
            let reading = try kafka.reading(topic)
            try check(reading) { reading in
                // So that requests of the writer are under way, of which nobody knows whether they were written.
                try kafka.run("pause", "1")
                reading.run(for: .milliseconds(300))
                try kafka.run("kill", "1")
                reading.run(for: .seconds(1))
                try kafka.run("start-node", "1")
            }
            #expect(reading.has(.connectionRefused))
            #expect(reading.run { $0.has(.recovered) })
        }

        @Test func `a cluster that cannot be reached at the start is read as soon as it can`() throws {
            try kafka.run("fault", "all", "refuse")
            let reading = try kafka.reading(topic, at: kafka.faults, readying: false)
            try #require(reading.run { $0.has(.allBrokersDown) })
            #expect(!reading.isReady)
            #expect(reading.consumer.unreachableSince != nil)
            reading.refreshInterval = .seconds(2)
            let wakes = reading.wakes
            reading.run(for: .seconds(4))
            // From 2.11.0 on the library begins again with the first addresses every 50 ms, and says so each time.
            #expect(reading.wakes - wakes < (KafkaLibrary.versionNumber < 0x020B_0000 ? 60 : 120))
            try kafka.run("fault", "all", "pass")
            try #require(reading.run { $0.isReady })
            try kafka.producer().send(topic, 0, "hello")
            try #require(reading.run { $0.values == ["hello"] })
        }

        @Test func `records that retention removed while we were away cost one notice, and reading goes on`() throws {
            let short = freshTopic()
            try kafka.administrator().createTopic(
                short, settings: [("segment.bytes", "1048576"), ("retention.bytes", "1048576")])
            let reading = try kafka.reading(short, at: kafka.faults)
            let producer = try kafka.producer()
            try producer.send(short, 0, "first")
            try #require(reading.run { $0.values == ["first"] })
            try kafka.run("fault", "all", "refuse")
            let large = String(repeating: "x", count: 500_000)
            for _ in 0..<12 { try producer.send(short, 0, large) }
            try waitForRetention(kafka, short)
            try kafka.run("fault", "all", "pass")
            try producer.send(short, 0, "last")
            try #require(reading.run { $0.values.last == "last" })
            #expect(reading.count(.positionOutOfRange) == 1)
            #expect(reading.notice(.positionOutOfRange)?[.offset] == "1")
            let offsets = reading.entries.map(\.offset)
            #expect(offsets == offsets.sorted() && offsets.count < 14)
        }

        @Test func `a leader that says nothing stalls the source, and one cut connection does not`() throws {
            let reading = try kafka.reading(topic, at: kafka.faults)
            reading.refreshInterval = .seconds(2)
            try kafka.run("fault", "all", "cut")
            try kafka.run("fault", "all", "pass")
            // Silence of that length stalls it, as on a machine that is busy enough; one cut connection alone does not.
            _ = reading.run(refreshes: 3) { reading in
                if case .stalled(let since) = reading.consumer.tracker.sourceState(.now) {
                    #expect(WallClock.now - since >= AnswerWatch.patience - Self.rounding)
                }
                return false
            }
            try #require(reading.run { !$0.isStalled })
            let live = WallClock.now
            // Whatever answers last before the stall, it is this refresh or a later one.
            _ = reading.run(refreshes: 1) { _ in false }
            try kafka.run("fault", "all", "stall")
            try #require(reading.run { $0.isStalled })
            guard case .stalled(let since) = reading.consumer.tracker.sourceState(.now) else { return }
            #expect(since >= live - Self.rounding)
            #expect(
                reading.consumer.tracker.sourceState(.now) == .stalled(since: since),
                "since then, however long it lasts")
            try kafka.run("fault", "all", "pass")
            try #require(reading.run { !$0.isStalled })
        }

        @Test(arguments: [
            ("refuse", ["fault", "all", "refuse"], ["fault", "all", "pass"]),
            ("pause", ["pause", "1"], ["resume", "1"]),
        ])
        func `so do brokers that refuse or pause`(_ name: String, _ begin: [String], _ end: [String]) throws {
            let reading = try kafka.reading(topic, at: kafka.faults)
            reading.refreshInterval = .seconds(2)
            try kafka.run(begin)
            let isStalled = reading.run { $0.isStalled }
            #expect(isStalled)
            try kafka.run(end)
            try #require(reading.run { !$0.isStalled })
        }
    }
}
