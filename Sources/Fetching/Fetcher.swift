import Synchronization

/// Sends HTTP requests to servers, on its own thread: no loop ever waits for an answer.
///
/// One thread drives all requests (libcurl's multi interface), keeps connections open between them, and resolves names on
/// further threads. It ignores the environment's proxies: only the settings decide where a node connects to.
package final class Fetcher: Sendable {
    /// The most open requests: introspection requests (64), and one fetch for each issuer of tokens.
    package static let maximumOpen = 256

    package typealias Done = @Sendable (Result<[UInt8], FetchError>) -> Void

    private let handle: MultiHandle
    private let queue = FetchQueue()

    /// Starts the thread.
    ///
    /// - Throws: ``FetchError/broken(_:)`` where libcurl or the system has no memory for it.
    package init() throws(FetchError) {
        handle = try MultiHandle()
        try FetchThread(handle, queue).start()
    }

    deinit { stop() }

    /// Sends a request and calls `done` once, on the fetcher's thread, which `done` must not block. If the request cannot be
    /// sent, `done` is called at once, on the caller's thread.
    package func fetch(_ request: FetchRequest, _ done: @escaping Done) {
        if let refusal = queue.add(FetchQueue.Job(request: request, done: done)) { return done(.failure(refusal)) }
        handle.wake()
    }

    /// Ends the thread. Open requests end with ``FetchError/stopped``.
    package func stop() {
        queue.stop()
        handle.wake()
    }
}

/// The waiting requests, between the callers and the thread.
final class FetchQueue: Sendable {
    struct Job: Sendable {
        let request: FetchRequest
        let done: Fetcher.Done
    }

    private struct State {
        /// Not started yet.
        var waiting: [Job] = []
        /// Started or waiting: at most ``Fetcher/maximumOpen``.
        var open = 0
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Adds a request. Returns why it cannot be sent; nil when it will be sent.
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

    /// Removes and returns the requests to start, and whether the thread must end instead.
    func take() -> (jobs: [Job], isStopped: Bool) {
        state.withLock { (exchange(&$0.waiting, with: []), $0.isStopped) }
    }

    func end(_ job: Job, _ result: Result<[UInt8], FetchError>) {
        state.withLock { $0.open -= 1 }
        job.done(result)
    }
}
