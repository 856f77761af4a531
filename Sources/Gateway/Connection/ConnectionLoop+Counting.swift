import Balancer
import HTTP
import LiveUpdates
import Tokens

/// What is refused and closed early, in counters and in the log.
extension ConnectionLoop {
    /// - Parameter origin: of the page that asks, where there is one.
    func count(_ refusal: Refusal, origin: [UInt8]? = nil, _ client: ClientAddress) {
        counters.refusals[refusal.code.rawValue, default: 0] += 1
        switch refusal.cause {
        case .token(let reason):
            counters.tokenRefusals[reason, default: 0] += 1
            log.refused(refusal.code.rawValue, refusal.status, client, reason: reason, now: eventLoop.now)
        case .origin: log.originRefused(origin ?? [], client, now: eventLoop.now)
        case nil: log.refused(refusal.code.rawValue, refusal.status, client, now: eventLoop.now)
        }
    }

    /// The token with which an open stream was to go on is refused.
    func count(_ why: TokenRefusal, of account: Account, _ client: ClientAddress) {
        counters.tokenRefusals[why.reason.rawValue, default: 0] += 1
        log.nextTokenRefused(why.reason.rawValue, account.text, client, now: eventLoop.now)
    }

    func count(refusal code: String, status: Int, _ client: ClientAddress) {
        counters.refusals[code, default: 0] += 1
        log.refused(code, status, client, now: eventLoop.now)
    }

    func count(_ why: ProxyHeaderRejection, _ peer: ClientAddress) {
        counters.proxyHeadersRejected += 1
        log.proxyHeaderRejected(why, peer, now: eventLoop.now)
    }

    /// A connection that a limit ended before TLS: no answer was sent, and nothing of HTTP was read.
    func countEarlyClose(_ limit: ConnectionLimit, _ client: ClientAddress) {
        counters.count(EarlyClose(limit))
        log.limited(limit, nil, client, now: eventLoop.now)
    }

    func count(_ limit: ConnectionLimit, _ identity: Identity?, _ client: ClientAddress) {
        counters.refusals[limit.refusal.code.rawValue, default: 0] += 1
        if let identity { quota.rates.note(identity.account, isRefused: true, now: eventLoop.now) }
        log.limited(limit, identity, client, now: eventLoop.now)
    }
}
