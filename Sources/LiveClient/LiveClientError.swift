import LiveState

/// Why the updates of a ``LiveClient`` end: a new connection would not help.
public enum LiveClientError: Error, Sendable, Equatable {
    /// The client cannot connect to this address; the text names the problem.
    case invalidURL(String)
    /// Certificates or keys cannot be used; the text names the file and the problem.
    case tls(String)
    /// The system refuses a resource that the client needs, such as a descriptor.
    case system(String)
    /// The server refused the request, also with a new token. The body is a problem document (RFC 9457) with a stable `code` if a
    /// Livegate answered.
    case refused(status: Int, body: String)
    /// The server refused two tokens in a row, or there is no token because no user is signed in. A token closure throws this
    /// error when it knows that. To try again, read ``LiveClient/updates`` again.
    case unauthorized
    /// The server closed the stream with 4403 and does not accept this client again: the access was revoked.
    case revoked(reason: String)
    /// The request cannot be sent, for example because the token contains a line end.
    case invalidRequest(String)
    /// A request of the client's own got no answer; the text gives the reason. Another attempt may succeed.
    case unreachable(String)
}

extension LiveClientError: CustomStringConvertible {
    /// What failed, for a log. It contains no token.
    public var description: String {
        switch self {
        case .invalidURL(let why): "not an address to connect to: \(why)"
        case .tls(let why): why
        case .system(let why): why
        case .refused(let status, let body): "the server refused with status \(status): \(body)"
        case .unauthorized: "nobody is signed in: there is no token that the server accepts"
        case .revoked(let reason): "the server revoked the access: \(reason)"
        case .invalidRequest(let why): why
        case .unreachable(let why): "no answer: \(why)"
        }
    }
}

extension LiveClientError {
    /// The error for this end; nil for an end that the app asked for.
    init?(_ end: ConnectionEnd) {
        switch end {
        case .stopped, .done: return nil
        case .revoked: self = .revoked(reason: "")
        case .refused(let status, let code): self = .refused(status: status, body: code ?? "")
        }
    }
}
