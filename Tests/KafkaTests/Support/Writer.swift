import Dispatch
import Glibc
import Kafka
import Synchronization
import TestHarness
import Testing

/// Writes numbers from 0 to a topic, some hundred a second over its partitions in turn, from another thread, through
/// whatever happens to the brokers.
///
/// What it wrote when a broker went may stand twice in the log: only an idempotent producer avoids that, and librdkafka's
/// gives up for good when a broker comes back in the wrong moment (before 2.3.0: "out of order sequence number",
/// librdkafka's pull request 4438). So Kafka's own log says what must come.
final class Writer: Sendable {
    private let brokers: String
    private let topic: String
    private let partitions: Int
    private let isEnding = Atomic<Bool>(false)
    private let outcome = Promise<Result<Int, any Error>>()

    init(brokers: String, topic: String, partitions: Int = 2) {
        (self.brokers, self.topic, self.partitions) = (brokers, topic, partitions)
        DispatchQueue(label: "writer").async { [self] in
            let result = Result { () throws -> Int in
                // One request at a time keeps the order where one is sent again.
                let producer = try Producer(
                    brokers: brokers, [("enable.idempotence", "false"), ("max.in.flight", "1")])
                var number = 0
                while !isEnding.load(ordering: .relaxed) {
                    if try producer.produce(
                        topic: topic, partition: Int32(number % partitions), value: bytes("\(number)"))
                    {
                        number += 1
                    }
                    producer.poll(3)
                }
                guard producer.flush(within: 90_000), producer.failed == 0 else {
                    throw NotDelivered(producer)
                }
                return number
            }
            outcome.fulfil(result)
        }
    }

    /// Stops; then everything that was acknowledged stands in the log, and the reading, which began before, gets what
    /// stands there: each record once, every partition in its order.
    func endAndJudge(_ reading: Reading) throws {
        let acknowledged = try end()
        let log = try Reading(ConsumerSettings(brokers: brokers, topics: [topic], retention: .seconds(3_600)))
        try #require(log.run { $0.isReady }, "\(log.readiness), \(log.notices)")
        let numbers = Set(log.values.compactMap { $0.flatMap { Int($0) } })
        #expect(numbers.isSuperset(of: 0..<acknowledged), "Kafka itself lost records")
        let isComplete = reading.run(within: .seconds(90)) { $0.entries.count >= log.entries.count }
        #expect(isComplete, "\(reading.entries.count) of \(log.entries.count), \(reading.notices)")
        for partition in 0..<Int32(partitions) {
            let read = reading.entries.filter { $0.partition == partition }
            let standing = log.entries.filter { $0.partition == partition }
            #expect(read.map(\.offset) == standing.map(\.offset), "partition \(partition)")
            #expect(read == standing, "partition \(partition)")
        }
    }

    /// Stops and says how many numbers were acknowledged: all of them, or it throws.
    private func end() throws -> Int {
        isEnding.store(true, ordering: .relaxed)
        // Longer than what it waits for the last answers.
        return try #require(outcome.wait(seconds: 300), "the writer does not end").get()
    }
}
