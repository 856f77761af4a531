/// A JSON document, read strictly and whole: for tokens, key sets and other small things that outsiders write.
///
/// Duplicate members stay visible (`JSONValue.member` throws, `repeatedMember` names one), numbers keep their text, and names are
/// compared by their bytes however they are escaped. Confined to one thread at a time.
package struct JSONDocument {
    private let reader: JSONReader

    /// Reads `bytes`, which are the document and nothing else.
    ///
    /// Values can be reached down to `tapedDepth` (the root is 0); what is below seems empty, except for its `source`.
    package init(
        _ bytes: [UInt8], limits: JSONLimits, tapedDepth: Int = JSONLimits.deepest
    ) throws(JSONError) {
        reader = JSONReader()
        try reader.read(bytes.span, limits: limits, tapedDepth: tapedDepth)
    }

    package var root: JSONValue { JSONValue(reader: reader, element: .root) }
}

/// One value of a `JSONDocument`, which it keeps alive.
package struct JSONValue {
    let reader: JSONReader
    let element: JSONReader.Element

    package var kind: JSONKind { reader.kind(of: element) }
    package var isNull: Bool { kind == .null }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The text of a string, unescaped; nil for other kinds and for strings with half a surrogate pair.
    package var string: String? { reader.string(of: element) }

    /// The integer, exactly; nil for other kinds, for `1.0` and `1e0`, and beyond 64 bits.
    package var integer: JSONInteger? { reader.integer(of: element) }

    /// A number's characters as they are in the document (`1e400` is one); nil for other kinds.
    package var numberText: String? { kind == .number ? reader.source(of: element) : nil }

    /// The JSON of this value, byte by byte as it is in the document.
    package var source: String { reader.source(of: element) }

    /// The member of that name, or nil when it is absent or this is not an object.
    ///
    /// Linear in the members. Throws `ambiguous` when two members have the name: which one counts is not defined.
    package func member(_ name: String) throws(JSONError) -> JSONValue? {
        switch reader.member(name.utf8Span.span, of: element) {
        case .value(let found): JSONValue(reader: reader, element: found)
        case .absent: nil
        case .ambiguous: throw .ambiguous(member: name)
        }
    }

    /// The values of an array, in order; nil for other kinds.
    package var elements: [JSONValue]? {
        guard kind == .array else { return nil }
        return reader.children(of: element).map { JSONValue(reader: reader, element: $0) }
    }

    /// The members of an object, in order, duplicates included; nil for other kinds. A name with half a surrogate pair, which no
    /// text equals, is nil.
    package var members: [(name: String?, value: JSONValue)]? {
        guard kind == .object else { return nil }
        let elements = reader.children(of: element)
        return stride(from: 0, to: elements.count, by: 2).map { index in
            (reader.string(of: elements[index]), JSONValue(reader: reader, element: elements[index + 1]))
        }
    }

    /// The name that more than one member of this object has (compared by bytes), or nil.
    package var repeatedMember: String? {
        var seen: Set<[UInt8]> = []
        for case (let name?, _) in members ?? [] where !seen.insert(Array(name.utf8)).inserted {
            return name
        }
        return nil
    }
}

/// The kinds of JSON values, by the numbers of the C shim.
package enum JSONKind: UInt8, Sendable {
    case null = 0
    case `false` = 1
    case `true` = 2
    case number = 3
    case string = 4
    case array = 5
    case object = 6
}

/// An integer of at most 64 bits, exactly: `-9223372036854775808` to `18446744073709551615`.
package enum JSONInteger: Equatable, Sendable, CustomStringConvertible {
    /// Below zero.
    case negative(Int64)
    case positive(UInt64)

    package var description: String {
        switch self {
        case .negative(let value): String(value)
        case .positive(let value): String(value)
        }
    }
}

/// What a JSON document may cost before it is refused.
package struct JSONLimits: Sendable {
    package var maximumBytes: Int
    /// Arrays and objects inside each other; `[[]]` is 2 deep.
    package var maximumDepth: Int

    package init(maximumBytes: Int, maximumDepth: Int) {
        precondition(maximumBytes >= 0 && maximumDepth >= 0 && maximumDepth <= Self.deepest, "no such limits")
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
    }

    /// 1,024 levels, as simdjson has it: real records stay below 20, and each level costs the reader eight bytes.
    package static let deepest = 1024

    /// A record's value. Kafka already limits its size (`max.message.bytes`, at most 2 GiB − 1), so this only keeps
    /// offsets in the document within 32 bits: a record that the broker accepted is never refused for being large.
    package static let record = JSONLimits(maximumBytes: Int(Int32.max), maximumDepth: deepest)
}

/// Why bytes are not the JSON that was expected.
///
/// JSON here is RFC 8259 to the letter: no byte-order mark, no NaN, no trailing comma, no number like `01` or `1.`,
/// nothing after the document, valid UTF-8 throughout. `offset` counts bytes from 0, where it is known.
package enum JSONError: Error, Equatable, Sendable {
    case empty
    case syntax(offset: Int)
    case badNumber(offset: Int)
    case badEscape(offset: Int)
    case controlCharacter
    case unclosed
    case invalidUTF8
    case tooDeep(limit: Int)
    case tooLarge(bytes: Int, limit: Int)
    /// More than one member of the object has the name that was requested.
    case ambiguous(member: String)
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "no JSON: empty"
        case .syntax(let offset): "no JSON: unexpected byte at offset \(offset)"
        case .badNumber(let offset): "no JSON: malformed number at offset \(offset)"
        case .badEscape(let offset): "no JSON: malformed escape at offset \(offset)"
        case .controlCharacter: "no JSON: a control character inside a string"
        case .unclosed: "no JSON: it ends too early"
        case .invalidUTF8: "no JSON: not valid UTF-8"
        case .tooDeep(let limit): "JSON nested too deeply: over \(limit) levels"
        case .tooLarge(let bytes, let limit): "JSON too large: \(bytes) bytes, over \(limit)"
        case .ambiguous(let member): "duplicate member \"\(member)\""
        }
    }
}
