import Tokens
import WebSocket

/// How many tokens one client has sent within a second. Confined to its loop.
struct TokenRate {
    /// Over it the stream ends with 4429. Checking a token's signature costs its loop 0.1 ms or more, and a client has a new
    /// token only every few minutes.
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

/// The next token of an open stream, which its client sends.
extension Connection {
    /// Text that may be the client's next token. The session gives what is over the limit of messages as well, since a token
    /// may be: anything else is refused here as the session would have.
    func messageCame(_ message: [UInt8], _ session: WebSocketSession) {
        guard case .open(let open) = phase, session.phase == .open else { return }
        guard let sent = SentToken(message) else {
            let limit = loop.webSockets.limits.maximumMessageBytes
            guard message.count > limit else { return }
            return session.fail(.messageTooLarge(bytes: UInt64(message.count), limit: limit))
        }
        let token = open.keptToken
        guard token.rate.admits(now: loop.eventLoop.now) else {
            return session.fail(.tooManyTokens(limit: TokenRate.maximumTokensPerSecond))
        }
        token.sent.add(sent)
        if !token.sent.isAsked { decideTokens(open, token) }
    }

    /// What was asked about a token of this stream was found out.
    ///
    /// - Parameter recheck: above 0, it is the one with which the stream goes on, not one that its client has sent.
    func tokenChecked(_ open: OpenStream, _ finding: TokenLookupResult, recheck: UInt32) {
        if recheck > 0 { return tokenRechecked(open, finding, number: recheck) }
        if let token = open.token, token.sent.isAsked { decideTokens(open, token, finding) }
    }

    /// Decides the tokens that have come, one after the other, up to one that another server has to be asked about.
    ///
    /// - Parameter finding: what was found out about the first of them.
    private func decideTokens(_ open: OpenStream, _ token: StreamToken, _ finding: TokenLookupResult? = nil) {
        var finding = finding
        while let sent = token.sent.current {
            let renewal = decide(sent, open, finding.take())
            if case .ask(let question) = renewal, !loop.admission.readiness.refusesRequests {
                token.sent.asks()
                loop.lookups.post(TokenLookupRequest(question: question, loop: loop.index, connection: id))
                return
            }
            token.sent.decided()
            follow(renewal, open)
            guard case .open(let now) = phase, now === open else { return }
        }
    }

    private func decide(_ sent: SentToken, _ open: OpenStream, _ finding: TokenLookupResult?) -> TokenRenewal {
        let account = open.stream.account
        if case .checked(let verdict) = finding { return TokenRenewal.decide(verdict, account: account) }
        return TokenRenewal.decide(
            sent, account: account, verifier: loop.admission.verifier, now: loop.epochSeconds(),
            isAsked: finding != nil)
    }

    /// A token with which the stream was to go on is refused: it ends.
    func refuseToken(_ why: TokenRefusal, _ open: OpenStream) {
        loop.count(why, of: open.stream.account, client)
        close(.tokenExpired, why: why == .tooLarge ? "token too large" : nil)
    }

    /// The stream goes on with another identity of its account, whose subject it counts for from now on. False where that one is
    /// at its limit: then the stream has been closed.
    func goOn(as identity: Identity, _ open: OpenStream) -> Bool {
        let account = open.stream.account
        if let limit = loop.quota.move(&open.permit, of: account, to: identity.subject) {
            loop.log.sentTooMuch("\(limit)", account.text, client, now: loop.eventLoop.now)
            close(.tooMuch)
            return false
        }
        open.identity = identity
        return true
    }

    /// The stream goes on with its next token, ends, or goes on as it was.
    private func follow(_ renewal: TokenRenewal, _ open: OpenStream) {
        switch renewal {
        case .later, .ask: break
        case .refused(let why):
            refuseToken(why, open)
        case .taken(let identity):
            let why = loop.admission.revocations.refusal(of: identity)
            // A token that would be admitted a little later changes nothing, like a token that cannot be checked now.
            if why == .unsettled || why == .undated { return }
            if let why {
                loop.count(why, of: open.stream.account, client)
                return revoke(why)
            }
            guard goOn(as: identity, open) else { return }
            open.stream.tokenAccepted(
                endsAt: identity.isOpenEnded ? nil : identity.expiresAt, loop.eventLoop.now)
            // Of the same token once more, or one that ends with it, its client knows.
            let isWatched = open.token?.watch?.expiresAt == identity.expiresAt && open.token?.recheck == nil
            if identity.isOpenEnded || !isWatched { watchToken(open) }
        }
    }
}
