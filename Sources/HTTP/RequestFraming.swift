/// The header fields of a request on which two readers must not disagree.
enum RequestFraming {
    /// RFC 9112 §3.2: a 1.1 request without `Host`, any with two, and any with a malformed one is 400.
    static func checkHost(_ headers: HeaderFields, version: HTTPVersion) throws(Refusal) {
        let hosts = headers.all("host")
        guard hosts.count <= 1 else { throw Refusal(.badRequest, "Host stands twice.") }
        guard let host = hosts.first else {
            if version == .http10 { return }
            throw Refusal(.badRequest, "Host is missing.")
        }
        // RFC 9112 §3.2: empty when the target has no authority.
        guard host.isEmpty || Authority.isValid(host, portRequired: false) else {
            throw Refusal(.badRequest, "Host is malformed.")
        }
    }

    /// The body's framing (RFC 9112 §6.3), with everything refused that two readers may take differently.
    static func body(_ headers: HeaderFields, version: HTTPVersion) throws(Refusal) -> BodyFraming {
        let lengths = headers.all("content-length")
        let encodings = headers.all("transfer-encoding")
        guard lengths.isEmpty || encodings.isEmpty else {
            throw Refusal(.badRequest, "Transfer-Encoding stands beside Content-Length.")
        }
        if !encodings.isEmpty {
            // RFC 9112 §6.1: a 1.0 message with Transfer-Encoding has faulty framing. Codings besides chunked are
            // known by nobody here.
            guard version == .http11, encodings.count == 1, encodings[0].equalsIgnoringCase("chunked") else {
                throw Refusal(.badRequest, "Transfer-Encoding is not chunked alone.")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        // RFC 9112 §6.3 allows a list of equal lengths to be read as one. Not here.
        guard lengths.count == 1 else { throw Refusal(.badRequest, "Content-Length stands twice.") }
        guard let value = length.decimal else { throw Refusal(.badRequest, "Content-Length is not a number.") }
        return .length(value)
    }
}
