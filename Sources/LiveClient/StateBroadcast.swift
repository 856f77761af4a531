import LiveState
import Locks

/// The state of a client, for whoever looks at it now or follows it.
final class StateBroadcast: Sendable {
    private struct Kept {
        var state = ConnectionState.idle
        var followers: [Int: AsyncStream<ConnectionState>.Continuation] = [:]
        var last = 0
        var isOver = false
    }

    /// What a follower that does not read misses: the oldest beyond this.
    private static let maximumStates = 16

    private let kept = Lock(Kept())

    var state: ConnectionState { kept.withLock { $0.state } }

    /// The state now, and each that follows.
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

    /// The last state has come.
    func finish() {
        let followers = kept.withLock { kept in
            defer { kept.followers = [:] }
            kept.isOver = true
            return kept.followers.values.map { $0 }
        }
        for follower in followers { follower.finish() }
    }
}
