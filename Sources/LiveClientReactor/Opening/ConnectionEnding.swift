import LiveClient
import WebSocket

extension ConnectionEnding {
    /// Whether the server did not answer the request, but asked for a retry at a certain time.
    var isPostponement: Bool {
        guard case .refused(let answer) = self else { return false }
        return [429, 503].contains(answer.status) && answer.retryAfterMilliseconds != nil
    }
}

/// How a connection ended.
package enum ConnectionEnding: Equatable, Sendable {
    /// There was never a connection.
    case notConnected(ConnectFailure)
    /// The server answered, but not with 101.
    case refused(ServerAnswer)
    /// The answer to ``StreamForm/document``: the whole answer, with any status.
    case answered(ServerAnswer)
    /// Both sides sent close frames, or an event stream sent `bye`. It has the server's code, or `.noStatus` if its frame was
    /// empty.
    case closed(CloseCode, reason: String)
    /// The server broke a rule of WebSocket, and our close frame stated it.
    case broken(WebSocketError)
    /// The connection ended without a close frame from the server.
    case cut(String)
    /// We closed, and no answer came within ``ClientLimits/closeMilliseconds``.
    case closeUnanswered
    /// No pong came within ``ClientLimits/pongMilliseconds``.
    case noPong
    /// We dropped it.
    case aborted
}
