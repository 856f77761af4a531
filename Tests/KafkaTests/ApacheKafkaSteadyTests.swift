import Foundation
import Synchronization
import Testing

@testable import Kafka

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Logs that stay what they are` {
        /// Longer by `LIVEGATE_STEADY_SECONDS`; 600 is what a release is tried with.
        static let seconds = ProcessInfo.processInfo.environment["LIVEGATE_STEADY_SECONDS"].flatMap { Int($0) } ?? 28

        /// A reader that is behind by more loses records, and says so; a busy machine makes it wait for some seconds. Shorter
        /// than the whole, so that records are removed while others are written.
        private static let retentionSeconds = 20

        /// What happens to a log that must raise no alarm.
        enum Wear: CaseIterable {
            case retention, compaction, transactions, disorder, future, backwards

            var settings: [(String, String)] {
                let compacted = [
                    ("cleanup.policy", "compact"), ("segment.ms", "300"), ("min.cleanable.dirty.ratio", "0.01"),
                    ("min.compaction.lag.ms", "0"), ("max.compaction.lag.ms", "300"),
                ]
                return switch self {
                case .retention: [("segment.ms", "300"), ("retention.ms", "\(1_000 * retentionSeconds)")]
                case .compaction: compacted
                default: []
                }
            }

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
            // Of a log that is found later, the first records may be gone by then.
            try #require(reading.run(within: .seconds(240)) { $0.isReady }, "\(reading.readiness)")
            let writers = zip(names, Wear.allCases).map { WearingWriter(kafka.plaintext, $0, $1) }
            reading.refreshInterval = Self.seconds > 60 ? .seconds(2) : .milliseconds(300)
            let end = ContinuousClock.now + .seconds(Self.seconds)
            reading.keepsEntries = false
            let hasEnough = reading.run(within: .seconds(Self.seconds + 120)) {
                .now > end && $0.recordCount > 100 * names.count
            }
            #expect(hasEnough, "\(reading.recordCount) records were read")
            func expectNoAlarm() {
                let told = reading.notices.filter { $0.level >= .warning }
                let wear = zip(names, Wear.allCases).map { "\($0) \($1)" }
                #expect(reading.resyncs.isEmpty, "\(told) of \(wear), longest pause \(reading.longestPause)")
            }
            expectNoAlarm()
            for writer in writers { writer.beginToEnd() }
            // What they still write is read meanwhile: it does not stay for ever.
            let haveEnded = reading.run(within: .seconds(240)) { _ in writers.allSatisfy { $0.hasEnded } }
            try #require(haveEnded, "the writers do not end")
            for writer in writers { try writer.result() }
            // And then nothing is written for a while, and the rest is removed.
            expectNoAlarm()
            _ = reading.run(within: .seconds(Self.retentionSeconds + 2)) { !$0.resyncs.isEmpty }
            expectNoAlarm()
            let later = WallClock.now
            let isKnown = reading.run { $0.isKnown(after: later) && !$0.isStalled }
            #expect(isKnown, "each log is known still: \(reading.facts), stalled \(reading.isStalled)")
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
                if wear.isTransactional { try Self.beginTransactions(producer) }
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
                    guard producer.flush(within: 90_000) else { throw NotDelivered(producer) }
                    if Bool.random() { try producer.commitTransaction() } else { try producer.abortTransaction() }
                }
                guard producer.flush(within: 90_000) else { throw NotDelivered(producer) }
                if wear.isTransactional, number % 20 != 0 { try producer.abortTransaction() }
            }
            outcome.withLock { $0 = result }
        }
    }

    /// A broker that has begun a moment ago may be loading what it knows of transactions.
    private static func beginTransactions(_ producer: Producer) throws {
        for _ in 0..<10 where (try? producer.beginTransactions()) != nil { return }
        try producer.beginTransactions()
    }

    /// What is under way is delivered yet.
    func beginToEnd() { isEnding.store(true, ordering: .relaxed) }

    var hasEnded: Bool { outcome.withLock { $0 != nil } }

    /// Throws what made it end too early.
    func result() throws { try outcome.withLock { $0 }?.get() }
}
