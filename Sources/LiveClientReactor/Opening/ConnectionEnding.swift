import LiveClient
import WebSocket

extension ConnectionEnding {
    /// The server asks to come back at a certain time, instead of answering.
    var isPostponement: Bool {
        guard case .refused(let answer) = self else { return false }
        return [429, 503].contains(answer.status) && answer.retryAfterMilliseconds != nil
    }
}

/// How a connection ended.
package enum ConnectionEnding: Equatable, Sendable {
    /// There never was one.
    case notConnected(ConnectFailure)
    /// The server answered, and not with 101.
    case refused(ServerAnswer)
    /// What ``StreamForm/document`` asks for: the whole answer, whatever its status.
    case answered(ServerAnswer)
    /// Close frames went both ways, or an event stream said `bye`; the server's code, `.noStatus` where its frame was
    /// empty.
    case closed(CloseCode, reason: String)
    /// The server broke a rule of WebSocket; the close frame said so.
    case broken(WebSocketError)
    /// The connection ended without a close frame of the server.
    case cut(String)
    /// We closed, and no answer came within ``ClientLimits/closeMilliseconds``.
    case closeUnanswered
    /// No pong came within ``ClientLimits/pongMilliseconds``.
    case noPong
    /// We dropped it.
    case aborted
}
