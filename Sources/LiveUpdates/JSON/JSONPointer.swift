/// A JSON pointer (RFC 6901), compiled: the path to one value of a document.
package struct JSONPointer: Equatable, Sendable {
    package enum Malformed: Error, Equatable {
        case noSlash
        case badEscape
        case tooLong(bytes: Int)
    }

    /// Bytes of a pointer's text: far beyond any column's name, and a token's length fits two bytes.
    package static let maximumBytes = 1024

    /// The reference tokens in the form that the shim reads: two bytes of length, low one first, and the bytes.
    let path: [UInt8]
    /// How many tokens it has: the depth of its value below the root.
    package let depth: Int

    /// Compiles the text of a pointer, which begins with `/`. (`""`, the whole document, names no text.)
    package init(_ text: String) throws(Malformed) {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "/") else { throw .noSlash }
        guard bytes.count <= Self.maximumBytes else { throw .tooLong(bytes: bytes.count) }
        var tokens: [[UInt8]] = []
        for part in bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            tokens.append(try Self.unescape(part))
        }
        self.init(tokens: tokens)
    }

    /// The document itself.
    static let whole = JSONPointer(tokens: [])

    /// A pointer of tokens that are used as they are.
    init(members: StaticString...) {
        self.init(tokens: members.map { Array("\($0)".utf8) })
    }

    private init(tokens: [[UInt8]]) {
        path = tokens.flatMap { [UInt8($0.count & 0xFF), UInt8($0.count >> 8)] + $0 }
        depth = tokens.count
    }

    /// RFC 6901 §4: `~1` is a slash, `~0` a tilde, and a tilde is nothing else.
    private static func unescape(_ part: ArraySlice<UInt8>) throws(Malformed) -> [UInt8] {
        var token: [UInt8] = []
        var isAfterTilde = false
        for byte in part {
            if isAfterTilde {
                switch byte {
                case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
                default: throw .badEscape
                }
                isAfterTilde = false
            } else if byte == UInt8(ascii: "~") {
                isAfterTilde = true
            } else {
                token.append(byte)
            }
        }
        guard !isAfterTilde else { throw .badEscape }
        return token
    }
}

extension JSONPointer: CustomStringConvertible {
    package var description: String {
        var text = ""
        var rest = path[...]
        while let low = rest.popFirst(), let high = rest.popFirst() {
            let length = Int(low) | Int(high) << 8
            text += "/"
            for byte in String(decoding: rest.prefix(length), as: UTF8.self).unicodeScalars {
                switch byte {
                case "~": text += "~0"
                case "/": text += "~1"
                default: text.unicodeScalars.append(byte)
                }
            }
            rest = rest.dropFirst(length)
        }
        return text
    }
}
