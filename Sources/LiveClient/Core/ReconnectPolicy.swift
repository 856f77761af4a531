import WebSocket

/// When a client comes back after a connection, or an attempt at one, has ended.
///
/// What the server says counts first: `retry_ms` of a close, `Retry-After` of a refusal. Otherwise the waits are random
/// between half a second and a bound that doubles with each failure in a row (full jitter), so that clients which lost
/// their server together do not come back together.
package struct ReconnectPolicy: Sendable {
    package enum Verdict: Equatable, Sendable {
        case wait(milliseconds: UInt64)
        /// The server does not want us, or coming back would change nothing.
        case stop
    }

    package static let minimumMilliseconds: UInt64 = 500
    package static let maximumMilliseconds: UInt64 = 20_000
    /// The bound of the first wait.
    private static let firstBoundMilliseconds: UInt64 = 1_000
    /// A connection that stood so long ends the row of failures: as long as the longest wait.
    package static let steadyMilliseconds = maximumMilliseconds
    /// Statuses that the same request gets again.
    private static let finalStatuses = [400, 401, 403, 404, 426]

    /// Whether a refused token is fetched again, once, instead of giving up.
    private let refreshesToken: Bool
    /// Whether there is one token and no other: once it has expired there is nothing to come back with.
    private let hasFixedToken: Bool
    /// Failures in a row.
    private var failures = 0
    /// Whether a new token was asked for just before: asking again at once would be a loop.
    private var refreshedToken = false

    package init(refreshesToken: Bool = false, hasFixedToken: Bool = false) {
        self.refreshesToken = refreshesToken
        self.hasFixedToken = hasFixedToken
    }

    /// A document came: the row of failures has ended.
    package mutating func succeeded() {
        failures = 0
        refreshedToken = false
    }

    /// Decides on an ending.
    ///
    /// - Parameters:
    ///   - openMilliseconds: how long the connection stood; nil where there was none.
    ///   - random: uniform over its range.
    package mutating func verdict(
        on ending: ConnectionEnding, openMilliseconds: UInt64?, random: UInt32
    ) -> Verdict {
        if let openMilliseconds, openMilliseconds >= Self.steadyMilliseconds {
            failures = 0
            refreshedToken = false
        }
        switch ending {
        case .refused(let answer):
            if answer.status == 401, refreshesToken, !refreshedToken {
                refreshedToken = true
                return .wait(milliseconds: 0)
            }
            if Self.finalStatuses.contains(answer.status) { return .stop }
            guard let asked = answer.retryAfterMilliseconds else { return backOff(random) }
            // All that were refused together were given the same time: up to half of it more spreads them.
            return .wait(milliseconds: later(UInt64(asked), spread: max(UInt64(asked) / 2, 1000), random))
        case .closed(let code, let reason): return verdict(code, reason, random)
        case .aborted, .answered: return .stop
        case .notConnected(.badRequest), .notConnected(.secureProxyForSecureServer): return .stop
        case .notConnected, .broken, .cut, .closeUnanswered, .noPong: return backOff(random)
        }
    }

    private mutating func verdict(_ code: CloseCode, _ reason: String, _ random: UInt32) -> Verdict {
        switch code.clientAction {
        case .finish, .stop: return .stop
        case .backOff: return asked(reason) ?? backOff(random)
        case .wait(let minimum):
            guard let asked = CloseCode.retryMilliseconds(inReason: reason) else {
                return .wait(milliseconds: max(next(random), UInt64(minimum)))
            }
            failures += 1
            return .wait(milliseconds: UInt64(max(asked, minimum)))
        case .refreshToken:
            if hasFixedToken { return .stop }
            if refreshedToken { return asked(reason) ?? backOff(random) }
            refreshedToken = true
            return .wait(milliseconds: 0)
        }
    }

    private mutating func asked(_ reason: String) -> Verdict? {
        guard let asked = CloseCode.retryMilliseconds(inReason: reason) else { return nil }
        failures += 1
        return .wait(milliseconds: UInt64(asked))
    }

    private mutating func backOff(_ random: UInt32) -> Verdict { .wait(milliseconds: next(random)) }

    private mutating func next(_ random: UInt32) -> UInt64 {
        let bound = min(Self.firstBoundMilliseconds << UInt64(min(failures, 10)), Self.maximumMilliseconds)
        failures += 1
        return later(Self.minimumMilliseconds, spread: bound - Self.minimumMilliseconds, random)
    }

    private func later(_ base: UInt64, spread: UInt64, _ random: UInt32) -> UInt64 {
        base + (spread * UInt64(random)) >> 32
    }
}
