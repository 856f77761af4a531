import LiveClient

/// What people are told of the connection, in words. A value without a clock.
///
/// What is on the screen has to be as the server has it: an open stream does not do.
struct BoardSign: Sendable {
    /// What it is a function of; nil: nothing was asked yet.
    var freshness: Freshness?
    /// What the machine shows people of it: nothing of a short gap.
    var shown: Freshness?
    /// No token is taken; since when.
    var refusedSince: Milliseconds?
    /// Why no more news will come; nil: it may.
    var ending: String?
    /// When the server said last how things are.
    var asOf: Milliseconds?
    /// Since when something on the screen has to be fetched first.
    private(set) var fetchingSince: Milliseconds?
    /// The last words said that all is well: a short gap does not change them.
    private var wasWell = false
    private(set) var words = "starting"
    /// What is on the screen may be old.
    private(set) var isOld = true

    /// When other words are due though nothing happens; nil: never.
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
