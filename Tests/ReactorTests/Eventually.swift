import Dispatch
import Glibc
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

    /// Is something ready for ever? Then it comes between any two of the works that are given here one after another.
    func spins() -> Bool {
        let rounds = 300
        let first = run { self.tickNumber }
        for _ in 0..<rounds { run {} }
        let ticks = run { self.tickNumber } - first
        return ticks > UInt64(rounds) + 50
    }
}

// SAFETY: tests hand a closure to one loop and wait for it.
private struct UncheckedParcel<Result>: @unchecked Sendable {
    let work: () -> Result

    init(_ work: @escaping () -> Result) { self.work = work }
}

/// Looks again and again until a condition holds; false after the deadline, which only ends tests that have failed.
func waitUntil(seconds: Int = 20, _ condition: () -> Bool) -> Bool {
    for _ in 0..<(seconds * 1000) {
        if condition() { return true }
        usleep(1000)
    }
    return condition()
}

/// A value that a loop writes and a test reads.
final class Shared<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    init(_ value: Value) { stored = Mutex(value) }

    var value: Value { stored.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) {
        stored.withLock { value in
            var copy = value
            body(&copy)
            value = copy
        }
    }
}

/// Sees whether something is still there.
// SAFETY: the reference is only tested for nil, and weak references may be read from any thread.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private weak var object: Object?

    init(_ object: Object) { self.object = object }

    var isAlive: Bool { object != nil }
}

/// What the reactor threw, if it did.
func errorOf(_ body: () throws -> Void) -> ReactorError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ReactorError
    }
}
