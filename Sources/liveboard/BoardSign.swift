import LiveClient

/// The state of the connection in words for the user. It is a value without a clock.
///
/// What is on the screen has to be the server's state: an open stream alone is not enough.
struct BoardSign: Sendable {
    /// The state that the words depend on; nil: nothing was requested yet.
    var freshness: Freshness?
    /// The machine's state for the user, which does not show a short gap.
    var shown: Freshness?
    /// The time since which no token is accepted.
    var refusedSince: Milliseconds?
    /// Why no more news will arrive; nil: it may arrive.
    var ending: String?
    /// When the server last confirmed the state.
    var asOf: Milliseconds?
    /// The time since which something on the screen has to be fetched first.
    private(set) var fetchingSince: Milliseconds?
    /// Whether the last words meant that all is well: a short gap does not change them.
    private var wasWell = false
    private(set) var words = "starting"
    /// Whether what is on the screen may be old.
    private(set) var isOld = true

    /// When the words change although nothing happens; nil: never.
    var wakeAt: Milliseconds? {
        guard freshness == .connected, wasWell, let fetchingSince else { return nil }
        return fetchingSince + Freshness.signDelay
    }

    /// - Parameter isFetching: whether something on the screen has to be fetched first.
    mutating func settle(isFetching: Bool, at now: Milliseconds, clock: (Milliseconds) -> String) {
        fetchingSince = isFetching ? fetchingSince ?? now : nil
        (words, isOld) = currentWords(at: now, clock)
        wasWell = !isOld
    }

    private func currentWords(at now: Milliseconds, _ clock: (Milliseconds) -> String) -> (String, isOld: Bool) {
        if let ending { return ("no more news: \(ending)", true) }
        if let refusedSince { return ("token refused since \(clock(refusedSince))", true) }
        switch shown ?? freshness {
        case .connecting where shown == nil && wasWell: return (words, false)
        case .connecting(let since)?: return ("connecting since \(clock(since))", true)
        case .cannotConnect where shown == nil && wasWell: return (words, false)
        case .cannotConnect(let since)?: return ("cannot connect since \(clock(since))", true)
        case .sourceStalled(let since)?: return ("no news since \(clock(since))", true)
        case .refused(let status, _)?: return ("refused" + (status.map { ": status \($0)" } ?? ""), true)
        case nil: return ("starting", true)
        case .connected?:
            guard let fetchingSince else { return ("connected", false) }
            if wasWell, now < fetchingSince + Freshness.signDelay { return (words, false) }
            return ("connecting since \(clock(fetchingSince))", true)
        }
    }
}
