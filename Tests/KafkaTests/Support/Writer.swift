import Dispatch
import Glibc
import Kafka
import Synchronization

/// Writes numbers from 0 to a topic, some hundred a second over its partitions in turn, from another thread, through
/// whatever happens to the brokers.
final class Writer: Sendable {
    private let isEnding = Atomic<Bool>(false)
    private let outcome = Mutex<Result<Int, any Error>?>(nil)

    init(brokers: String, topic: String, partitions: Int = 2) {
        DispatchQueue(label: "writer").async { [self] in
            let result = Result { () throws -> Int in
                let producer = try Producer(brokers: brokers)
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
            outcome.withLock { $0 = result }
        }
    }

    /// Stops and says how many numbers were acknowledged: all of them, or it throws.
    func end() throws -> Int {
        isEnding.store(true, ordering: .relaxed)
        while true {
            if let outcome = outcome.withLock({ $0 }) { return try outcome.get() }
            usleep(1_000)
        }
    }
}
