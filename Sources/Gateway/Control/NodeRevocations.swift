import LiveUpdates
import Reactor
import Synchronization
import Tokens

/// The revocations of the whole node. Every loop asks it when a credential has become an identity, and for its connections when
/// something was added. The reader of the control topic fills it.
///
/// No revocation is lost between the acceptance of a token and its connection. A loop asks, and gives the connection its
/// identity, in one step; an addition is complete before any loop is notified of it. So a client that was checked before the
/// addition is among the loop's connections by then. One that is checked after it is refused.
final class NodeRevocations: Sendable {
    /// Records of the control topic since the start.
    struct Counts: Sendable, Equatable {
        var byKind: [Revocation.Kind: Int] = [:]
        var rejected = 0
        /// What is kept now.
        var kept = 0
        /// The second since 1970 from which on the tokens of all clients are good, by cause.
        var allTokens: [Revocations.Cause: Int64] = [:]
    }

    /// For so long after the moment from which on tokens are good, no client is asked to fetch one: the issuer's clock may be
    /// behind ours by as much. A client that is refused meanwhile is asked to retry.
    static let settlingSeconds: Int64 = 5
    /// A client that is refused for a token without `iat` retries after this and a little more: nothing changes soon.
    static let undatedRetrySeconds = 30
    /// No record names a time more than 60 s ahead, and 5 s more pass until it is settled. A longer time means a changed clock.
    static let maximumSettlingMilliseconds: UInt64 = 90_000

    private struct State {
        var revocations: Revocations
        var counts = Counts()
    }

    private let state: Mutex<State>
    /// Most nodes have no revocations: then no caller waits for a lock.
    private let isEmpty = Atomic<Bool>(true)

    /// The number of revocations that can be kept.
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
        case .allTokens(let before):
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

    /// The same for revocations that count for all tokens, no longer than ``maximumSettlingMilliseconds``.
    var millisecondsUntilSettled: UInt64 {
        let latest = counts.allTokens.values.max()
        let wait = latest.map { Self.millisecondsUntilSettled($0, wall: wallClock()) } ?? 0
        return min(wait, Self.maximumSettlingMilliseconds)
    }

    /// The present for a loss, in milliseconds since 1970: even if the wall clock is set back, no earlier than the start plus the
    /// time since.
    var present: Int64 {
        let (now, wall) = (Self.now, wallClock())
        return state.withLock { $0.revocations.present(now: now, wall: wall) }
    }

    /// The second since 1970 from which on tokens are good after a loss, if it is so far ahead that the clock must have been set
    /// back: since the loss, or since the start. This node cannot know which of its times was right. Nil: it is near.
    var timeOutOfReach: Int64? {
        guard !isEmpty.load(ordering: .acquiring) else { return nil }
        return counts.allTokens[.lost].flatMap {
            Self.millisecondsUntilSettled($0, wall: wallClock()) > Self.maximumSettlingMilliseconds ? $0 : nil
        }
    }

    /// Adds a revocation; false for one whose time has passed, which counts no more. Otherwise the caller notifies loops after
    /// it.
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

    /// Removes revocations that have ended, which count no more already.
    func sweep() {
        state.withLock {
            $0.revocations.forget(now: Self.now)
            isEmpty.store($0.revocations.isEmpty, ordering: .releasing)
        }
    }

    /// Records were lost that may have revoked any token, as of a second since 1970; false where that counts no more. Otherwise
    /// the caller notifies loops after it.
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
                counts.allTokens[cause] = $0.revocations.allTokens(for: cause, now: Self.now)
            }
            return counts
        }
    }
    /// How much is kept.
    var count: Int { state.withLock { $0.revocations.count } }
    var room: Revocations.Room { state.withLock { $0.revocations.room } }
}
