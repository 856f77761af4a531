/// What a client does after a close code: the protocol's table. LiveClientTests compare it with the gateway's.
enum CloseAdvice: Equatable, Sendable {
    /// The conversation is finished.
    case finish
    /// The access was revoked.
    case stop
    /// Get a new token, and reconnect at once.
    case refreshToken
    /// Reconnect after the wait that the server asked for, but no earlier than this; without such a wait, with backoff.
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
    /// Statuses that the same request would get again, if a `code` proves that a Livegate sent them. Without a code a proxy
    /// answered: a balancer without a route, for a minute during a deploy, must sign no user off.
    package static let finalStatuses = [400, 403, 404, 426]

    /// The stream is over: updates what is known about transports and failures.
    ///
    /// - Returns: whether the next transport is to be tried at once.
    @discardableResult
    mutating func leave(_ stream: OpenStream, isCut: Bool) -> Bool {
        let lived = now - stream.openedAt
        if lived >= Retry.calm {
            retry.reset()
            refusal = .none
        }
        downSince = now
        guard stream.network == fallback.network, stream.way == fallback.way else { return false }
        return fallback.ended(lived: lived, isCut: isCut, now: now)
    }

    /// Whether this number is that of a running attempt or stream. An open stream is left.
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
        if isSwallowed(status, code), fallback.stepDown(now: now) { return begin() }
        if code != nil, Self.finalStatuses.contains(status) {
            return become(.ended(.refused(status: status, code: code)))
        }
        // A proxy that answers for an absent server, or that does not support this transport.
        if code == nil, fallback.failed(weight: 1, now: now) { return begin() }
        backOff()
    }

    /// Whether no Livegate gives this answer to this transport: a proxy removed the upgrade, or answered itself. A proxy's 5xx
    /// may also mean that the server is absent.
    private func isSwallowed(_ status: Int, _ code: String?) -> Bool {
        switch fallback.way {
        case .webSocket:
            code == "bad_upgrade" || code == nil && (200..<500).contains(status) && ![408, 429].contains(status)
        case .eventStream: code == nil && (200..<400).contains(status)
        case .longPoll, .polling: false
        }
    }

    /// After the first refusal another token is fetched at once. If that is refused too, before the calm, access is refused.
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
        // Of several closes in a row, only the first may return at once. A server that asks for 0 each time is given a pause.
        let isFirst = asked == nil || retry.failures == 0
        let least = isFirst ? 0 : Retry.minimum << Milliseconds(min(retry.failures, 5) - 1)
        let wait = max(retry.wait(asked: asked), minimum, least)
        pause(wait, asked != nil || minimum > 0 ? .asked : .retry)
    }

    mutating func lose(_ id: Int, _ how: ConnectionLoss) {
        if let stream = stream(id) { return lose(stream, how) }
        guard isOpening(id) else { return }
        if how == .blocked, fallback.way.isStream, fallback.stepDownGuessing(now: now) { return begin() }
        let weight =
            switch how {
            // The server was not reached: that proves nothing about the transport.
            case .unreachable: fallback.isTrial ? 1 : 0
            case .cut, .unknown: 1
            case .blocked, .broken, .silent: TransportFallback.maximumStrikes
            }
        if fallback.failed(weight: weight, now: now) { begin() } else { backOff() }
    }

    private mutating func lose(_ stream: OpenStream, _ how: ConnectionLoss) {
        if case .underWay(let since, let wait, _) = stream.poll, wait > 0, how != .unreachable {
            // This is not a failure yet: the next poll, which does not wait, shows whether the server is there.
            if stream.network == fallback.network { fallback.waitCut(after: now - since, now: now) }
            leave(stream, isCut: false)
            return beginSoon()
        }
        if leave(stream, isCut: how != .broken) { begin() } else { backOff() }
    }
}
