import Dispatch
import Synchronization

@testable import Reactor

/// Something that happens once, on another thread, and that a test waits for.
final class Promise<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func fulfil(_ new: Value) {
        let first = value.withLock { value in
            defer { if value == nil { value = new } }
            return value == nil
        }
        if first { semaphore.signal() }
    }

    /// Nil if it did not happen within the deadline, which is generous: it only ends tests that have failed.
    func wait(seconds: Int = 20) -> Value? {
        _ = semaphore.wait(timeout: .now() + .seconds(seconds))
        semaphore.signal()
        return value.withLock { $0 }
    }
}

extension EventLoop {
    /// Runs work on the loop and waits for its result.
    func run<Result: Sendable>(_ work: @escaping () -> Result) -> Result {
        let promise = Promise<Result>()
        let parcel = UncheckedParcel(work)
        execute { promise.fulfil(parcel.work()) }
        return promise.wait()!
    }
}

// SAFETY: tests hand a closure to one loop and wait for it.
private struct UncheckedParcel<Result>: @unchecked Sendable {
    let work: () -> Result

    init(_ work: @escaping () -> Result) { self.work = work }
}
