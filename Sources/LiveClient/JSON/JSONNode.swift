/// A value of a JSON document that a server sent, read strictly and whole (RFC 8259).
///
/// What goes with the gateway's own reader goes here: doubled members are no member, names are compared by their bytes, and numbers
/// keep their text. It is written in Swift alone, for platforms where that reader's library is not.
package struct JSONNode: Sendable {
    /// What the value is, with what is in it.
    package enum Content: Sendable {
        case null
        case bool(Bool)
        /// An integer of at most 64 bits, where the number is one and is not negative.
        case number(UInt64?)
        /// Nil: with half a surrogate pair, which UTF-8 has no bytes for.
        case string(String?)
        case array([JSONNode])
        /// In their order; a name is nil as a string is.
        case object([(name: String?, value: JSONNode)])
    }

    package let content: Content
    /// The value's bytes as they stand in the document.
    package let source: ArraySlice<UInt8>

    init(_ content: Content, source: ArraySlice<UInt8>) { (self.content, self.source) = (content, source) }

    /// Reads `bytes`, which are the document and nothing else; nil for what is no JSON, too long, or nested over `maximumDepth`.
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

    /// The members of an object, in order, doubled ones too; nil for other kinds.
    package var members: [(name: String?, value: JSONNode)]? {
        if case .object(let members) = content { members } else { nil }
    }

    /// Whether a member of that name is there, be it twice.
    package func has(_ name: String) -> Bool { !named(name).isEmpty }

    /// The member of that name; nil where it is absent or doubled, or this is no object.
    package func member(_ name: String) -> JSONNode? {
        let found = named(name)
        return found.count == 1 ? found[0] : nil
    }

    /// Swift's strings are equal where their characters are; names are where their bytes are.
    private func named(_ name: String) -> [JSONNode] {
        (members ?? []).compactMap { $0.name?.utf8.elementsEqual(name.utf8) == true ? $0.value : nil }
    }

    /// The text of a member; nil where it is absent, doubled or of another kind.
    package func text(_ name: String) -> String? { member(name)?.string }

    /// A member that is an integer of at least 0.
    package func number(_ name: String) -> Int? {
        guard case .number(let value?) = member(name)?.content else { return nil }
        return Int(exactly: value)
    }
}

/// JSON that is sent.
package enum JSONWriting {
    /// Appends a string, quotes included; escaped is what RFC 8259 §7 demands and nothing else.
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
