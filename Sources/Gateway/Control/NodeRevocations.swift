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
        /// What is kept now.
        var kept = 0
    }

    private struct State {
        var revocations: Revocations
        var counts = Counts()
    }

    private let state: Mutex<State>
    /// Most nodes have nothing revoked: then nobody waits for a lock.
    private let isEmpty = Atomic<Bool>(true)

    /// What finds room.
    let maximumEntries: Int

    init(retention: Duration = .zero, maximumEntries: Int = Revocations.maximumEntries) {
        self.maximumEntries = maximumEntries
        state = Mutex(
            State(
                revocations: Revocations(
                    retentionMilliseconds: Int64(retention.milliseconds), now: Self.now,
                    wall: WallClock.milliseconds, maximumEntries: maximumEntries)))
    }

    /// Monotonic, in milliseconds.
    private static var now: UInt64 { EventLoop.microseconds / 1000 }

    /// Why the token of this caller counts no more; nil where it does. Any thread; a few look-ups by text.
    func refusal(of identity: Identity) -> TokenRefusal? {
        guard !isEmpty.load(ordering: .acquiring) else { return nil }
        return switch state.withLock({ $0.revocations.ground(against: identity, now: Self.now) }) {
        case .meant: .revoked
        case .noRoom: .olderThanRevoked
        case nil: nil
        }
    }

    /// Adds a revocation; false for one whose time has passed, which counts no more. Else loops are to be told afterwards.
    @discardableResult
    func add(_ revocation: Revocation) -> Bool {
        let (now, wall) = (Self.now, WallClock.milliseconds)
        return state.withLock {
            $0.counts.byKind[revocation.target.kind, default: 0] += 1
            guard $0.revocations.add(revocation, now: now, wall: wall) else { return false }
            isEmpty.store($0.revocations.isEmpty, ordering: .releasing)
            return true
        }
    }

    /// Lets go what has ended, which counts no more already.
    func sweep() {
        state.withLock {
            $0.revocations.forget(now: Self.now)
            isEmpty.store($0.revocations.isEmpty, ordering: .releasing)
        }
    }

    func countRejected() { state.withLock { $0.counts.rejected += 1 } }

    var counts: Counts {
        state.withLock {
            var counts = $0.counts
            counts.kept = $0.revocations.count
            return counts
        }
    }
    /// How much is kept.
    var count: Int { state.withLock { $0.revocations.count } }
    var room: Revocations.Room { state.withLock { $0.revocations.room } }
}
