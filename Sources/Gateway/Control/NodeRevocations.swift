import LiveUpdates
import Reactor
import Synchronization
import Tokens

/// What is revoked, of the whole node: every loop asks it when a credential has become an identity, and for its connections
/// when something was added. The reader of the control topic fills it.
///
/// No revocation slips between the acceptance of a token and its connection. A loop asks, and gives the connection its
/// identity, in one go; what is added is added before any loop is told of it. So whoever was judged before the addition
/// stands among the loop's connections when the loop is told, and whoever is judged after it is refused.
final class NodeRevocations: Sendable {
    /// Records of the control topic since the start.
    struct Counts: Sendable, Equatable {
        var byKind: [Revocation.Kind: Int] = [:]
        var rejected = 0
    }

    private struct State {
        var revocations: Revocations
        var counts = Counts()
    }

    private let state: Mutex<State>
    /// Most nodes have nothing revoked: then nobody waits for a lock.
    private let isEmpty = Atomic<Bool>(true)

    init(retention: Duration = .zero) {
        state = Mutex(
            State(
                revocations: Revocations(
                    retentionMilliseconds: Int64(retention.milliseconds), now: Self.now,
                    wall: WallClock.milliseconds)))
    }

    /// Monotonic, in milliseconds.
    private static var now: UInt64 { EventLoop.microseconds / 1000 }

    /// Whether the token of this caller counts no more. Any thread; a few look-ups by text.
    func revokes(_ identity: Identity) -> Bool {
        guard !isEmpty.load(ordering: .acquiring) else { return false }
        return state.withLock { $0.revocations.revokes(identity, now: Self.now) }
    }

    /// Loops are to be told afterwards.
    func add(_ revocation: Revocation) {
        let (now, wall) = (Self.now, WallClock.milliseconds)
        state.withLock {
            $0.counts.byKind[revocation.target.kind, default: 0] += 1
            $0.revocations.add(revocation, now: now, wall: wall)
            isEmpty.store($0.revocations.isEmpty, ordering: .releasing)
        }
    }

    /// Lets go what has ended.
    func sweep() {
        state.withLock {
            $0.revocations.forget(now: Self.now)
            isEmpty.store($0.revocations.isEmpty, ordering: .releasing)
        }
    }

    func countRejected() { state.withLock { $0.counts.rejected += 1 } }

    var counts: Counts { state.withLock { $0.counts } }
    /// How much is kept.
    var count: Int { state.withLock { $0.revocations.count } }
    var isOverfull: Bool { state.withLock { $0.revocations.isOverfull } }
}
