import Synchronization

/// Whether this node should be sent clients, and if not, why: one truth for upgrades, `/readyz` and the log.
///
/// Not ready until every topic exists and every partition has answered. From then on an unreachable broker refuses
/// nobody; it only turns `/readyz` false after `broker_grace`, so that a balancer prefers a node that still hears.
package final class NodeReadiness: Sendable {
    package enum Verdict: Equatable, Sendable {
        case ready
        case notReady(why: String)
        case draining
    }

    private struct State {
        var missing = "the broker has not answered yet"
        var lostSince: UInt64?
        var lostWhy = ""
        var isDraining = false
        /// Milliseconds; nil never turns `/readyz` false.
        var graceMilliseconds: UInt64?
    }

    private let state: Mutex<State>
    private let hasBeen = Atomic<Bool>(false)
    private let isRefusing = Atomic<Bool>(false)

    /// - Parameter graceMilliseconds: how long a broker may be lost; nil never turns `/readyz` false.
    package init(graceMilliseconds: UInt64?) {
        state = Mutex(State(graceMilliseconds: graceMilliseconds))
    }

    /// Another grace, for a loss that lasts too.
    func setGrace(milliseconds: UInt64?) {
        state.withLock { $0.graceMilliseconds = milliseconds }
    }

    /// Whether the node has ever been ready: what upgrades ask. One atomic load.
    package var hasBeenReady: Bool { hasBeen.load(ordering: .acquiring) }

    /// Whether requests are refused, since the node goes out of service. One atomic load.
    package var refusesRequests: Bool { isRefusing.load(ordering: .acquiring) }

    /// Every topic exists and every partition has answered. True the first time only.
    func becomeReady() -> Bool {
        state.withLock { $0.lostSince = nil }
        return !hasBeen.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Before the first readiness: what is still missing.
    func wait(for missing: String) {
        state.withLock { $0.missing = missing }
    }

    /// Something that was there has gone; the first call of a row sets the time.
    func lose(_ why: String, now: UInt64) {
        state.withLock {
            $0.lostSince = $0.lostSince ?? now
            $0.lostWhy = why
        }
    }

    func recover() {
        state.withLock { $0.lostSince = nil }
    }

    /// The node goes out of service, or comes back: what balancers are to know before clients are refused.
    func setDraining(_ isDraining: Bool) {
        state.withLock { $0.isDraining = isDraining }
    }

    func setRefusing(_ isRefusing: Bool) {
        self.isRefusing.store(isRefusing, ordering: .releasing)
    }

    package func verdict(now: UInt64) -> Verdict {
        let hasBeenReady = hasBeenReady
        return state.withLock { state in
            if state.isDraining { return .draining }
            if !hasBeenReady { return .notReady(why: state.missing) }
            if let grace = state.graceMilliseconds, let since = state.lostSince, now >= since + grace {
                return .notReady(why: state.lostWhy)
            }
            return .ready
        }
    }
}
