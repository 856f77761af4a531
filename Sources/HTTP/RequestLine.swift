/// The parts of a request line (RFC 9112 §3). The scanner has accepted only visible ASCII and SP.
struct RequestLine {
    let method: String
    let form: TargetForm
    let path: String
    let query: String?
    /// Only of a target in absolute form.
    let authority: String?
    let version: HTTPVersion

    init(_ line: ArraySlice<UInt8>) throws(Refusal) {
        // RFC 9112 §3: exactly one SP between the parts. §3 allows a reader to accept more of them, but request splitting
        // exploits that.
        let parts = line.split(separator: ASCII.space, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw Refusal(.badRequest, "The request line is not a method, a target and a version.")
        }
        guard parts[0].allSatisfy(\.isToken) else { throw Refusal(.badRequest, "The method is not a token.") }
        version = try Self.version(parts[2])
        method = String(decoding: parts[0], as: UTF8.self)
        let target = try Self.target(parts[1], method: method)
        form = target.form
        path = target.path
        query = target.query
        authority = target.authority
    }

    private static func version(_ text: ArraySlice<UInt8>) throws(Refusal) -> HTTPVersion {
        let bytes = Array(text)
        guard bytes.count == 8, bytes[..<5].equals("HTTP/"), bytes[5].isDigit, bytes[6] == 0x2E, bytes[7].isDigit else {
            throw Refusal(.badRequest, "The version is malformed.")
        }
        guard bytes[5] == 0x31 else { throw Refusal(.version) }
        return bytes[7] == 0x30 ? .http10 : .http11
    }

    private typealias Target = (form: TargetForm, path: String, query: String?, authority: String?)

    private static func target(
        _ text: ArraySlice<UInt8>, method: String
    ) throws(Refusal) -> Target {
        // RFC 9112 §3.2.3 and §3.2.4: two methods have their own form of target, which no other method may use.
        if method == "CONNECT" {
            guard Authority.isValid(text, portRequired: true) else {
                throw Refusal(.badRequest, "CONNECT asks for a host and a port.")
            }
            return (.authority, String(decoding: text, as: UTF8.self), nil, nil)
        }
        if text.equals("*") {
            guard method == "OPTIONS" else { throw Refusal(.badRequest, "The target * is for OPTIONS alone.") }
            return (.asterisk, "*", nil, nil)
        }
        // RFC 9112 §3.2: a fragment is never sent.
        guard !text.contains(ASCII.hash) else { throw Refusal(.badRequest, "The target has a fragment.") }
        if text.first == ASCII.slash {
            let (path, query) = split(text)
            return (.origin, path, query, nil)
        }
        return try absolute(text)
    }

    /// RFC 9112 §3.2.2: a server accepts the absolute form too.
    private static func absolute(
        _ text: ArraySlice<UInt8>
    ) throws(Refusal) -> Target {
        let malformed = Refusal(.badRequest, "The target is neither a path nor a URL.")
        guard let colon = text.firstIndex(of: ASCII.colon) else { throw malformed }
        let scheme = text[..<colon]
        guard ["http", "https", "ws", "wss"].contains(where: scheme.equalsIgnoringCase),
            text[colon...].dropFirst().starts(with: [ASCII.slash, ASCII.slash])
        else { throw malformed }
        let rest = text[(colon + 3)...]
        let end = rest.firstIndex { $0 == ASCII.slash || $0 == ASCII.questionMark } ?? rest.endIndex
        guard end > rest.startIndex, Authority.isValid(rest[..<end], portRequired: false) else { throw malformed }
        let (path, query) = split(rest[end...])
        return (
            .absolute, path.isEmpty ? "/" : path, query, String(decoding: rest[..<end], as: UTF8.self)
        )
    }

    private static func split(_ text: ArraySlice<UInt8>) -> (path: String, query: String?) {
        guard let mark = text.firstIndex(of: ASCII.questionMark) else {
            return (String(decoding: text, as: UTF8.self), nil)
        }
        return (
            String(decoding: text[..<mark], as: UTF8.self), String(decoding: text[(mark + 1)...], as: UTF8.self)
        )
    }
}

/// `host[:port]` as in `Host` (RFC 9110 §7.2, RFC 3986 §3.2.2).
enum Authority {
    /// Whether this is a host with an optional port, without user information. An empty host is not valid.
    static func isValid(_ text: ArraySlice<UInt8>, portRequired: Bool) -> Bool {
        var host = text
        var port: ArraySlice<UInt8>?
        if text.first == ASCII.openBracket {
            guard let close = text.firstIndex(of: ASCII.closeBracket) else { return false }
            host = text[(text.startIndex + 1)..<close]
            let rest = text[(close + 1)...]
            if let first = rest.first {
                guard first == ASCII.colon else { return false }
                port = rest.dropFirst()
            }
            // RFC 3986 §3.2.2: IPv6address, which may end with an IPv4 address; or IPvFuture.
            guard !host.isEmpty, host.allSatisfy({ $0.isDigit || $0.isLetter || $0 == ASCII.colon || $0 == 0x2E })
            else { return false }
        } else {
            if let colon = text.firstIndex(of: ASCII.colon) {
                host = text[..<colon]
                port = text[(colon + 1)...]
            }
            guard !host.isEmpty, host.allSatisfy(isRegisteredName) else { return false }
        }
        guard let port else { return !portRequired }
        if port.isEmpty { return !portRequired }
        return port.decimal.map { $0 <= 65535 } ?? false
    }

    /// unreserved, "%" or sub-delims.
    private static func isRegisteredName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        case 0x21, 0x24...0x2C, 0x3B, 0x3D, 0x25: true
        default: false
        }
    }
}
