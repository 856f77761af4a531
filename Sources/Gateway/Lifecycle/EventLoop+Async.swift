import Reactor

extension EventLoop {
    /// Runs work on the loop and waits for its result; for starting and stopping, never on the data path.
    func perform<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: work()) }
        }
    }
}
