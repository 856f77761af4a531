import HTTP
import WebSocket

/// An answer that is neither 101 nor a stream: a refusal, or the document that was asked for.
package struct ServerAnswer: Equatable, Sendable {
    package let status: Int
    /// The reason phrase, as the server sent it.
    package let reason: [UInt8]
    package let headers: HeaderFields
    /// The beginning of the body, as far as it came in time.
    package let body: [UInt8]
    /// The body was longer than ``ClientLimits/maximumRefusalBytes``, or than the largest document.
    package let isTruncated: Bool

    /// `Retry-After` in milliseconds, where it is a number of seconds and no more than a day.
    package var retryAfterMilliseconds: Int? {
        guard let text = headers.text("retry-after"), let seconds = Int(text), (0...86_400).contains(seconds),
            text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return seconds * 1000
    }

    /// `Location`, where the status asks to go there.
    package var redirect: [UInt8]? {
        guard (300..<400).contains(status), let location = headers.only("location"), !location.isEmpty else {
            return nil
        }
        return Array(location)
    }
}

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
