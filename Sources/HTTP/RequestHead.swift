/// The version of a message, as far as it changes what we do (RFC 9112 §2.3).
package enum HTTPVersion: Sendable, Equatable {
    case http10
    /// 1.1, and every later 1.x, which is treated like the highest minor version that we know.
    case http11
}

/// The form of a request target (RFC 9112 §3.2).
package enum TargetForm: Sendable, Equatable {
    case origin
    /// The form that is sent to a proxy. Its path and query are used, and its authority replaces `Host`.
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
    /// Only for responses: everything until the connection ends.
    case untilClose

    /// Whether no byte of body follows.
    package var isEmpty: Bool { self == .none || self == .length(0) }
}

/// A request line with its header fields, checked.
package struct RequestHead: Sendable, Equatable {
    /// The method as it was sent. Methods are case-sensitive.
    package let method: String
    package let form: TargetForm
    /// The path, not percent-decoded. It begins with `/` in origin and absolute form, is `*` in asterisk form and the
    /// authority in authority form. Visible ASCII only.
    package let path: String
    /// The text after `?`, not percent-decoded; nil when there is none.
    package let query: String?
    /// `host[:port]` of a target in absolute form, which replaces `Host` (RFC 9112 §3.2.2).
    package let authority: String?
    package let version: HTTPVersion
    package let headers: HeaderFields
    package let body: BodyFraming

    /// Whether the client wants to send another request on this connection (RFC 9112 §9.3).
    package var keepsAlive: Bool {
        if headers.containsToken("close", in: "connection") { return false }
        return version == .http11 || headers.containsToken("keep-alive", in: "connection")
    }
}

/// The header fields of a request that two readers must understand in the same way.
enum RequestFraming {
    /// RFC 9112 §3.2: a 1.1 request without `Host` gets a 400. So does any request with two of them or with a malformed one.
    static func checkHost(_ headers: HeaderFields, version: HTTPVersion) throws(Refusal) {
        let hosts = headers.all("host")
        guard hosts.count <= 1 else { throw Refusal(.badRequest, "Duplicate Host header.") }
        guard let host = hosts.first else {
            if version == .http10 { return }
            throw Refusal(.badRequest, "Host is missing.")
        }
        // RFC 9112 §3.2: empty when the target has no authority.
        guard host.isEmpty || Authority.isValid(host, portRequired: false) else {
            throw Refusal(.badRequest, "Host is malformed.")
        }
    }

    /// The body's framing (RFC 9112 §6.3). Everything that two readers may understand differently is refused.
    static func body(_ headers: HeaderFields, version: HTTPVersion) throws(Refusal) -> BodyFraming {
        let lengths = headers.all("content-length")
        let encodings = headers.all("transfer-encoding")
        guard lengths.isEmpty || encodings.isEmpty else {
            throw Refusal(.badRequest, "Both Transfer-Encoding and Content-Length present.")
        }
        if !encodings.isEmpty {
            // RFC 9112 §6.1: a 1.0 message with Transfer-Encoding has faulty framing. Codings other than chunked are
            // unknown here.
            guard version == .http11, encodings.count == 1, encodings[0].equalsIgnoringCase("chunked") else {
                throw Refusal(.badRequest, "Transfer-Encoding is not chunked alone.")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        // RFC 9112 §6.3 allows a reader to accept a list of equal lengths as one. This reader does not.
        guard lengths.count == 1 else { throw Refusal(.badRequest, "Duplicate Content-Length header.") }
        guard let value = length.decimal else { throw Refusal(.badRequest, "Content-Length is not a number.") }
        return .length(value)
    }
}
