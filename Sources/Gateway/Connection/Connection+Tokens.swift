import Reactor
import Tokens

/// The time until a token ends, or until its server's answer about it expires. Timers use the monotonic clock, tokens the wall
/// clock. Both are read, and the earlier end counts. In milliseconds; a value without a clock.
struct TokenTime: Equatable {
    /// The time left is checked this often. If the wall clock was set forward, or the machine slept, the end comes at most this
    /// much late.
    static let maximumWaitMilliseconds: UInt64 = 60_000

    /// The time left at the last check.
    private(set) var left: UInt64
    /// From the last check to the next.
    private var waited: UInt64 = 0

    init(left: UInt64) { self.left = left }

    /// The time of the last ``wait(until:)`` has passed. `left` is by the wall clock of now: one that was set back makes no token
    /// last longer.
    mutating func waitIsOver(left: UInt64) {
        self.left = min(left, self.left - waited)
        waited = 0
    }

    /// How long to wait until the moment that is `lead` before the end, or until the next check.
    mutating func wait(untilBefore lead: UInt64 = 0) -> UInt64 {
        waited = min(left - min(lead, left), Self.maximumWaitMilliseconds)
        return waited
    }
}

/// When the client of a stream is notified that its token ends, and when the stream ends with it: alarms of one timer.
struct TokenWatch: Equatable {
    /// Before the end, in milliseconds: at random, so that clients whose tokens end together do not all fetch one at once.
    /// What is left of a token is known in whole seconds, rounded up: a client has 60 s at least.
    static let leadMilliseconds: ClosedRange<UInt64> = 61_000...90_000

    /// What is to be done now.
    enum Step: Equatable {
        case wait(milliseconds: UInt64)
        /// The client is notified now, and the next alarm comes after so long.
        case notify(milliseconds: UInt64)
        case end
    }

    /// The second since 1970 at which the token ends.
    let expiresAt: Int64
    private var isNotified = false
    private var time = TokenTime(left: .max)
    private var lead: UInt64 = 0

    init(expiresAt: Int64) { self.expiresAt = expiresAt }

    /// - Parameters:
    ///   - left: until the end, in milliseconds.
    ///   - lead: out of ``leadMilliseconds``.
    mutating func begin(left: UInt64, lead: UInt64) -> Step {
        (isNotified, time, self.lead) = (false, TokenTime(left: left), lead)
        return next()
    }

    /// The time has passed that ``begin(left:lead:)`` or the last alarm gave. `left` is by the wall clock of now.
    mutating func alarm(left: UInt64) -> Step {
        time.waitIsOver(left: left)
        return next()
    }

    private mutating func next() -> Step {
        if isNotified, time.left == 0 { return .end }
        let isDue = !isNotified && time.left <= lead
        if isDue { isNotified = true }
        let wait = time.wait(untilBefore: isNotified ? 0 : lead)
        return isDue ? .notify(milliseconds: wait) : .wait(milliseconds: wait)
    }
}

/// What an open stream keeps of a token that ends, and of those that its client has sent. An object of its own, since
/// streams without either pay for none of it. Confined to its loop.
final class StreamToken {
    /// The next alarm of the token's end.
    var end: Timer?
    /// Nil where the token has no end.
    var watch: TokenWatch?
    /// Nil where no server has to be asked about the token once more.
    var recheck: TokenRecheck?
    /// Of the last ``recheck``.
    var rechecks: UInt32 = 0
    var rate = TokenRate()
    /// Not decided yet.
    var sent = SentTokens()
}

extension Connection {
    /// A stream goes on with the token of its identity: at its end, or when it is about to come, the connection acts.
    func watchToken(_ open: OpenStream) {
        let expiresAt = open.identity.expiresAt
        guard expiresAt != nil || open.token != nil else { return }
        let token = open.keptToken
        cancel(&token.end)
        (token.watch, token.recheck) = (nil, nil)
        guard let expiresAt else { return }
        // The token has no end that its client would have to know.
        if open.identity.isOpenEnded {
            token.rechecks &+= 1
            token.recheck = TokenRecheck(number: max(1, token.rechecks), left: loop.milliseconds(until: expiresAt))
            return recheckWhenDue(open, token)
        }
        token.watch = TokenWatch(expiresAt: expiresAt)
        let lead = UInt64.random(in: TokenWatch.leadMilliseconds, using: &loop.spread)
        act(on: token.watch?.begin(left: loop.milliseconds(until: expiresAt), lead: lead), open, token, expiresAt)
    }

    func tokenAlarm(_ open: OpenStream, _ token: StreamToken) {
        if token.recheck != nil {
            token.recheck?.waitIsOver(left: open.identity.expiresAt.map { loop.milliseconds(until: $0) } ?? 0)
            return recheckWhenDue(open, token)
        }
        guard let expiresAt = token.watch?.expiresAt else { return }
        act(on: token.watch?.alarm(left: loop.milliseconds(until: expiresAt)), open, token, expiresAt)
    }

    private func act(on step: TokenWatch.Step?, _ open: OpenStream, _ token: StreamToken, _ expiresAt: Int64) {
        switch step {
        case .wait(let milliseconds): token.end = schedule(.tokenEnd, afterMilliseconds: milliseconds)
        case .notify(let milliseconds):
            token.end = schedule(.tokenEnd, afterMilliseconds: milliseconds)
            open.stream.tokenExpires(at: expiresAt, loop.eventLoop.now)
        case .end: close(.tokenExpired)
        case nil: break
        }
    }
}
