/// The header in which a balancer names the client.
package enum ForwardedHeader: String, Sendable, CaseIterable {
    case xForwardedFor = "x-forwarded-for"
    /// RFC 7239.
    case forwarded

    /// The header's name in lower case.
    package var name: String { rawValue }

    /// The client that the header's fields name. The fields are one list in their order: the result is its rightmost address
    /// that is not trusted, or the leftmost if all are trusted.
    ///
    /// Reads from the right, and no further than that address. Text that the client itself wrote is to the left of the
    /// balancers' entries, and no quote or comma in it changes how these are read.
    ///
    /// - Returns: nil where the list is empty, or where an element without an address comes first: an obfuscated name,
    ///   `unknown`, an element without `for`.
    package func client(in fields: [ArraySlice<UInt8>], trusted: TrustedNetworks) -> ClientAddress? {
        var leftmost: ClientAddress?
        for field in fields.reversed() {
            var rest = field
            while let element = takeLast(&rest) {
                if element.isEmpty { continue }
                guard let address = address(element) else { return nil }
                if !trusted.contains(address) { return address }
                leftmost = address
            }
        }
        return leftmost
    }

    private func address(_ element: ArraySlice<UInt8>) -> ClientAddress? {
        switch self {
        case .xForwardedFor: Self.node(element, takesObfuscatedPort: false)
        case .forwarded: ForwardedElement.node(element).flatMap { Self.node($0[...], takesObfuscatedPort: true) }
        }
    }

    /// Removes the last element of a field, without the blanks around it; nil when nothing is left.
    private func takeLast(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        var start = rest.endIndex
        while start > rest.startIndex, rest[start - 1] != UInt8(ascii: ",") {
            start -= 1
            if self == .forwarded, rest[start] == UInt8(ascii: "\"") { start = openingQuote(rest, before: start) }
        }
        let element = rest[start...].withoutBlanks
        rest = start > rest.startIndex ? rest[..<(start - 1)] : []
        return element
    }

    /// The quote that opens the string whose closing quote is at `close`: the next quote to the left without a backslash before
    /// it. Inside a string each quote has one, and before a string there is `=`. Without such a quote, the field's beginning.
    private func openingQuote(_ bytes: ArraySlice<UInt8>, before close: Int) -> Int {
        var index = close
        while index > bytes.startIndex {
            index -= 1
            guard bytes[index] == UInt8(ascii: "\"") else { continue }
            if index == bytes.startIndex || bytes[index - 1] != UInt8(ascii: "\\") { return index }
        }
        return index
    }

    /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`.
    private static func node(_ text: ArraySlice<UInt8>, takesObfuscatedPort: Bool) -> ClientAddress? {
        let host: ArraySlice<UInt8>
        let rest: ArraySlice<UInt8>
        if text.first == UInt8(ascii: "[") {
            guard let close = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            (host, rest) = (text[(text.startIndex + 1)..<close], text[(close + 1)...])
            guard host.contains(.colon) else { return nil }
        } else if let colon = text.firstIndex(of: .colon), text.lastIndex(of: .colon) == colon {
            (host, rest) = (text[..<colon], text[colon...])
        } else {
            (host, rest) = (text, [])
        }
        guard rest.isEmpty || isPort(rest, takesObfuscated: takesObfuscatedPort) else { return nil }
        return ClientAddress(host)
    }

    /// A colon and digits, or a name that begins with `_` (RFC 7239 §6.3).
    private static func isPort(_ text: ArraySlice<UInt8>, takesObfuscated: Bool) -> Bool {
        guard text.first == .colon else { return false }
        let port = text.dropFirst()
        if AddressText.isPort(port) { return true }
        guard takesObfuscated, port.first == UInt8(ascii: "_"), port.count > 1 else { return false }
        return port.allSatisfy { $0.isLetter || $0.isDigit || [0x2E, 0x5F, 0x2D].contains($0) }
    }
}

/// One element of `Forwarded` (RFC 7239 §4): pairs separated by semicolons, `for=192.0.2.1;proto=https`.
///
/// An unquoted value may also contain characters that need a quoted string, such as the colon of a port. Many balancers
/// write it so, and it has only one possible meaning.
private enum ForwardedElement {
    /// The value of its only `for`, unquoted. Nil without one, with two, and where the element is malformed.
    static func node(_ element: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = element
        var node: [UInt8]?
        while true {
            rest = rest.withoutBlanks
            guard let next = rest.first else { return node }
            if next == UInt8(ascii: ";") {
                rest = rest.dropFirst()
                continue
            }
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = rest[..<equals]
            guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }) else {
                return nil
            }
            rest = rest[(equals + 1)...]
            guard let value = takeValue(&rest) else { return nil }
            guard name.elementsEqual("for".utf8, by: { $0 | 0x20 == $1 }) else { continue }
            guard node == nil else { return nil }
            node = value
        }
    }

    /// Removes a value from the front, up to the semicolon after it or the end.
    private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var value: [UInt8] = []
        if rest.first == UInt8(ascii: "\"") {
            rest = rest.dropFirst()
            while true {
                guard var byte = rest.popFirst() else { return nil }
                if byte == UInt8(ascii: "\"") { break }
                if byte == UInt8(ascii: "\\") {
                    guard let escaped = rest.popFirst() else { return nil }
                    byte = escaped
                }
                value.append(byte)
            }
        } else {
            while let byte = rest.first, byte > 0x20, byte < 0x7F, byte != UInt8(ascii: ";") {
                guard byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return nil }
                value.append(byte)
                rest = rest.dropFirst()
            }
            guard !value.isEmpty else { return nil }
        }
        rest = rest.withoutBlanks
        guard rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return value
    }
}

extension ArraySlice<UInt8> {
    fileprivate var withoutBlanks: ArraySlice<UInt8> {
        var slice = self
        while let first = slice.first, first.isBlank { slice.removeFirst() }
        while let last = slice.last, last.isBlank { slice.removeLast() }
        return slice
    }
}
