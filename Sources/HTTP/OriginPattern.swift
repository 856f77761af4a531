/// One entry of a list of origins: an origin (RFC 6454 §6.2), or all hosts below a name, `https://*.example.com`.
///
/// Its text has the form that browsers send, so that a comparison byte by byte compares scheme, host and port.
package struct OriginPattern: Hashable, Sendable {
    /// As it was written.
    package let text: String
    /// The texts before and after the free labels; nil for a single origin.
    private let wildcard: Wildcard?

    private struct Wildcard: Hashable {
        let start: [UInt8]
        let end: [UInt8]
    }

    package var isWildcard: Bool { wildcard != nil }

    /// Whether the value of a request's `Origin` matches.
    func matches(_ origin: ArraySlice<UInt8>) -> Bool {
        guard let wildcard else { return origin.equals(text) }
        guard origin.count > wildcard.start.count + wildcard.end.count, origin.starts(with: wildcard.start),
            origin.suffix(wildcard.end.count).elementsEqual(wildcard.end)
        else { return false }
        return Host.areLabels(origin.dropFirst(wildcard.start.count).dropLast(wildcard.end.count))
    }

    package init(_ text: String) throws(OriginFault) {
        self.text = text
        let bytes = Array(text.utf8)[...]
        guard let colon = bytes.firstIndex(of: ASCII.colon), bytes[colon...].starts(with: Array("://".utf8)) else {
            throw .noScheme
        }
        guard !bytes.contains(where: { (0x41...0x5A).contains($0) }) else { throw .upperCase }
        let scheme = bytes[..<colon]
        guard scheme.first?.isLetter == true, scheme.count <= Self.maximumSchemeBytes,
            scheme.allSatisfy(Self.isSchemeByte)
        else { throw .noScheme }
        guard !scheme.equals("ws"), !scheme.equals("wss") else { throw .socketScheme }
        let authority = bytes[(colon + 3)...]
        guard !authority.contains(ASCII.slash) else { throw .slash }
        let (host, port) = try Self.split(authority)
        if let port { try Self.check(port, of: scheme) }
        guard host.starts(with: Array("*.".utf8)) else {
            guard Host.isCanonical(host) else { throw host.contains(0x2A) ? .wildcard : .host }
            wildcard = nil
            return
        }
        let base = host.dropFirst(2)
        guard Host.areLabels(base), !Host.resemblesIPv4(base) else { throw .wildcard }
        wildcard = Wildcard(start: Array(bytes[..<host.startIndex]), end: Array(bytes[(host.startIndex + 1)...]))
    }

    /// Apps that consist of pages have their own schemes: `capacitor`, `chrome-extension`.
    private static let maximumSchemeBytes = 32

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == 0x2B || byte == 0x2D || byte == 0x2E
    }

    private static func split(
        _ authority: ArraySlice<UInt8>
    ) throws(OriginFault) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
        // The colons of an IPv6 address are inside brackets.
        let hostEnd = authority.firstIndex(of: ASCII.closeBracket).map { $0 + 1 } ?? authority.startIndex
        guard let colon = authority[hostEnd...].firstIndex(of: ASCII.colon) else { return (authority, nil) }
        return (authority[..<colon], authority[(colon + 1)...])
    }

    private static func check(_ port: ArraySlice<UInt8>, of scheme: ArraySlice<UInt8>) throws(OriginFault) {
        guard let number = port.decimal, (1...65_535).contains(number), port.first != ASCII.zero else { throw .port }
        let isDefault = scheme.equals("https") && number == 443 || scheme.equals("http") && number == 80
        guard !isDefault else { throw .defaultPort }
    }
}

/// Why a text is not a valid entry of a list of origins.
package enum OriginFault: Error, Equatable, Sendable {
    case noScheme, socketScheme, upperCase, slash, host, wildcard, port, defaultPort
}

extension OriginFault: CustomStringConvertible {
    /// The end of a sentence that begins with the text.
    package var description: String {
        switch self {
        case .noScheme: "is no origin: scheme and host are expected, as in https://app.example.com"
        case .socketScheme: "is no page's origin: a page has http or https, also where it opens ws or wss"
        case .upperCase: "has capital letters: browsers send an origin in lower case"
        case .slash: "has a slash behind the host: an origin has no path and no slash at its end"
        case .host:
            "has a host that no browser sends: a name, an IPv4 address or an IPv6 address in brackets is expected"
        case .wildcard: "has a * that does not replace the first labels of a name, as in https://*.example.com"
        case .port: "has a port that is not 1 to 65535"
        case .defaultPort: "names the scheme's own port: browsers leave it out"
        }
    }
}

/// The host of an origin, as browsers write it (URL Standard §3.5).
private enum Host {
    static func isCanonical(_ host: ArraySlice<UInt8>) -> Bool {
        if host.first == ASCII.openBracket { return isIPv6(host) }
        return areLabels(host) && (!resemblesIPv4(host) || isIPv4(host))
    }

    /// One label or more. Names in other alphabets are sent in their ASCII form (`xn--…`).
    static func areLabels(_ text: ArraySlice<UInt8>) -> Bool {
        guard (1...253).contains(text.count) else { return false }
        return text.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy(isLabelByte)
        }
    }

    /// Whether the last label is a number. In that case a browser reads the whole host as an IPv4 address.
    static func resemblesIPv4(_ host: ArraySlice<UInt8>) -> Bool {
        host.split(separator: 0x2E).last?.allSatisfy(\.isDigit) ?? false
    }

    private static func isIPv4(_ host: ArraySlice<UInt8>) -> Bool {
        let parts = host.split(separator: 0x2E, omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard let number = part.decimal, number <= 255 else { return false }
                return part.count == 1 || part.first != ASCII.zero
            }
    }

    /// Its digits and colons. The code that reads the settings finds out whether they are in their shortest form.
    private static func isIPv6(_ host: ArraySlice<UInt8>) -> Bool {
        host.last == ASCII.closeBracket && host.count > 3
            && host.dropFirst().dropLast().allSatisfy { $0.isDigit || (0x61...0x66).contains($0) || $0 == ASCII.colon }
    }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        byte.isDigit || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x5F
    }
}
