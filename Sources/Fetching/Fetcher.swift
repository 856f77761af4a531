import Synchronization

/// Asks servers by HTTP, on a thread of its own: no loop ever waits for one.
///
/// One thread drives all requests (libcurl's multi interface), keeps connections open between them, and resolves names on
/// further threads. Proxies of the environment are not used: where a node connects to stands in its settings alone.
package final class Fetcher: Sendable {
    /// What may be open at once: the questions of introspection (64), and one fetch for each issuer of tokens.
    package static let maximumOpen = 256

    package typealias Done = @Sendable (Result<[UInt8], FetchError>) -> Void

    private let handle: MultiHandle
    private let queue = FetchQueue()

    /// Starts the thread.
    ///
    /// - Throws: ``FetchError/broken(_:)`` where libcurl or the system has no room for it.
    package init() throws(FetchError) {
        handle = try MultiHandle()
        try FetchThread(handle, queue).start()
    }

    deinit { stop() }

    /// Asks, and calls `done` once, on the fetcher's thread, which it must not keep; at once, on the caller's, where nothing
    /// can be asked.
    package func fetch(_ request: FetchRequest, _ done: @escaping Done) {
        if let refusal = queue.add(FetchQueue.Job(request: request, done: done)) { return done(.failure(refusal)) }
        handle.wake()
    }

    /// Ends the thread. What is open ends with ``FetchError/stopped``.
    package func stop() {
        queue.stop()
        handle.wake()
    }
}

/// What is to be asked, between those who ask and the thread.
final class FetchQueue: Sendable {
    struct Job: Sendable {
        let request: FetchRequest
        let done: Fetcher.Done
    }

    private struct State {
        /// Not begun yet.
        var waiting: [Job] = []
        /// Begun or waiting: at most ``Fetcher/maximumOpen``.
        var open = 0
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Why it cannot be asked; nil when it will be.
    func add(_ job: Job) -> FetchError? {
        state.withLock { state in
            if state.isStopped { return .stopped }
            if state.open >= Fetcher.maximumOpen { return .busy(limit: Fetcher.maximumOpen) }
            state.open += 1
            state.waiting.append(job)
            return nil
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// What is to begin, and whether the thread is to end instead.
    func take() -> (jobs: [Job], isStopped: Bool) {
        state.withLock { (exchange(&$0.waiting, with: []), $0.isStopped) }
    }

    func end(_ job: Job, _ result: Result<[UInt8], FetchError>) {
        state.withLock { $0.open -= 1 }
        job.done(result)
    }
}
