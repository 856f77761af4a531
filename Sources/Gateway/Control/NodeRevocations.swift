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
        /// From which second since 1970 on everybody's tokens are good, and why only from then on.
        var everybody: [Revocations.Cause: Int64] = [:]
    }

    /// For so long after the moment from which on tokens are good nobody is sent to fetch one: the clock of whoever issues
    /// them may be behind ours by as much. What is refused meanwhile is to come again.
    static let settlingSeconds: Int64 = 5
    /// Who is refused for a token without `iat` comes again after so long and a little more: nothing changes soon.
    static let undatedRetrySeconds = 30
    /// No record speaks of later than 60 s, and 5 s more until what it says is settled: what takes longer than this tells of a
    /// clock that was set.
    static let maximumSettlingMilliseconds: UInt64 = 90_000

    private struct State {
        var revocations: Revocations
        var counts = Counts()
    }

    private let state: Mutex<State>
    /// Most nodes have nothing revoked: then nobody waits for a lock.
    private let isEmpty = Atomic<Bool>(true)

    /// What finds room.
    let maximumEntries: Int
    private let wallClock: @Sendable () -> Int64

    /// - Parameter wallClock: gives milliseconds since 1970.
    init(
        retention: Duration = .zero, maximumEntries: Int = Revocations.maximumEntries,
        wallClock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds }
    ) {
        self.maximumEntries = maximumEntries
        self.wallClock = wallClock
        state = Mutex(
            State(
                revocations: Revocations(
                    retentionMilliseconds: Int64(retention.milliseconds), now: Self.now,
                    wall: wallClock(), maximumEntries: maximumEntries)))
    }

    /// Monotonic, in milliseconds.
    private static var now: UInt64 { EventLoop.microseconds / 1000 }

    /// Why the token of this caller counts no more; nil where it does. Any thread; a few look-ups by text.
    func refusal(of identity: Identity) -> TokenRefusal? {
        guard !isEmpty.load(ordering: .acquiring) else { return nil }
        switch state.withLock({ $0.revocations.ground(against: identity, now: Self.now) }) {
        case nil: return nil
        case .meant: return .revoked
        case .everybody(let before):
            guard identity.issuedAt != nil else { return .undated }
            let isSettled = Self.millisecondsUntilSettled(before, wall: wallClock()) == 0
            return isSettled ? .olderThanRevoked : .unsettled
        }
    }

    /// Until a token that is fetched then is good, if only those from `before` on are.
    static func millisecondsUntilSettled(_ before: Int64, wall: Int64) -> UInt64 {
        let (moment, isLate) = before.addingReportingOverflow(settlingSeconds)
        let (milliseconds, isLater) = moment.multipliedReportingOverflow(by: 1000)
        guard !isLate, !isLater else { return .max }
        return UInt64(max(0, milliseconds.subtractingReportingOverflow(wall).partialValue))
    }

    /// The same for all that counts for everybody, no longer than ``maximumSettlingMilliseconds``.
    var millisecondsUntilSettled: UInt64 {
        let latest = counts.everybody.values.max()
        let wait = latest.map { Self.millisecondsUntilSettled($0, wall: wallClock()) } ?? 0
        return min(wait, Self.maximumSettlingMilliseconds)
    }

    /// The present as a loss takes it, in milliseconds since 1970: whatever is done to the wall clock, no earlier than the start
    /// and the time since.
    var present: Int64 {
        let (now, wall) = (Self.now, wallClock())
        return state.withLock { $0.revocations.present(now: now, wall: wall) }
    }

    /// The second since 1970 from which on tokens are good after a loss, where that is so far ahead that the clock must have
    /// been set back: since the loss, or since the start. Which of its times was right nobody here can know. Nil: it is near.
    var timeOutOfReach: Int64? {
        guard !isEmpty.load(ordering: .acquiring) else { return nil }
        return counts.everybody[.lost].flatMap {
            Self.millisecondsUntilSettled($0, wall: wallClock()) > Self.maximumSettlingMilliseconds ? $0 : nil
        }
    }

    /// Adds a revocation; false for one whose time has passed, which counts no more. Else loops are to be told afterwards.
    @discardableResult
    func add(_ revocation: Revocation) -> Bool {
        let (now, wall) = (Self.now, wallClock())
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

    /// Records were lost that may have revoked anybody, as of a second since 1970; false where that counts no more. Else loops
    /// are to be told afterwards.
    func lose(before: Int64) -> Bool {
        let (now, wall) = (Self.now, wallClock())
        return state.withLock {
            guard $0.revocations.lose(before: before, now: now, wall: wall) else { return false }
            isEmpty.store(false, ordering: .releasing)
            return true
        }
    }

    func countRejected() { state.withLock { $0.counts.rejected += 1 } }

    var counts: Counts {
        state.withLock {
            var counts = $0.counts
            counts.kept = $0.revocations.count
            for cause in Revocations.Cause.allCases {
                counts.everybody[cause] = $0.revocations.everybody(for: cause, now: Self.now)
            }
            return counts
        }
    }
    /// How much is kept.
    var count: Int { state.withLock { $0.revocations.count } }
    var room: Revocations.Room { state.withLock { $0.revocations.room } }
}
