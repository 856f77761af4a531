import Synchronization

/// Whether this node should get clients, and if not, why: the one source for upgrades, `/readyz` and the log.
///
/// Not ready until every topic exists and every partition has answered. From then on an unreachable broker causes no refusals.
/// It only turns `/readyz` false after `broker_grace`, where one is set, so that a balancer prefers a node that still reaches
/// one.
package final class NodeReadiness: Sendable {
    package enum Verdict: Equatable, Sendable {
        case ready
        case notReady(Part, why: String)
        case draining
    }

    /// The parts of readiness, in the order of `/readyz?verbose`. A part that is not configured is well.
    package enum Part: String, CaseIterable, Sendable {
        case loops, window, broker, keys, control, archive, reload, draining

        /// An operator should know of the others, but they do not harm clients.
        var makesUnready: Bool { self != .reload && self != .archive }
    }

    private struct State {
        var missing = "the broker has not answered yet"
        var lostSince: UInt64?
        var lostWhy = ""
        var isDraining = false
        /// Milliseconds; nil never turns `/readyz` false.
        var graceMilliseconds: UInt64?
        /// What other parts of the program have reported.
        var problems: [Part: String] = [:]
        /// The same for problems that do not make the part fail.
        var warnings: [Part: String] = [:]
        /// Before the first readiness: whether a broker answers at all.
        var reachesBroker = true
        /// Before the first readiness: only other things than the window still have to be read.
        var isWindowLoaded = false
        /// There is a control topic.
        let hasControl: Bool
        /// The control topic was not read back yet.
        var awaitsControl: Bool
        var controlLostSince: UInt64?
        var controlWhy = "the control topic has not been read yet"
    }

    private let state: Mutex<State>
    private let hasBeen = Atomic<Bool>(false)
    private let isRefusing = Atomic<Bool>(false)

    /// - Parameters:
    ///   - graceMilliseconds: how long a broker may be lost; nil never turns `/readyz` false.
    ///   - awaitsControl: whether the node is not ready before the control topic was read back.
    package init(graceMilliseconds: UInt64?, awaitsControl: Bool = false) {
        state = Mutex(
            State(graceMilliseconds: graceMilliseconds, hasControl: awaitsControl, awaitsControl: awaitsControl))
    }

    /// Sets another grace, which also counts for a present loss.
    func setGrace(milliseconds: UInt64?) {
        state.withLock { $0.graceMilliseconds = milliseconds }
    }

    /// Whether the node has ever been ready: what upgrades ask. One atomic load.
    package var hasBeenReady: Bool { hasBeen.load(ordering: .acquiring) }

    /// Whether requests are refused, since the node goes out of service. One atomic load.
    package var refusesRequests: Bool { isRefusing.load(ordering: .acquiring) }

    /// Every topic with events exists and every partition has answered. True once: when the control topic was read too, without
    /// which no client is admitted. To be called again until then.
    func becomeReady() -> Bool {
        let awaitsControl = state.withLock {
            $0.lostSince = nil
            $0.isWindowLoaded = true
            return $0.awaitsControl
        }
        return !awaitsControl && !hasBeen.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Before the first readiness: what is still missing.
    func wait(for missing: String) {
        state.withLock {
            $0.missing = missing
            $0.isWindowLoaded = false
        }
    }

    /// Why revocations may be missing; nil: all that are written arrive. The first nil ends the wait for the control topic.
    /// Afterwards a loss counts after the grace, like one of a broker: revoked clients stay out, and no others are refused.
    func noteControl(_ why: String?, now: UInt64) {
        state.withLock {
            guard let why else {
                $0.awaitsControl = false
                $0.controlLostSince = nil
                return
            }
            $0.controlLostSince = $0.controlLostSince ?? now
            $0.controlWhy = why
        }
    }

    /// Whether all that was written to the control topic before the start is known, if there is one.
    var hasReadControl: Bool { state.withLock { !$0.awaitsControl } }

    /// Something is lost; the first call of a series sets the time.
    func lose(_ why: String, now: UInt64) {
        state.withLock {
            $0.lostSince = $0.lostSince ?? now
            $0.lostWhy = why
            // Before the first readiness it is reported as missing.
            $0.missing = why
        }
    }

    func recover() {
        state.withLock { $0.lostSince = nil }
    }

    /// The node goes out of service or returns: balancers have to know before clients are refused.
    func setDraining(_ isDraining: Bool) {
        state.withLock { $0.isDraining = isDraining }
    }

    func setRefusing(_ isRefusing: Bool) {
        self.isRefusing.store(isRefusing, ordering: .releasing)
    }

    /// Sets what is wrong with a part, as only the caller knows; nil: nothing any more.
    package func report(_ part: Part, _ why: String?) {
        state.withLock { $0.problems[part] = why }
    }

    /// Sets a problem of a part that is no reason yet, or never, to send clients elsewhere; nil: nothing any more.
    func warn(_ part: Part, _ why: String?) {
        state.withLock { $0.warnings[part] = why }
    }

    /// Whether what is written to the control topic is read; nil where there is none.
    var readsControl: Bool? {
        state.withLock { $0.hasControl ? !$0.awaitsControl && $0.controlLostSince == nil : nil }
    }

    /// Whether any broker answers, by what was last known.
    package var reachesBroker: Bool { state.withLock { $0.reachesBroker } }

    func noteBroker(isReached: Bool) { state.withLock { $0.reachesBroker = isReached } }

    /// Each part with what is wrong with it, in order; nil: nothing. `now` is monotonic, in milliseconds.
    package func parts(now: UInt64) -> [(part: Part, why: String?)] {
        let hasBeenReady = hasBeenReady
        return state.withLock { state in Part.allCases.map { ($0, why($0, state, hasBeenReady, now)) } }
    }

    /// The lines of `/readyz?verbose`: as ``parts(now:)``, and of the broker also that a partition is stalled, which keeps no
    /// client away.
    package func lines(now: UInt64) -> [(part: Part, why: String?)] {
        let hasBeenReady = hasBeenReady
        return state.withLock { state in
            Part.allCases.map { part in
                (part, why(part, state, hasBeenReady, now) ?? (part == .broker ? state.warnings[part] : nil))
            }
        }
    }

    /// What is wrong now, by part, whatever `/readyz` reports: also a loss within its grace, or without one, and what keeps no
    /// client away.
    package func problems(now: UInt64) -> [(part: Part, why: String)] {
        let hasBeenReady = hasBeenReady
        return state.withLock { state in
            Part.allCases.compactMap { part in
                (why(part, state, hasBeenReady, now) ?? loss(of: part, state) ?? state.warnings[part]).map {
                    (part, $0)
                }
            }
        }
    }

    private func loss(of part: Part, _ state: State) -> String? {
        switch part {
        case .broker where state.lostSince != nil: state.lostWhy
        case .control where state.controlLostSince != nil: state.controlWhy
        default: nil
        }
    }

    private func why(_ part: Part, _ state: State, _ hasBeenReady: Bool, _ now: UInt64) -> String? {
        switch part {
        case .window where !hasBeenReady: return state.isWindowLoaded ? nil : state.missing
        case .broker where !hasBeenReady: return state.reachesBroker ? state.problems[part] : state.missing
        case .broker:
            guard let grace = state.graceMilliseconds, let since = state.lostSince, now >= since + grace else {
                return state.problems[part]
            }
            return state.lostWhy
        // Until the window's reader has noticed that nothing is missing any more.
        case .control where !hasBeenReady && state.hasControl && (state.awaitsControl || state.isWindowLoaded):
            return state.controlWhy
        case .control:
            guard let grace = state.graceMilliseconds, let since = state.controlLostSince, now >= since + grace else {
                return state.problems[part]
            }
            return state.controlWhy
        case .draining where state.isDraining: return "the node is going out of service"
        default: return state.problems[part]
        }
    }

    package func verdict(now: UInt64) -> Verdict {
        let parts = parts(now: now)
        if parts.contains(where: { $0.part == .draining && $0.why != nil }) { return .draining }
        for (part, why) in parts where part.makesUnready {
            if let why { return .notReady(part, why: why) }
        }
        return .ready
    }
}
