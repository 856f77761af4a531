/// One element of a `Sec-WebSocket-Extensions` header (RFC 6455 §9.1): an extension with its parameters in order.
package struct ExtensionElement: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String?
    }

    package let name: String
    package let parameters: [Parameter]
}

/// The header is not an extension list of RFC 6455 §9.1: a server answers 400, a client fails the connection.
package struct ExtensionSyntaxError: Error, Hashable, Sendable {
    /// The offset in the header at which reading stopped.
    package let offset: Int
}

/// Reads the header.
package struct ExtensionListParser {
    /// The limits for the elements of one header and the parameters of one element. No client offers more than four, and none
    /// has more than four parameters. The list is processed for each of them.
    package static let maximumElements = 16
    package static let maximumParameters = 16

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static func parse(_ header: [UInt8]) throws(ExtensionSyntaxError) -> [ExtensionElement] {
        var parser = ExtensionListParser(header)
        return try parser.list()
    }

    /// Reads a header that has several lines. They mean the same as one line joined with commas (RFC 9110 §5.2).
    package static func parse(lines: [[UInt8]]) throws(ExtensionSyntaxError) -> [ExtensionElement] {
        try parse(Array(lines.joined(separator: [UInt8(ascii: ",")])))
    }

    private mutating func list() throws(ExtensionSyntaxError) -> [ExtensionElement] {
        var elements: [ExtensionElement] = []
        while true {
            // RFC 9110 §5.6.1: empty elements of a list are skipped.
            skipBlanks()
            while accept(",") { skipBlanks() }
            if position == bytes.count { break }
            guard elements.count < Self.maximumElements else { throw failure }
            elements.append(try element())
            skipBlanks()
            if position < bytes.count && bytes[position] != UInt8(ascii: ",") { throw failure }
        }
        guard !elements.isEmpty else { throw failure }
        return elements
    }

    private mutating func element() throws(ExtensionSyntaxError) -> ExtensionElement {
        let name = try token()
        var parameters: [ExtensionElement.Parameter] = []
        skipBlanks()
        while accept(";") {
            guard parameters.count < Self.maximumParameters else { throw failure }
            skipBlanks()
            let name = try token()
            skipBlanks()
            var value: String?
            if accept("=") {
                skipBlanks()
                value = try accept("\"") ? quoted() : token()
                skipBlanks()
            }
            parameters.append(.init(name: name, value: value))
        }
        return ExtensionElement(name: name, parameters: parameters)
    }

    private mutating func token() throws(ExtensionSyntaxError) -> String {
        let start = position
        while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
        guard position > start else { throw failure }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// RFC 6455 §9.1: without its escapes, a quoted value must be a token like any other.
    private mutating func quoted() throws(ExtensionSyntaxError) -> String {
        var value: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count, Self.isTokenByte(bytes[position]) else { throw failure }
            value.append(bytes[position])
            position += 1
        }
        guard accept("\""), !value.isEmpty else { throw failure }
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func accept(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
    }

    private var failure: ExtensionSyntaxError { ExtensionSyntaxError(offset: position) }

    /// RFC 9110 §5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
