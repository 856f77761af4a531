import CLinux

extension SocketAddress: CustomStringConvertible {
    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `:8080` and `unix:/path`. Names are not looked up.
    package init(parsing text: String) throws(ReactorError) {
        if text.utf8.starts(with: "unix:".utf8) {
            let path = Array(text.utf8.dropFirst(5))
            guard !path.isEmpty else { throw .invalidAddress(text, why: "unix: is followed by a path") }
            guard path.count <= LINUX_UNIX_PATH_MAXIMUM else {
                throw .invalidAddress(
                    text,
                    why: "the path of a Unix socket has at most \(LINUX_UNIX_PATH_MAXIMUM) bytes, not \(path.count)")
            }
            guard !path.contains(0) else { throw .invalidAddress(text, why: "a path holds no NUL") }
            self = .unix(path)
            return
        }
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            throw .invalidAddress(text, why: "ADDRESS:PORT, :PORT or unix:PATH is expected")
        }
        let port = try SocketAddress.port(text[text.index(after: colon)...], of: text)
        let host = text[..<colon]
        if host.isEmpty {
            self = .any(port: port)
        } else if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"), host.utf8.count > 2 {
            guard let address = SocketAddress(numeric: String(host.dropFirst().dropLast()), port: port),
                case .ipv6 = address
            else { throw .invalidAddress(text, why: "there is no IPv6 address between the brackets") }
            self = address
        } else {
            guard let address = SocketAddress(numeric: String(host), port: port) else {
                throw .invalidAddress(text, why: "an IPv4 address or an IPv6 address in brackets is expected")
            }
            guard case .ipv4 = address else {
                throw .invalidAddress(text, why: "an IPv6 address must be in brackets: [::1]:8080")
            }
            self = address
        }
    }

    /// Reads a numeric address without brackets and port: `127.0.0.1` or `::1`; nil for anything else.
    package init?(numeric host: String, port: UInt16) {
        guard !host.utf8.contains(0) else { return nil }
        for family in [LINUX_FAMILY_IPV4, LINUX_FAMILY_IPV6] {
            var raw = linux_address()
            if unsafe linux_parse_address(Int32(family), host, &raw) == 0 {
                // Not by init(_:), which converts an IPv4-mapped address to IPv4: here the text decides.
                self =
                    family == LINUX_FAMILY_IPV4
                    ? .ipv4(UInt32(truncatingIfNeeded: raw.low), port: port)
                    : .ipv6(high: raw.high, low: raw.low, port: port)
                return
            }
        }
        return nil
    }

    /// Digits only: no sign, no space, at most five of them, at most 65535.
    private static func port(_ digits: Substring, of text: String) throws(ReactorError) -> UInt16 {
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { throw .invalidAddress(text, why: "a port is a number from 0 to 65535") }
        return port
    }

    /// The address as ``init(parsing:)`` reads it.
    package var description: String {
        switch self {
        case .ipv4(_, let port): "\(host):\(port)"
        case .ipv6(_, _, let scope, let port): scope == 0 ? "[\(host)]:\(port)" : "[\(host)%\(scope)]:\(port)"
        case .any(let port): ":\(port)"
        case .unix(let path): "unix:" + String(decoding: path, as: UTF8.self)
        }
    }

    /// The numeric address without brackets and port; the path of a Unix socket; empty for all addresses.
    package var host: String {
        if case .unix(let path) = self { return String(decoding: path, as: UTF8.self) }
        if case .any = self { return "" }
        var raw = linux_address()
        raw.family = family
        switch self {
        case .ipv4(let address, _): raw.low = UInt64(address)
        case .ipv6(let high, let low, _, _):
            raw.high = high
            raw.low = low
        case .any, .unix: break
        }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { room in
            guard unsafe linux_print_address(&raw, room.baseAddress!) > 0 else { return "?" }
            return unsafe String(cString: room.baseAddress!)
        }
    }
}
