import LiveState
import Locks

/// The state of a client, for code that reads it once or follows it.
final class StateBroadcast: Sendable {
    private struct Kept {
        var state = ConnectionState.idle
        var followers: [Int: AsyncStream<ConnectionState>.Continuation] = [:]
        var last = 0
        var isOver = false
    }

    /// How many states wait for a follower that does not read. Beyond that it loses the oldest.
    private static let maximumStates = 16

    private let kept = Lock(Kept())

    var state: ConnectionState { kept.withLock { $0.state } }

    /// The current state, then each later state.
    func follow() -> AsyncStream<ConnectionState> {
        let (stream, continuation) = AsyncStream<ConnectionState>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.maximumStates))
        let number: Int? = kept.withLock { kept in
            continuation.yield(kept.state)
            guard !kept.isOver else { return nil }
            kept.last += 1
            kept.followers[kept.last] = continuation
            return kept.last
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.kept.withLock { $0.followers[number] = nil } }
        return stream
    }

    func send(_ state: ConnectionState) {
        let followers = kept.withLock { kept in
            kept.state = state
            return kept.followers.values.map { $0 }
        }
        for follower in followers { follower.yield(state) }
    }

    /// Ends all followers after the last state.
    func finish() {
        let followers = kept.withLock { kept in
            defer { kept.followers = [:] }
            kept.isOver = true
            return kept.followers.values.map { $0 }
        }
        for follower in followers { follower.finish() }
    }
}
