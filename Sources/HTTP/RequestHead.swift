/// The version of a message, as far as it changes what we do (RFC 9112 §2.3).
package enum HTTPVersion: Sendable, Equatable {
    case http10
    /// 1.1, and every later 1.x, which is to be treated like the highest minor version that we know.
    case http11
}

/// The form of a request target (RFC 9112 §3.2).
package enum TargetForm: Sendable, Equatable {
    case origin
    /// What a proxy is sent; its path and query count, its authority replaces `Host`.
    case absolute
    /// Only with `CONNECT`.
    case authority
    /// Only with `OPTIONS`.
    case asterisk
}

/// How the body of a message is delimited (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    case none
    /// `Content-Length`; 0 is a length too.
    case length(Int)
    case chunked
    /// Responses alone: everything until the connection ends.
    case untilClose

    /// Whether no byte of body follows.
    package var isEmpty: Bool { self == .none || self == .length(0) }
}

/// A request line with its header fields, checked.
package struct RequestHead: Sendable, Equatable {
    /// As it was sent; methods are case-sensitive.
    package let method: String
    package let form: TargetForm
    /// The path, not percent-decoded: begins with `/` in origin and absolute form, is `*` in asterisk form and the
    /// authority in authority form. Visible ASCII only.
    package let path: String
    /// What stands after `?`, not percent-decoded; nil when there is none.
    package let query: String?
    package let version: HTTPVersion
    package let headers: HeaderFields
    package let body: BodyFraming

    /// Whether the client wants to send another request on this connection (RFC 9112 §9.3).
    package var keepsAlive: Bool {
        if headers.containsToken("close", in: "connection") { return false }
        return version == .http11 || headers.containsToken("keep-alive", in: "connection")
    }
}
