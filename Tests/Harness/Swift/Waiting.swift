import Dispatch
import Glibc
import Synchronization

/// Something that happens once, on another thread, and that a test waits for.
package final class Promise<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func fulfil(_ new: Value) {
        let first = value.withLock { value in
            defer { if value == nil { value = new } }
            return value == nil
        }
        if first { semaphore.signal() }
    }

    /// Nil if it did not happen within the deadline, which is generous: it only ends tests that have failed.
    package func wait(seconds: Int = 60) -> Value? {
        _ = semaphore.wait(timeout: .now() + .seconds(seconds))
        semaphore.signal()
        return value.withLock { $0 }
    }
}

/// Asks again and again until a condition holds; false after the deadline, which only ends tests that have failed.
package func waitUntil(seconds: Int = 60, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = DispatchTime.now() + .seconds(seconds)
    while DispatchTime.now() < deadline {
        if try condition() { return true }
        usleep(1000)
    }
    return try condition()
}

/// As ``waitUntil(seconds:_:)``, without keeping the thread. Time in which no task had its turn does not count: what a test
/// waits for may need one too, and tests that keep threads leave none for anybody.
package func eventually(seconds: Int = 60, _ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = DispatchTime.now() + .seconds(seconds)
    // A sixth of those that a free machine has in the time.
    var turns = seconds * 1_000 / pauseMilliseconds / 6
    while turns > 0 || DispatchTime.now() < deadline {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(pauseMilliseconds))
        turns -= 1
    }
    return try await condition()
}

private let pauseMilliseconds = 5

/// Does something unless it is cancelled before: what a test that has failed needs in order to end.
package func alarm(seconds: Int = 60, _ ring: @escaping @Sendable () async -> Void) -> Task<Void, any Error> {
    Task {
        try await Task.sleep(for: .seconds(seconds))
        await ring()
    }
}

/// A wait of somebody whose clock stands still.
package func waitUntilCancelled() async throws { try await Task.sleep(for: .seconds(3_600)) }

/// A value that a loop writes and a test reads.
package final class Shared<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    package init(_ value: Value) { stored = Mutex(value) }

    package var value: Value { stored.withLock { $0 } }

    package func update(_ body: (inout Value) -> Void) {
        stored.withLock { value in
            var copy = value
            body(&copy)
            value = copy
        }
    }
}

/// Knows whether something is still there.
// SAFETY: the reference is only tested for nil, and weak references may be read from any thread.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private weak var object: Object?

    package init(_ object: Object) { self.object = object }

    package var isAlive: Bool { object != nil }
}
