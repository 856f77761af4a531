import Reactor
import Tokens

/// The rechecks of one open stream's token whose end is unknown. Its server has accepted the token for as long as that answer is
/// kept. A value without a clock; times are monotonic, in milliseconds.
struct TokenRecheck: Equatable {
    /// How long to wait before the server is asked again if it does not answer: random, so that not all ask at once.
    static let pauseMilliseconds: ClosedRange<UInt64> = 1_000...5_000
    /// A stream goes on for at least so long while its server does not answer.
    static let minimumPatienceMilliseconds: UInt64 = 60_000

    enum Step: Equatable {
        /// The server is asked again after so long.
        case askLater(milliseconds: UInt64)
        /// The server has not answered for too long.
        case giveUp
    }

    /// What an answer has to bear: it may be one about the token of before.
    let number: UInt32
    /// The time until the server's last answer expires; then it stays at zero.
    private var time: TokenTime
    /// Since when there is no answer.
    private var silentSince: UInt64?

    init(number: UInt32, left: UInt64) {
        self.number = number
        time = TokenTime(left: left)
    }

    /// An alarm has come. `left` is by the wall clock of now.
    mutating func waitIsOver(left: UInt64) { time.waitIsOver(left: left) }

    /// After how long to check again; nil: the server is to be asked now.
    mutating func wait() -> UInt64? { time.left == 0 ? nil : time.wait() }

    /// The server cannot be asked now. A stream goes on for as long again as one answer is believed (`cache`), a minute at least.
    /// By then the server is really away, and the next node would refuse for the same reason.
    mutating func noAnswer(now: UInt64, cacheMilliseconds: UInt64, pause: UInt64) -> Step {
        let since = silentSince ?? now
        silentSince = since
        let patience = max(Self.minimumPatienceMilliseconds, cacheMilliseconds)
        return now - min(now, since) >= patience ? .giveUp : .askLater(milliseconds: pause)
    }
}

/// Tokens whose server has to be asked once more while their stream is open.
extension Connection {
    /// Asks the server again as soon as its last answer expires.
    func recheckWhenDue(_ open: OpenStream, _ token: StreamToken) {
        guard let recheck = token.recheck else { return }
        if let wait = token.recheck?.wait() {
            token.end = schedule(.tokenEnd, afterMilliseconds: wait)
        } else {
            recheckToken(open, recheck)
        }
    }

    /// The server's last answer has expired. The stream goes on until the next answer.
    func recheckToken(_ open: OpenStream, _ recheck: TokenRecheck) {
        // A client that came with a ticket buys the next one with its token, which is checked again then.
        guard let token = open.identity.askedToken else { return close(.restart, why: "ticket") }
        guard loop.admission.verifier.stillVouches(for: open.identity) else { return close(.tokenExpired) }
        // Its stream ends within the window.
        if loop.admission.readiness.refusesRequests, let kept = open.token { return awaitServer(open, kept) }
        loop.lookups.post(
            TokenLookupRequest(
                question: .introspection(token: token), loop: loop.index, connection: id, recheck: recheck.number))
    }

    /// The server has answered, or could not be asked.
    func tokenRechecked(_ open: OpenStream, _ finding: TokenLookupResult, number: UInt32) {
        guard let token = open.token, token.recheck?.number == number else { return }
        guard case .checked(let verdict) = finding else { return close(.tokenExpired) }
        switch verdict {
        case .success(let identity) where identity.account == open.stream.account:
            // A revocation may name something that only this answer contains.
            if loop.admission.revocations.refusal(of: identity) == .revoked { return revoke(.revoked) }
            if goOn(as: identity, open) { watchToken(open) }
        case .failure(.unavailable): awaitServer(open, token)
        case .success: refuseToken(.account, open)
        case .failure(let why): refuseToken(why, open)
        }
    }

    private func awaitServer(_ open: OpenStream, _ token: StreamToken) {
        let cache = loop.admission.verifier.introspection?.cacheMilliseconds ?? 0
        let pause = UInt64.random(in: TokenRecheck.pauseMilliseconds, using: &loop.spread)
        switch token.recheck?.noAnswer(now: loop.eventLoop.now, cacheMilliseconds: cache, pause: pause) {
        case .askLater(let milliseconds): token.end = schedule(.tokenEnd, afterMilliseconds: milliseconds)
        case .giveUp: close(.restart, why: "token")
        case nil: break
        }
    }
}
