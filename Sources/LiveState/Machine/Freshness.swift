/// How far what is shown can be trusted. Each time is when it left `connected`.
public enum Freshness: Codable, Equatable, Sendable {
    /// It is as the server has it.
    case connected
    /// It may be old, but the machine is about to update it.
    case connecting(since: Milliseconds)
    /// It may be old, and attempts fail: no network, no token, or no answer.
    case cannotConnect(since: Milliseconds)
    /// The server has lost its own source of events, at this time by the server's clock.
    case sourceStalled(since: Milliseconds)
    /// The server does not admit this origin, account or version: this is final. ``UpdateMachine/View/end`` has the same reason.
    ///
    /// - status: of HTTP, such as 403 for the origin of a page; nil: the access was revoked.
    /// - code: that of the problem document.
    case refused(status: Int?, code: String?)

    /// How long after it left `connected` people see a sign. A shorter gap shows none.
    public static let signDelay: Milliseconds = 300
    /// After this many failed attempts in a row, it is no longer a short gap.
    public static let failuresUntilCannotConnect = 2

    /// The facts that determine it.
    public struct Facts: Codable, Equatable, Sendable {
        /// The stream is open, and everything missed has come.
        public var isCaughtUp = false
        /// The system reports a network.
        public var hasNetwork = true
        /// There is a token that may be valid.
        public var hasToken = true
        /// The app is in the foreground.
        public var isForeground = true
        /// Failed attempts in a row.
        public var failures = 0
        /// When the oldest event came that is not in the state yet.
        public var unappliedSince: Milliseconds?
        /// How long such an event may wait before the state counts as old.
        public var patience: Milliseconds = 5_000
        /// A reload or a commit of an event that is not in the state has failed.
        public var hasFailedToApply = false
        /// Since when the server has no source of events.
        public var stalledSince: Milliseconds?
        /// Why the connection has ended for good; nil: it has not.
        public var end: ConnectionEnd?
        /// When it left `connected`; nil: it has not left it.
        public var leftConnected: Milliseconds?

        /// Nothing is caught up, and nothing has failed.
        public init() {}

        /// Whether the state has all events that came: nothing has failed, and no event has waited longer than the patience.
        func isComplete(at now: Milliseconds) -> Bool {
            guard let unappliedSince else { return !hasFailedToApply }
            return !hasFailedToApply && now < unappliedSince + patience
        }
    }

    /// The freshness that follows from the facts at this time.
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

    /// The sign that people see at this time. Nil: none, as in the background or in a short gap.
    public static func sign(_ facts: Facts, at now: Milliseconds) -> Freshness? {
        guard facts.isForeground, let left = facts.leftConnected, now >= left + signDelay else { return nil }
        let freshness = Freshness(facts, at: now)
        return freshness == .connected ? nil : freshness
    }

    /// When the freshness or the sign next changes with time alone. Nil: only an input changes it.
    public static func nextChange(_ facts: Facts, after now: Milliseconds) -> Milliseconds? {
        var times: [Milliseconds] = []
        if let left = facts.leftConnected, facts.isForeground { times.append(left + signDelay) }
        if let unapplied = facts.unappliedSince { times.append(unapplied + facts.patience) }
        return times.filter { $0 > now }.min()
    }
}
