/// A value of a JSON document that a server sent, parsed strictly and completely (RFC 8259).
///
/// It follows the same rules as the gateway's own reader: duplicate members count as missing, names are compared by their bytes,
/// and numbers keep their text. It is written only in Swift, for platforms without that reader's library.
package struct JSONNode: Sendable {
    /// The kind of the value, with its content.
    package enum Content: Sendable {
        case null
        case bool(Bool)
        /// An integer of at most 64 bits, if the number is an integer and not negative.
        case number(UInt64?)
        /// Nil: the text contains half a surrogate pair, which cannot be written in UTF-8.
        case string(String?)
        case array([JSONNode])
        /// In order. A name is nil in the same case as a string.
        case object([(name: String?, value: JSONNode)])
    }

    package let content: Content
    /// The value's bytes, exactly as in the document.
    package let source: ArraySlice<UInt8>

    init(_ content: Content, source: ArraySlice<UInt8>) { (self.content, self.source) = (content, source) }

    /// Parses `bytes`, which are the whole document; nil if they are not JSON, too long, or nested beyond `maximumDepth`.
    package init?(_ bytes: [UInt8], maximumBytes: Int, maximumDepth: Int = 16) {
        guard bytes.count <= maximumBytes else { return nil }
        var parser = JSONParser(bytes, maximumDepth: maximumDepth)
        guard let root = parser.document() else { return nil }
        self = root
    }

    package var isObject: Bool { members != nil }

    /// The text of a string; nil for other kinds.
    package var string: String? { if case .string(let text) = content { text } else { nil } }

    package var bool: Bool? { if case .bool(let value) = content { value } else { nil } }

    /// The values of an array, in order; nil for other kinds.
    package var elements: [JSONNode]? { if case .array(let elements) = content { elements } else { nil } }

    /// The members of an object, in order, with duplicates; nil for other kinds.
    package var members: [(name: String?, value: JSONNode)]? {
        if case .object(let members) = content { members } else { nil }
    }

    /// Whether there is a member of that name, even a duplicate one.
    package func has(_ name: String) -> Bool { !named(name).isEmpty }

    /// The member of that name; nil if it is missing or duplicate, or if this is not an object.
    package func member(_ name: String) -> JSONNode? {
        let found = named(name)
        return found.count == 1 ? found[0] : nil
    }

    /// Compares bytes, because Swift's strings are equal where their characters are, and names where their bytes are.
    private func named(_ name: String) -> [JSONNode] {
        (members ?? []).compactMap { $0.name?.utf8.elementsEqual(name.utf8) == true ? $0.value : nil }
    }

    /// The text of a member; nil if it is missing, duplicate or of another kind.
    package func text(_ name: String) -> String? { member(name)?.string }

    /// A member that is an integer of at least 0.
    package func number(_ name: String) -> Int? {
        guard case .number(let value?) = member(name)?.content else { return nil }
        return Int(exactly: value)
    }
}

/// Writes the JSON that the client sends.
package enum JSONWriting {
    /// Appends a string with its quotes. It escapes what RFC 8259 §7 demands and nothing else.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x08: bytes += "\\b".utf8
            case 0x09: bytes += "\\t".utf8
            case 0x0A: bytes += "\\n".utf8
            case 0x0C: bytes += "\\f".utf8
            case 0x0D: bytes += "\\r".utf8
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes += "\\u00".utf8
                bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
