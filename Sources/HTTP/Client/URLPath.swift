/// `host[:port]` of an address.
enum HostAndPort {
    static func parse(_ authority: ArraySlice<UInt8>, defaultPort: Int) throws(URLFault) -> WebSocketURL.Destination {
        let text = String(decoding: authority, as: UTF8.self)
        guard !authority.isEmpty else { throw .noHost }
        var host = authority
        var rest: ArraySlice<UInt8> = []
        if authority.first == ASCII.openBracket {
            guard let close = authority.firstIndex(of: ASCII.closeBracket) else { throw .badHost(text) }
            host = authority[(authority.startIndex + 1)..<close]
            rest = authority[(close + 1)...]
            // RFC 6874: a zone follows `%25`.
            let address = host.prefix { $0 != ASCII.percent }
            guard address.contains(ASCII.colon),
                address.allSatisfy({ $0.hexadecimalValue != nil || $0 == ASCII.colon || $0 == 0x2E })
            else { throw .badHost(text) }
        } else if let colon = authority.firstIndex(of: ASCII.colon) {
            host = authority[..<colon]
            rest = authority[colon...]
        }
        guard !host.isEmpty else { throw .noHost }
        guard let name = PercentEncoding.decoded(host),
            Self.isName(name, bracketed: authority.first == ASCII.openBracket)
        else { throw .badHost(text) }
        guard let first = rest.first else { return destination(name, defaultPort) }
        guard first == ASCII.colon else { throw .badHost(text) }
        let digits = rest.dropFirst()
        if digits.isEmpty { return destination(name, defaultPort) }
        guard let port = digits.decimal, (1...65535).contains(port) else {
            throw .badPort(String(decoding: digits, as: UTF8.self))
        }
        return destination(name, port)
    }

    /// Names are ASCII. Internationalised names are written in their `xn--` form.
    private static func isName(_ name: [UInt8], bracketed: Bool) -> Bool {
        name.allSatisfy { byte in
            byte.isLetter || byte.isDigit || byte == 0x2D || byte == 0x2E || byte == 0x5F
                || (bracketed && (byte == ASCII.colon || byte == ASCII.percent))
        }
    }

    private static func destination(_ name: [UInt8], _ port: Int) -> WebSocketURL.Destination {
        .host(String(decoding: name.map(\.lowercased), as: UTF8.self), port: port)
    }
}

/// Path and query of an address.
enum URLPath {
    /// The form that is sent: it begins with `/`. Bytes that are not visible ASCII are percent-encoded; encoded text stays.
    static func sendable(_ text: ArraySlice<UInt8>) -> String {
        var output: [UInt8] = text.first == ASCII.slash ? [] : [ASCII.slash]
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text {
            if byte > ASCII.space && byte < ASCII.delete {
                output.append(byte)
            } else {
                output += [ASCII.percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Resolves a reference without scheme and authority against the target where it was found (RFC 3986 §5.2.2).
    static func resolve(_ reference: ArraySlice<UInt8>, against base: String) -> String {
        let baseBytes = Array(base.utf8)
        let basePath = baseBytes.prefix { $0 != ASCII.questionMark }
        guard let first = reference.first else { return base }
        if first == ASCII.questionMark { return sendable(basePath + reference) }
        let mark = reference.firstIndex(of: ASCII.questionMark) ?? reference.endIndex
        var path = Array(reference[..<mark])
        if first != ASCII.slash {
            // The target always has a slash. Everything up to its last slash stays.
            let kept = basePath.lastIndex(of: ASCII.slash).map { basePath[...$0] } ?? [ASCII.slash]
            path = Array(kept) + path
        }
        return sendable(withoutDots(path) + reference[mark...])
    }

    /// RFC 3986 §5.2.4.
    private static func withoutDots(_ path: [UInt8]) -> ArraySlice<UInt8> {
        var segments: [ArraySlice<UInt8>] = []
        let pieces = path.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false)
        for (position, piece) in pieces.enumerated() {
            let isLast = position == pieces.count - 1
            if piece.equals(".") {
                if isLast { segments.append([]) }
            } else if piece.equals("..") {
                if !segments.isEmpty { segments.removeLast() }
                if isLast { segments.append([]) }
            } else {
                segments.append(piece)
            }
        }
        return ArraySlice(segments.flatMap { [ASCII.slash] + $0 })
    }
}
