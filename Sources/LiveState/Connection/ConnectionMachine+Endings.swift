/// What a client does on a close code: the table of the protocol, which LiveClientTests hold against the gateway's.
enum CloseAdvice: Equatable, Sendable {
    /// The conversation is over.
    case finish
    /// The access was revoked.
    case stop
    /// A new token, and at once.
    case refreshToken
    /// Come back: after what the server asked for, but no earlier than this, else with backoff.
    case comeBack(minimum: Milliseconds)

    init(code: Int) {
        switch code {
        case 1000: self = .finish
        case 1013: self = .comeBack(minimum: 5_000)
        case 4401: self = .refreshToken
        case 4403: self = .stop
        default: self = .comeBack(minimum: 0)
        }
    }
}

/// What an ending means.
extension ConnectionMachine {
    /// Statuses that the same request gets again, where a Livegate says so by its `code`. Without one it was somebody between: a
    /// balancer without a route, in the minute of a deploy, signs nobody off.
    package static let finalStatuses = [400, 403, 404, 426]

    /// The stream is over: what it teaches about ways and failures.
    ///
    /// - Returns: whether the next way is to be tried at once.
    @discardableResult
    mutating func leave(_ stream: OpenStream, isCut: Bool) -> Bool {
        let lived = now - stream.openedAt
        if lived >= Retry.calm {
            retry.reset()
            refusal = .none
        }
        downSince = now
        guard stream.network == ladder.network, stream.way == ladder.way else { return false }
        return ladder.ended(lived: lived, isCut: isCut, now: now)
    }

    /// Whether something is known of this number, and it is under way. A stream is left.
    private mutating func leaveAny(_ id: Int) -> Bool {
        if let stream = stream(id) {
            leave(stream, isCut: false)
            return true
        }
        return isOpening(id)
    }

    mutating func refuse(_ id: Int, _ status: Int, _ code: String?, _ retryAfter: Milliseconds?) {
        guard leaveAny(id) else { return }
        if status == 401 { return refuseToken(.refused) }
        if [429, 503].contains(status), let retryAfter { return pause(retry.wait(retryAfter: retryAfter), .asked) }
        if isSwallowed(status, code), ladder.stepDown(now: now) { return begin() }
        if code != nil, Self.finalStatuses.contains(status) {
            return become(.ended(.refused(status: status, code: code)))
        }
        // Somebody between who answers for a server that is away; or who does not know this way.
        if code == nil, ladder.failed(weight: 1, now: now) { return begin() }
        backOff()
    }

    /// An answer that no Livegate gives to this way: somebody between took the upgrade off, or answered himself. His
    /// 5xx may as well mean that the server is away.
    private func isSwallowed(_ status: Int, _ code: String?) -> Bool {
        switch ladder.way {
        case .webSocket:
            code == "bad_upgrade" || code == nil && (200..<500).contains(status) && ![408, 429].contains(status)
        case .eventStream: code == nil && (200..<400).contains(status)
        case .longPoll, .polling: false
        }
    }

    /// The first time another token is fetched at once; when that is refused too, before the calm, nobody is let in.
    private mutating func refuseToken(_ refusal: Refusal) {
        let isFirst = self.refusal == .none
        (self.refusal, isTokenRefused) = (refusal, true)
        if isFirst { begin() } else { become(.unauthorized) }
    }

    mutating func close(_ id: Int, _ code: Int, _ asked: Milliseconds?) {
        guard leaveAny(id) else { return }
        switch CloseAdvice(code: code) {
        case .finish: become(.ended(.done))
        case .stop: become(.ended(.revoked))
        case .refreshToken: refuseToken(.expired)
        case .comeBack(let minimum): comeBack(asked, minimum: minimum)
        }
    }

    private mutating func comeBack(_ asked: Milliseconds?, minimum: Milliseconds) {
        // Of several in a row only the first may be at once: who says 0 each time is not asked without a pause.
        let isFirst = asked == nil || retry.failures == 0
        let least = isFirst ? 0 : Retry.minimum << Milliseconds(min(retry.failures, 5) - 1)
        let wait = max(retry.wait(asked: asked), minimum, least)
        pause(wait, asked != nil || minimum > 0 ? .asked : .retry)
    }

    mutating func lose(_ id: Int, _ how: ConnectionLoss) {
        if let stream = stream(id) { return lose(stream, how) }
        guard isOpening(id) else { return }
        if how == .blocked, ladder.way.isStream, ladder.stepDownGuessing(now: now) { return begin() }
        let weight =
            switch how {
            // It was not reached: that says nothing about the way.
            case .unreachable: ladder.isTrial ? 1 : 0
            case .cut, .unknown: 1
            case .blocked, .broken, .silent: WayLadder.maximumStrikes
            }
        if ladder.failed(weight: weight, now: now) { begin() } else { backOff() }
    }

    private mutating func lose(_ stream: OpenStream, _ how: ConnectionLoss) {
        if case .underWay(let since, let wait, _) = stream.poll, wait > 0, how != .unreachable {
            // Not a failure yet: the next poll, which does not wait, says whether the server is there.
            if stream.network == ladder.network { ladder.waitCut(after: now - since, now: now) }
            leave(stream, isCut: false)
            return beginSoon()
        }
        if leave(stream, isCut: how != .broken) { begin() } else { backOff() }
    }
}
