import HTTP
import Reactor
import TLS

/// Why a ``LiveClient`` ends for good: coming back would change nothing.
public enum LiveClientError: Error, Sendable, Equatable {
    /// The address is none that a client can connect to; with what is wrong.
    case invalidURL(String)
    /// Certificates or keys cannot be used; with the file and what is wrong.
    case tls(String)
    /// The system refuses what a client needs, such as a descriptor.
    case system(String)
    /// The server refused the request, a new token included. The body is a problem document (RFC 9457) where a Livegate
    /// answered, with a stable `code`.
    case refused(status: Int, body: String)
    /// The server closed the stream and does not want this client back: 4403, the access was revoked.
    case revoked(reason: String)
    /// The request cannot be sent, for example because the token holds a line end.
    case invalidRequest(String)
}

extension LiveClientError: CustomStringConvertible {
    /// What failed, for a log; no token stands in it.
    public var description: String {
        switch self {
        case .invalidURL(let why): "not an address to connect to: \(why)"
        case .tls(let why): why
        case .system(let why): why
        case .refused(let status, let body): "the server refused with status \(status): \(body)"
        case .revoked(let reason): "the server revoked the access: \(reason)"
        case .invalidRequest(let why): why
        }
    }
}

extension LiveClientError {
    /// The error that an ending means which is not followed by another attempt; nil for one that was wanted.
    init?(_ ending: ConnectionEnding) {
        switch ending {
        case .refused(let answer):
            self = .refused(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
        case .closed(.revoked, let reason): self = .revoked(reason: reason)
        case .notConnected(let failure): self = .invalidRequest(failure.description)
        case .answered, .closed, .broken, .cut, .closeUnanswered, .noPong, .aborted: return nil
        }
    }
}
