import Locks
import Testing

struct LockTests {
    private final class Counter {
        var count = 0
    }

    private final class Witness: Sendable {}

    @Test func `one thread at a time has the value`() async {
        let lock = Lock(Counter())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2_000 { lock.withLock { $0.count += 1 } }
                }
            }
        }
        #expect(lock.withLock { $0.count } == 16_000)
    }

    @Test func `what is thrown comes out, and leaves the lock free`() {
        let lock = Lock(1)
        #expect(throws: CancellationError.self) {
            try lock.withLock { number in
                number = 2
                throw CancellationError()
            }
        }
        #expect(lock.withLock { $0 } == 2)
    }

    @Test func `the value goes with its lock`() {
        weak var witness: Witness?
        do {
            let value = Witness()
            witness = value
            let lock = Lock(value)
            lock.withLock { $0 = value }
        }
        #expect(witness == nil)
    }
}
