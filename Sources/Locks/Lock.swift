#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A value that one thread at a time uses.
///
/// `Mutex` of the standard library with the same interface, for targets that apps use: Apple's platforms have that one only from
/// iOS 18 and macOS 15 on. The corresponding C type is `pthread_mutex_t`; a thread that locks twice waits for itself.
// SAFETY: the mutex guards the value; both stay at one address as long as this object lives.
@safe
package final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe self.value = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe self.value.initialize(to: value)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe pthread_mutex_destroy(mutex)
        unsafe value.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the value while no other thread has it.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}
