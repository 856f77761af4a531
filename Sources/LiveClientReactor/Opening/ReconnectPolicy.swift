import LiveClient
import LiveState
import WebSocket

/// When a client with connections of one kind reconnects after a connection, or an attempt at one, has ended. The waits are those
/// of ``Retry``. ``ConnectionMachine`` decides what an app's client does beyond that.
///
/// The server's request has priority: `retry_ms` of a close, `Retry-After` of a refusal.
package struct ReconnectPolicy: Sendable {
    package enum Verdict: Equatable, Sendable {
        case wait(milliseconds: UInt64)
        /// The server does not accept us, or a new connection would not help.
        case stop
    }

    /// Statuses that the same request would get again.
    private static let finalStatuses = [400, 401, 403, 404, 426]

    /// Whether there is only one token: once it has expired, the client cannot reconnect.
    private let hasFixedToken: Bool
    private var retry: Retry
    /// Whether a new token was requested just before: to request another at once would be a loop.
    private var refreshedToken = false

    /// - Parameter seed: the seed of the waits.
    package init(hasFixedToken: Bool = false, seed: UInt32 = .random(in: 0...UInt32.max)) {
        self.hasFixedToken = hasFixedToken
        retry = Retry(seed: seed)
    }

    /// A document arrived, so the series of failures has ended.
    package mutating func succeeded() {
        retry.reset()
        refreshedToken = false
    }

    /// Decides what follows an ending.
    ///
    /// - Parameter openMilliseconds: how long the connection was open; nil if there was none.
    package mutating func verdict(on ending: ConnectionEnding, openMilliseconds: UInt64?) -> Verdict {
        if let openMilliseconds, openMilliseconds >= UInt64(Retry.calm) { succeeded() }
        switch ending {
        case .refused(let answer):
            if Self.finalStatuses.contains(answer.status) { return .stop }
            guard let asked = answer.retryAfterMilliseconds else { return wait(nil) }
            return .wait(milliseconds: UInt64(retry.wait(retryAfter: Milliseconds(asked))))
        case .closed(let code, let reason): return verdict(code, CloseCode.retryMilliseconds(inReason: reason))
        case .aborted, .answered: return .stop
        case .notConnected(.badRequest), .notConnected(.secureProxyForSecureServer): return .stop
        case .notConnected, .broken, .cut, .closeUnanswered, .noPong: return wait(nil)
        }
    }

    private mutating func verdict(_ code: CloseCode, _ asked: Int?) -> Verdict {
        switch code.clientAction {
        case .finish, .stop: return .stop
        case .backOff: return wait(asked)
        case .wait(let minimum): return wait(asked, minimum: minimum)
        case .refreshToken:
            if hasFixedToken { return .stop }
            if refreshedToken { return wait(asked) }
            refreshedToken = true
            return .wait(milliseconds: 0)
        }
    }

    private mutating func wait(_ asked: Int?, minimum: Int = 0) -> Verdict {
        .wait(milliseconds: UInt64(max(retry.wait(asked: asked.map(Milliseconds.init)), Milliseconds(minimum))))
    }
}
