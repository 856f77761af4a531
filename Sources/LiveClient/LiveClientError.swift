import LiveState

/// Why the updates of a ``LiveClient`` end: coming back would change nothing.
public enum LiveClientError: Error, Sendable, Equatable {
    /// The address is none that a client can connect to; with what is wrong.
    case invalidURL(String)
    /// Certificates or keys cannot be used; with the file and what is wrong.
    case tls(String)
    /// The system refuses what a client needs, such as a descriptor.
    case system(String)
    /// The server refused the request, a new token included. The body is a problem document (RFC 9457) where a
    /// Livegate answered, with a stable `code`.
    case refused(status: Int, body: String)
    /// Two tokens in a row were refused, or there is none: nobody is signed in. A token closure throws this one when
    /// it knows that. Reading ``LiveClient/updates`` again tries again.
    case unauthorized
    /// The server closed the stream and does not want this client back: 4403, the access was revoked.
    case revoked(reason: String)
    /// The request cannot be sent, for example because the token holds a line end.
    case invalidRequest(String)
    /// A request of its own got no answer; with why. Asking again may help.
    case unreachable(String)
}

extension LiveClientError: CustomStringConvertible {
    /// What failed, for a log; no token stands in it.
    public var description: String {
        switch self {
        case .invalidURL(let why): "not an address to connect to: \(why)"
        case .tls(let why): why
        case .system(let why): why
        case .refused(let status, let body): "the server refused with status \(status): \(body)"
        case .unauthorized: "nobody is signed in: there is no token that the server takes"
        case .revoked(let reason): "the server revoked the access: \(reason)"
        case .invalidRequest(let why): why
        case .unreachable(let why): "no answer: \(why)"
        }
    }
}

extension LiveClientError {
    /// The error that an end means; nil for one that was wanted.
    init?(_ end: ConnectionEnd) {
        switch end {
        case .stopped, .done: return nil
        case .revoked: self = .revoked(reason: "")
        case .refused(let status, let code): self = .refused(status: status, body: code ?? "")
        }
    }
}
