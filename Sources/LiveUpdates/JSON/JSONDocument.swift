/// A JSON document, read strictly and whole: for tokens, key sets and other small things that outsiders write.
///
/// Doubled members stay visible (`JSONValue.member` throws, `repeatedMember` names one), numbers keep their text, and
/// names are compared by their bytes however they are escaped. Confined to one thread at a time.
package struct JSONDocument {
    private let reader: JSONReader

    /// Reads `bytes`, which are the document and nothing else.
    ///
    /// Values stand within reach down to `tapedDepth` (the root is 0); what is below seems empty, but for its `source`.
    package init(
        _ bytes: [UInt8], limits: JSONLimits, tapedDepth: Int = JSONLimits.deepest
    ) throws(JSONError) {
        reader = JSONReader()
        try reader.read(bytes, limits: limits, tapedDepth: tapedDepth)
    }

    package var root: JSONValue { JSONValue(reader: reader, node: .root) }
}

/// One value of a `JSONDocument`, which it keeps alive.
package struct JSONValue {
    let reader: JSONReader
    let node: JSONReader.Node

    package var kind: JSONKind { reader.kind(of: node) }
    package var isNull: Bool { kind == .null }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The text of a string, unescaped; nil for other kinds and for strings with half a surrogate pair.
    package var string: String? { reader.string(of: node) }

    /// The integer, exactly; nil for other kinds, for `1.0` and `1e0`, and beyond 64 bits.
    package var integer: JSONInteger? { reader.integer(of: node) }

    /// A number's characters as they stand in the document (`1e400` is one); nil for other kinds.
    package var numberText: String? { kind == .number ? reader.source(of: node) : nil }

    /// The JSON of this value, byte by byte as it stands in the document.
    package var source: String { reader.source(of: node) }

    /// The member of that name, or nil when it is absent or this is no object.
    ///
    /// Linear in the members. Throws `ambiguous` when it stands twice: which one counts is anybody's guess.
    package func member(_ name: String) throws(JSONError) -> JSONValue? {
        switch reader.member(Array(name.utf8), of: node) {
        case .value(let found): JSONValue(reader: reader, node: found)
        case .absent: nil
        case .ambiguous: throw .ambiguous(member: name)
        }
    }

    /// The values of an array, in order; nil for other kinds.
    package var elements: [JSONValue]? {
        guard kind == .array else { return nil }
        return reader.children(of: node).map { JSONValue(reader: reader, node: $0) }
    }

    /// The members of an object, in order, doubled ones too; nil for other kinds. A name with half a surrogate pair,
    /// which no text equals, is nil.
    package var members: [(name: String?, value: JSONValue)]? {
        guard kind == .object else { return nil }
        let nodes = reader.children(of: node)
        return stride(from: 0, to: nodes.count, by: 2).map { place in
            (reader.string(of: nodes[place]), JSONValue(reader: reader, node: nodes[place + 1]))
        }
    }

    /// The name of a member that stands more than once in this object (compared by bytes), or nil.
    package var repeatedMember: String? {
        var seen: Set<[UInt8]> = []
        for case (let name?, _) in members ?? [] where !seen.insert(Array(name.utf8)).inserted {
            return name
        }
        return nil
    }
}
