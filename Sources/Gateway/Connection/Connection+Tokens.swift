import LiveUpdates
import Tokens
import WebSocket

/// When the client of a stream is told that its token ends, and when the stream ends with it: two alarms of one timer.
struct TokenWatch: Equatable {
    /// Before the end, in milliseconds: at random, so that clients whose tokens end together do not all fetch one at once.
    /// What is left of a token is known in whole seconds, rounded up: a client has 60 s at least.
    static let leadMilliseconds: ClosedRange<UInt64> = 61_000...90_000

    /// What is to be done now.
    enum Step: Equatable {
        case wait(milliseconds: UInt64)
        /// The client is told, and the end comes after so long.
        case notify(milliseconds: UInt64)
        case end
    }

    /// The second since 1970 at which the token ends.
    let expiresAt: Int64
    private var isNotified = false

    init(expiresAt: Int64) { self.expiresAt = expiresAt }

    /// - Parameters:
    ///   - left: until the end, in milliseconds.
    ///   - lead: out of ``leadMilliseconds``.
    mutating func begin(left: UInt64, lead: UInt64) -> Step {
        isNotified = left <= lead
        return isNotified ? .notify(milliseconds: left) : .wait(milliseconds: left - lead)
    }

    /// The time has come that ``begin(left:lead:)`` or the last alarm gave.
    mutating func alarm(left: UInt64) -> Step {
        if isNotified { return .end }
        isNotified = true
        return .notify(milliseconds: left)
    }
}

/// How many tokens one client has sent within a second. Confined to its loop.
struct TokenRate {
    /// Over it the stream ends with 4429: judging a token costs its loop 0.1 ms or more for the signature, and a client has
    /// a new one every few minutes.
    static let maximumTokensPerSecond = 10

    /// When the second began: the low half of the monotonic time in ms.
    private var begin: UInt32 = 0
    private var count: UInt32 = 0

    /// Counts one; false for one too many.
    mutating func admits(now: UInt64) -> Bool {
        let now = UInt32(truncatingIfNeeded: now)
        if count == 0 || now &- begin >= 1_000 { (begin, count) = (now, 0) }
        count += 1
        return count <= Self.maximumTokensPerSecond
    }
}

extension Connection {
    /// A stream goes on with this token: at its end, or when it is about to come, the connection acts.
    func watchToken(_ open: OpenStream, expiresAt: Int64?) {
        cancel(&open.tokenEnd)
        open.tokenWatch = expiresAt.map(TokenWatch.init)
        guard let expiresAt else { return }
        let lead = UInt64.random(in: TokenWatch.leadMilliseconds, using: &loop.spread)
        act(on: open.tokenWatch?.begin(left: loop.milliseconds(until: expiresAt), lead: lead), open, expiresAt)
    }

    func tokenAlarm(_ open: OpenStream) {
        guard let expiresAt = open.tokenWatch?.expiresAt else { return }
        act(on: open.tokenWatch?.alarm(left: loop.milliseconds(until: expiresAt)), open, expiresAt)
    }

    private func act(on step: TokenWatch.Step?, _ open: OpenStream, _ expiresAt: Int64) {
        switch step {
        case .wait(let milliseconds): open.tokenEnd = schedule(.tokenEnd, afterMilliseconds: milliseconds)
        case .notify(let milliseconds):
            open.tokenEnd = schedule(.tokenEnd, afterMilliseconds: milliseconds)
            open.stream.tokenExpires(at: expiresAt, loop.eventLoop.now)
        case .end: close(.tokenExpired)
        case nil: break
        }
    }

    /// Text that may be the client's next token. The session gives what is over the limit of messages as well, since a token
    /// may be: anything else is refused here as the session would have.
    func messageCame(_ message: [UInt8], _ session: WebSocketSession) {
        guard case .open(let open) = phase, session.phase == .open else { return }
        let renewal = TokenRenewal.decide(
            message, account: open.stream.account, verifier: loop.admission.verifier, now: loop.epochSeconds())
        if renewal.wasJudged, !open.tokenRate.admits(now: loop.eventLoop.now) {
            return session.fail(.tooManyTokens(limit: TokenRate.maximumTokensPerSecond))
        }
        switch renewal {
        case .noToken:
            let limit = loop.webSockets.limits.maximumMessageBytes
            guard message.count > limit else { return }
            session.fail(.messageTooLarge(bytes: UInt64(message.count), limit: limit))
        case .later: break
        case .refused: close(.tokenExpired)
        case .taken(let identity):
            open.identity = identity
            open.stream.tokenTaken(endsAt: identity.expiresAt, loop.eventLoop.now)
            // Of the same token once more, or one that ends with it, its client knows.
            if open.tokenWatch?.expiresAt != identity.expiresAt { watchToken(open, expiresAt: identity.expiresAt) }
        }
    }
}
