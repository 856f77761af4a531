/// What is wrong with an address.
package enum URLFault: Error, Equatable, Sendable {
    case empty
    case unknownScheme(String)
    case noHost
    case badHost(String)
    case badPort(String)
    /// RFC 6455 §3: a WebSocket address has no fragment.
    case fragment
    case controlByte
    /// The faulty address may contain a name or a password, so no part of it is shown.
    case userInformation
}

extension URLFault {
    /// The same fault without the text before the last `@` of the whole address. A slash in a password that is not
    /// percent-encoded ends the authority too early. Then a part of the password is read as a port.
    func withoutUserInformation(of text: [UInt8]) -> URLFault {
        let part: String
        switch self {
        // Without slashes after it, it may be a user name that a password follows.
        case .unknownScheme(let name): part = name
        case .badHost(let text), .badPort(let text): part = text
        case .empty, .noHost, .fragment, .controlByte, .userInformation: return self
        }
        guard let at = text.lastIndex(of: ASCII.at) else { return self }
        if case .unknownScheme = self, text.dropFirst(part.utf8.count).starts(with: "://".utf8) { return self }
        return text[at...].contains(Array(part.utf8)) ? self : .userInformation
    }
}

/// Where a client connects: `ws`, `wss`, `http`, `https` (which mean ws and wss), and `ws+unix:PATH:/target`. Without a
/// scheme it is ws.
package struct WebSocketURL: Sendable, Equatable {
    package enum Destination: Sendable, Equatable {
        /// A name or an address; an IPv6 address without its brackets.
        case host(String, port: Int)
        case unix(path: String)
    }

    package let isSecure: Bool
    package let destination: Destination
    /// Path and query in the form that is sent: begins with `/`, visible ASCII.
    package let target: String
    /// The text before `@`, percent-decoded.
    package let userInformation: [UInt8]?

    init(isSecure: Bool, destination: Destination, target: String, userInformation: [UInt8]?) {
        self.isSecure = isSecure
        self.destination = destination
        self.target = target
        self.userInformation = userInformation
    }

    private static let defaultPorts = (plain: 80, secure: 443)

    /// The value of `Host`: without the port where it is the default port of the scheme.
    package var host: String {
        switch destination {
        case .unix: "localhost"
        case .host(let name, let port):
            (name.utf8.contains(ASCII.colon) ? "[\(name.prefix { $0 != "%" })]" : name)
                + (port == (isSecure ? Self.defaultPorts.secure : Self.defaultPorts.plain) ? "" : ":\(port)")
        }
    }

    /// Whether credentials for one address may be sent to the other: same scheme, host and port.
    package func hasSameOrigin(as other: WebSocketURL) -> Bool {
        isSecure == other.isSecure && destination == other.destination
    }

    /// Whether it may contain a name and a password. Where one of them has a slash, the rest of it seems to be part of the path.
    package var mayHoldUserInformation: Bool { userInformation != nil || target.utf8.contains(ASCII.at) }

    /// The address without user information, for messages to people.
    package var description: String {
        switch destination {
        case .unix(let path): "ws+unix:\(path):\(target)"
        case .host: (isSecure ? "wss://" : "ws://") + host + target
        }
    }
}

extension WebSocketURL {
    package init(_ text: String) throws(URLFault) {
        let bytes = Array(text.utf8)
        do throws(URLFault) {
            try self.init(bytes)
        } catch {
            throw error.withoutUserInformation(of: bytes)
        }
    }

    private init(_ bytes: [UInt8]) throws(URLFault) {
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.contains(where: \.isControl) else { throw .controlByte }
        guard let (scheme, rest) = Self.scheme(bytes[...]) else {
            try self.init(authorityAndTarget: bytes[...], isSecure: false)
            return
        }
        if scheme == "ws+unix" {
            try self.init(unix: rest)
            return
        }
        guard let isSecure = Self.isSecure(scheme) else { throw .unknownScheme(scheme) }
        guard rest.starts(with: [ASCII.slash, ASCII.slash]) else { throw .noHost }
        try self.init(authorityAndTarget: rest.dropFirst(2), isSecure: isSecure)
    }

    /// The address that the `Location` of a redirect names (RFC 3986 §5.2), resolved against this one.
    package func resolving(_ location: [UInt8]) throws(URLFault) -> WebSocketURL {
        guard !location.contains(where: \.isControl) else { throw .controlByte }
        // RFC 9110 §10.2.2: a fragment is for the program that shows the answer. Nothing shows it here.
        let reference = location.prefix { $0 != ASCII.hash }
        if let (scheme, rest) = Self.scheme(reference) {
            guard let isSecure = Self.isSecure(scheme) else { throw .unknownScheme(scheme) }
            guard rest.starts(with: [ASCII.slash, ASCII.slash]) else { throw .noHost }
            return try WebSocketURL(authorityAndTarget: rest.dropFirst(2), isSecure: isSecure)
        }
        if reference.starts(with: [ASCII.slash, ASCII.slash]) {
            return try WebSocketURL(authorityAndTarget: reference.dropFirst(2), isSecure: isSecure)
        }
        return WebSocketURL(
            isSecure: isSecure, destination: destination, target: URLPath.resolve(reference, against: target),
            userInformation: userInformation)
    }

    private static func isSecure(_ scheme: String) -> Bool? {
        switch scheme {
        case "ws", "http": false
        case "wss", "https": true
        default: nil
        }
    }

    /// The text before the first `:`, if that is a scheme and not the host of `host:port` (RFC 3986 §3.1).
    private static func scheme(_ text: ArraySlice<UInt8>) -> (scheme: String, rest: ArraySlice<UInt8>)? {
        guard let colon = text.firstIndex(of: ASCII.colon), let first = text.first, first.isLetter else { return nil }
        let scheme = text[..<colon]
        guard scheme.allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }) else {
            return nil
        }
        let rest = text[(colon + 1)...]
        let name = String(decoding: scheme.map(\.lowercased), as: UTF8.self)
        // `localhost:8080/live` has no scheme: digits follow. They never follow a scheme that has an authority.
        if name != "ws+unix", let next = rest.first, next.isDigit { return nil }
        return (name, rest)
    }

    private init(unix rest: ArraySlice<UInt8>) throws(URLFault) {
        // Some people write `ws+unix://PATH`. The path is absolute in this form too.
        var text = rest
        if text.starts(with: [ASCII.slash, ASCII.slash]) { text = text.dropFirst(2) }
        guard !text.contains(ASCII.hash) else { throw .fragment }
        var path = text
        var target: ArraySlice<UInt8> = []
        for index in text.indices where text[index] == ASCII.colon && text[(index + 1)...].first == ASCII.slash {
            path = text[..<index]
            target = text[(index + 1)...]
            break
        }
        if path.last == ASCII.colon { path = path.dropLast() }
        guard !path.isEmpty else { throw .noHost }
        self.init(
            isSecure: false, destination: .unix(path: String(decoding: path, as: UTF8.self)),
            target: URLPath.sendable(target), userInformation: nil)
    }

    private init(authorityAndTarget text: ArraySlice<UInt8>, isSecure: Bool) throws(URLFault) {
        guard !text.contains(ASCII.hash) else { throw .fragment }
        let end = text.firstIndex { $0 == ASCII.slash || $0 == ASCII.questionMark } ?? text.endIndex
        var authority = text[..<end]
        var userInformation: [UInt8]?
        if let at = authority.lastIndex(of: ASCII.at) {
            let before = authority[..<at]
            userInformation = PercentEncoding.decoded(before) ?? Array(before)
            authority = authority[(at + 1)...]
        }
        let port = isSecure ? Self.defaultPorts.secure : Self.defaultPorts.plain
        self.init(
            isSecure: isSecure, destination: try HostAndPort.parse(authority, defaultPort: port),
            target: URLPath.sendable(text[end...]), userInformation: userInformation)
    }
}

extension WebSocketURL {
    /// The same address with these parameters. Each replaces the parameters of its name; the others stay as they were
    /// written, in their order.
    package func setting(_ parameters: [(name: String, value: String)]) -> WebSocketURL {
        guard !parameters.isEmpty else { return self }
        let bytes = Array(target.utf8)
        let mark = bytes.firstIndex(of: ASCII.questionMark) ?? bytes.endIndex
        let kept = bytes[mark...].dropFirst().split(separator: 0x26).filter { piece in
            let name = PercentEncoding.decoded(piece.prefix { $0 != 0x3D })
            return !parameters.contains { name?.elementsEqual($0.name.utf8) == true }
        }
        let added = parameters.map { Array("\($0.name)=".utf8) + PercentEncoding.encoded(Array($0.value.utf8)) }
        let query = (kept.map(Array.init) + added).joined(separator: [0x26])
        return replacing(target: String(decoding: bytes[..<mark] + [ASCII.questionMark] + query, as: UTF8.self))
    }

    /// The same address for messages to people: `ticket`, which stands for a token, gets an empty value.
    package var withoutTicket: WebSocketURL { parameter("ticket") == .absent ? self : setting([("ticket", "")]) }

    /// The value of a parameter in the address.
    package func parameter(_ name: String) -> QueryParameters.Value {
        guard let mark = target.utf8.firstIndex(of: ASCII.questionMark) else { return .absent }
        return QueryParameters(String(target[target.utf8.index(after: mark)...]))[name]
    }

    /// The same address with a new ending of its path, if the path ends with `old`.
    package func replacing(pathSuffix old: String, with new: String) -> WebSocketURL {
        let path = target.utf8.prefix { $0 != ASCII.questionMark }
        guard path.count >= old.utf8.count, path.suffix(old.utf8.count).elementsEqual(old.utf8) else { return self }
        let before = String(decoding: path.dropLast(old.utf8.count), as: UTF8.self)
        return replacing(target: before + new + String(decoding: target.utf8.dropFirst(path.count), as: UTF8.self))
    }

    /// The same address with this path, if its own path is only `/`.
    package func replacingBarePath(with new: String) -> WebSocketURL {
        guard target.utf8.prefix(while: { $0 != ASCII.questionMark }).elementsEqual([ASCII.slash]) else { return self }
        return replacing(target: new + String(decoding: target.utf8.dropFirst(), as: UTF8.self))
    }

    private func replacing(target: String) -> WebSocketURL {
        WebSocketURL(isSecure: isSecure, destination: destination, target: target, userInformation: userInformation)
    }
}

extension PercentEncoding {
    /// RFC 3986 §2.3: unreserved characters stay. The comma of our lists stays too: a query may contain it.
    static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return bytes.flatMap { byte in
            let stays = byte.isLetter || byte.isDigit || "-._~,".utf8.contains(byte)
            return stays ? [byte] : [ASCII.percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
}
