import Foundation
import Synchronization
import Testing

@testable import Kafka

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Logs that stay what they are` {
        /// Longer by `LIVEGATE_STEADY_SECONDS`; 600 is what a release is tried with.
        static let seconds = ProcessInfo.processInfo.environment["LIVEGATE_STEADY_SECONDS"].flatMap { Int($0) } ?? 8

        /// What happens to a log that must raise no alarm.
        enum Wear: CaseIterable {
            case retention, compaction, transactions, disorder, future, backwards

            var settings: [(String, String)] {
                let compacted = [
                    ("cleanup.policy", "compact"), ("segment.ms", "300"), ("min.cleanable.dirty.ratio", "0.01"),
                    ("min.compaction.lag.ms", "0"), ("max.compaction.lag.ms", "300"),
                ]
                return switch self {
                case .retention: [("segment.ms", "300"), ("retention.ms", retentionMilliseconds)]
                case .compaction: compacted
                default: []
                }
            }

            /// A reader that is behind by more loses records, and says so: in ten minutes a busy machine makes it wait for
            /// longer than in ten seconds.
            private var retentionMilliseconds: String { seconds > 60 ? "20000" : "3000" }

            var isTransactional: Bool { self == .transactions }

            /// The time stamp of a record.
            func time(_ number: Int) -> Int64 {
                let now = WallClock.now
                switch self {
                case .disorder: return now - Int64.random(in: 0..<300_000)
                case .future: return number % 50 == 0 ? now + 3_000_000 : now
                // A clock that is set back every now and then.
                case .backwards: return now - Int64(number / 100 % 3) * 120_000
                default: return now
                }
            }
        }

        @Test func `retention, compaction, aborts and time stamps of all kinds raise no alarm`() throws {
            let kafka = try ApacheKafka.cluster(.current)
            let names = Wear.allCases.map { _ in freshTopic() }
            for (name, wear) in zip(names, Wear.allCases) {
                try kafka.administrator().createTopic(name, partitions: 2, settings: wear.settings)
            }
            let reading = try Reading(
                ConsumerSettings(brokers: kafka.plaintext, topics: names, retention: .seconds(3_600)))
            let writers = zip(names, Wear.allCases).map { WearingWriter(kafka.plaintext, $0, $1) }
            reading.refreshInterval = Self.seconds > 60 ? .seconds(2) : .milliseconds(300)
            let end = ContinuousClock.now + .seconds(Self.seconds)
            reading.keepsEntries = false
            _ = reading.run(within: .seconds(Self.seconds + 1)) { _ in .now > end }
            #expect(reading.resyncs.isEmpty, "\(reading.notices.filter { $0.level >= .warning }) of \(names)")
            for writer in writers { try writer.end() }
            // And then nothing is written for a while, and the rest is removed.
            _ = reading.run(within: .seconds(4)) { !$0.resyncs.isEmpty }
            #expect(reading.resyncs.isEmpty)
            let later = WallClock.now
            let isKnown = reading.run { $0.isKnown(after: later) }
            #expect(isKnown, "each log is known still: \(reading.facts)")
            #expect(!reading.isStalled)
            #expect(reading.recordCount > 100 * names.count)
            print("\(reading.recordCount) records were read of logs that stay what they are")
        }
    }
}

/// Writes some hundred records a second, from another thread.
private final class WearingWriter: Sendable {
    private let isEnding = Atomic<Bool>(false)
    private let outcome = Mutex<Result<Void, any Error>?>(nil)

    init(_ brokers: String, _ topic: String, _ wear: AgainstApacheKafka.`Logs that stay what they are`.Wear) {
        DispatchQueue(label: "writer").async { [self] in
            let result = Result { () throws -> Void in
                let producer = try Producer(
                    brokers: brokers, wear.isTransactional ? [("transactional.id", topic)] : [])
                if wear.isTransactional { try producer.beginTransactions() }
                var number = 0
                while !isEnding.load(ordering: .relaxed) {
                    if wear.isTransactional, number % 20 == 0 { try producer.beginTransaction() }
                    _ = try producer.produce(
                        topic: topic, partition: Int32(number % 2), key: bytes("\(number % 3)"),
                        value: bytes("\(number)"), timestamp: wear.time(number))
                    producer.poll(3)
                    number += 1
                    guard wear.isTransactional, number % 20 == 0 else { continue }
                    // What is under way when a transaction is aborted leaves holes in the sequence numbers in 2.0.2.
                    guard producer.flush(within: 30_000) else { throw NotDelivered(producer) }
                    if Bool.random() { try producer.commitTransaction() } else { try producer.abortTransaction() }
                }
                guard producer.flush(within: 30_000) else { throw NotDelivered(producer) }
                if wear.isTransactional, number % 20 != 0 { try producer.abortTransaction() }
            }
            outcome.withLock { $0 = result }
        }
    }

    func end() throws {
        isEnding.store(true, ordering: .relaxed)
        while true {
            if let outcome = outcome.withLock({ $0 }) { return try outcome.get() }
            usleep(1_000)
        }
    }
}
