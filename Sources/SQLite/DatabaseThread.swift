#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A queue of jobs for a thread that sleeps while there are none.
// SAFETY: the mutex guards the jobs and the flag; it and the condition live, at one address, as long as this object.
@safe
private final class JobQueue: @unchecked Sendable {
    @safe
    struct Job {
        let job: UnownedJob
        let executor: UnownedSerialExecutor
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [Job] = []
    private var isStopped = false

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    func add(_ job: Job) {
        unsafe pthread_mutex_lock(mutex)
        jobs.append(job)
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    func stop() {
        unsafe pthread_mutex_lock(mutex)
        isStopped = true
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for jobs. Empty: it was stopped, and no jobs are left.
    func take() -> [Job] {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while jobs.isEmpty && !isStopped { unsafe pthread_cond_wait(condition, mutex) }
        defer { jobs = [] }
        return jobs
    }
}

/// A thread of its own for an actor that waits for the disk, so that no event loop and no thread of Swift's pool does.
///
/// The thread ends with the last reference to this object.
package final class DatabaseThread: SerialExecutor {
    private let queue = JobQueue()

    /// Starts the thread. It receives no signals: they belong to the threads that wait for them.
    package init() throws(SQLiteError) {
        let failure = Self.start(queue)
        guard failure == 0 else {
            throw SQLiteError(code: Int32(failure), message: "no thread (error \(failure))", statement: nil)
        }
    }

    deinit { queue.stop() }

    package func enqueue(_ job: consuming ExecutorJob) {
        unsafe queue.add(JobQueue.Job(job: UnownedJob(job), executor: asUnownedSerialExecutor()))
    }

    private static func start(_ queue: JobQueue) -> Int32 {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let retained = unsafe Unmanaged.passRetained(queue)
        let failure = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                DatabaseThread.run(unsafe Unmanaged<JobQueue>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, retained.toOpaque())
        if failure == 0 { pthread_detach(thread) } else { unsafe retained.release() }
        return failure
    }

    /// The actor that a job belongs to keeps its executor until the job has ended.
    private static func run(_ queue: JobQueue) {
        while case let jobs = queue.take(), !jobs.isEmpty {
            for job in jobs { unsafe job.job.runSynchronously(on: job.executor) }
        }
    }
}

/// A value that is used on a thread of its own, such as a database with its cache.
package actor ThreadBound<Value> {
    private let thread: DatabaseThread
    private var value: Value?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

    package init() throws(SQLiteError) { thread = try DatabaseThread() }

    /// Makes the value, on its thread.
    package func open(_ make: @Sendable () throws -> Value) throws {
        precondition(value == nil, "there is a value")
        value = try make()
    }

    /// Runs `body` with the value. Nil: there is none, or no longer.
    package func run<Result: Sendable>(_ body: @Sendable (Value) throws -> Result) throws -> Result? {
        guard let value else { return nil }
        return try body(value)
    }

    package func close() { value = nil }
}
