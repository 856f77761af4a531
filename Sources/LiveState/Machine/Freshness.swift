/// How far what is shown can be trusted. The times are when it left `connected`.
public enum Freshness: Codable, Equatable, Sendable {
    /// It is as the server has it.
    case connected
    /// It may be old; that is about to change.
    case connecting(since: Milliseconds)
    /// It may be old, and attempts fail: no network, no token, or no answer.
    case cannotConnect(since: Milliseconds)
    /// The server has lost its own source of events; since then by the server's clock.
    case sourceStalled(since: Milliseconds)
    /// For good: the server lets this origin, account or version not in. ``UpdateMachine/View/end`` says the same.
    ///
    /// - status: of HTTP, such as 403 for the origin of a page; nil: the access was revoked.
    /// - code: that of the problem document.
    case refused(status: Int?, code: String?)

    /// So long after it left `connected` people are shown a sign: a short gap shows none.
    public static let signDelay: Milliseconds = 300
    /// So many failed attempts in a row are no short gap any more.
    public static let failuresUntilCannotConnect = 2

    /// What it is a function of.
    public struct Facts: Codable, Equatable, Sendable {
        /// The stream is open, and what was missed has come.
        public var isCaughtUp = false
        /// There is a network, as the system says.
        public var hasNetwork = true
        /// There is a token that may be good.
        public var hasToken = true
        /// The app is in sight.
        public var isForeground = true
        /// Failed attempts in a row.
        public var failures = 0
        /// When the oldest event came that is not in the state yet.
        public var unappliedSince: Milliseconds?
        /// How long that may take.
        public var patience: Milliseconds = 5_000
        /// A reload or a commit of what is not in the state has failed.
        public var hasFailedToApply = false
        /// Since when the server has no source of events.
        public var stalledSince: Milliseconds?
        /// Why the connection has ended for good; nil: it has not.
        public var end: ConnectionEnd?
        /// When it left `connected`; nil: it has not.
        public var leftConnected: Milliseconds?

        /// Nothing is caught up, and nothing speaks against it.
        public init() {}

        /// Whether the state is as the stream says.
        func isComplete(at now: Milliseconds) -> Bool {
            guard let unappliedSince else { return !hasFailedToApply }
            return !hasFailedToApply && now < unappliedSince + patience
        }
    }

    /// What the facts say at this time.
    public init(_ facts: Facts, at now: Milliseconds) {
        let since = facts.leftConnected ?? now
        switch facts.end {
        case .refused(let status, let code)?:
            self = .refused(status: status, code: code)
            return
        case .revoked?:
            self = .refused(status: nil, code: nil)
            return
        case .stopped?, .done?, nil: break
        }
        if !facts.hasNetwork || !facts.hasToken || facts.failures >= Self.failuresUntilCannotConnect {
            self = .cannotConnect(since: since)
        } else if !facts.isCaughtUp || !facts.isComplete(at: now) {
            self = .connecting(since: since)
        } else if let stalled = facts.stalledSince {
            self = .sourceStalled(since: stalled)
        } else {
            self = .connected
        }
    }

    /// What people are shown at this time: nothing in the background, nothing of a short gap.
    public static func sign(_ facts: Facts, at now: Milliseconds) -> Freshness? {
        guard facts.isForeground, let left = facts.leftConnected, now >= left + signDelay else { return nil }
        let freshness = Freshness(facts, at: now)
        return freshness == .connected ? nil : freshness
    }

    /// When it changes by itself after this time; nil: only what happens changes it.
    public static func nextChange(_ facts: Facts, after now: Milliseconds) -> Milliseconds? {
        var times: [Milliseconds] = []
        if let left = facts.leftConnected, facts.isForeground { times.append(left + signDelay) }
        if let unapplied = facts.unappliedSince { times.append(unapplied + facts.patience) }
        return times.filter { $0 > now }.min()
    }
}
