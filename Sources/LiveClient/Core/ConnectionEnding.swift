import HTTP
import WebSocket

/// An answer to the handshake with another status than 101.
package struct RefusedAnswer: Equatable, Sendable {
    package let status: Int
    /// The reason phrase, as the server sent it.
    package let reason: [UInt8]
    package let headers: HeaderFields
    /// The beginning of the body, as far as it came in time.
    package let body: [UInt8]
    /// The body was longer than ``ClientLimits/maximumRefusalBytes``.
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

/// How a connection ended.
package enum ConnectionEnding: Equatable, Sendable {
    /// There never was one.
    case notConnected(ConnectFailure)
    /// The server answered, and not with 101.
    case refused(RefusedAnswer)
    /// Close frames went both ways; the server's code, `.noStatus` where its frame was empty.
    case closed(CloseCode, reason: String)
    /// The server broke a rule of WebSocket; it was told.
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
