import LiveState
import Locks

/// Cancels work that is not done by its deadline.
enum Deadline {
    typealias Sleep = @Sendable (Milliseconds) async throws -> Void

    /// Returns what `body` returns. After the deadline, or when this task is cancelled, it cancels `body` and throws at once. If
    /// `body` ignores the cancellation, its later result is dropped.
    ///
    /// - Parameters:
    ///   - late: the error to throw after the deadline; by default the same as for a request without an answer.
    ///   - sleep: waits for the deadline.
    static func run<Value: Sendable>(
        milliseconds: Milliseconds, late: any Error & Sendable = RequestError(status: nil),
        sleep: @escaping Sleep = { try await Task.sleep(for: .milliseconds($0)) },
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let race = Race<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { winner in
                race.begin(winner, body) {
                    guard (try? await sleep(milliseconds.limited())) != nil else { return }
                    race.end(.failure(late))
                }
            }
        } onCancel: {
            race.end(.failure(CancellationError()))
        }
    }
}

/// A piece of work and its deadline. The first of the two to finish ends both.
private final class Race<Value: Sendable>: Sendable {
    private struct State {
        var winner: CheckedContinuation<Value, any Error>?
        var tasks: [Task<Void, Never>] = []
        var isOver = false
    }

    private let state = Lock(State())

    func begin(
        _ winner: CheckedContinuation<Value, any Error>, _ body: @escaping @Sendable () async throws -> Value,
        _ deadline: @escaping @Sendable () async -> Void
    ) {
        let isOver = state.withLock { state in
            guard !state.isOver else { return true }
            state.winner = winner
            let work = Task {
                do { self.end(.success(try await body())) } catch { self.end(.failure(error)) }
            }
            state.tasks = [work, Task { await deadline() }]
            return false
        }
        // The task was cancelled before it began.
        if isOver { winner.resume(throwing: CancellationError()) }
    }

    func end(_ result: Result<Value, any Error>) {
        let (winner, tasks) = state.withLock { state in
            defer { state = State(isOver: true) }
            return (state.winner, state.tasks)
        }
        for task in tasks { task.cancel() }
        winner?.resume(with: result)
    }
}
