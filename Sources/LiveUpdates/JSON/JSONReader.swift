import CSimdJSON

/// A reusable strict JSON reader: one document at a time, its values by element.
///
/// It keeps its own copy of the document, so elements stay valid until the next `read`, whatever becomes of the bytes that
/// were given. Confined to one thread at a time. Reading is linear in the bytes and its stack does not grow with them.
@safe package final class JSONReader {
    /// A value of the document that was read last.
    package struct Element: Equatable, Sendable {
        let index: UInt32
        /// The document itself.
        package static let root = Element(index: 0)
    }

    package enum Found: Equatable, Sendable {
        case value(Element)
        case absent
        /// More than one member has a name on the path.
        case ambiguous
    }

    /// The memory that may stay allocated after a document: Kafka's own default limit for a record, so that ordinary records
    /// never allocate. The index of a document of this size needs four times as much in addition.
    package static let retainedBytes = 1 << 20

    // The library's parser, owned: made in init, freed in deinit, never handed out.
    private let parser: OpaquePointer

    package init() {
        guard let made = unsafe lg_json_create() else { preconditionFailure("no memory for a JSON reader") }
        unsafe parser = made
    }

    deinit {
        unsafe lg_json_destroy(parser)
    }

    /// Reads a document; its values are within reach down to `tapedDepth` (the root is 0), below that only checked.
    package func read(
        _ bytes: Span<UInt8>, limits: JSONLimits = .record, tapedDepth: Int = JSONLimits.deepest
    ) throws(JSONError) {
        guard bytes.count <= limits.maximumBytes else {
            throw .tooLarge(bytes: bytes.count, limit: limits.maximumBytes)
        }
        var offset = 0
        let fault = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe lg_json_parse(
                parser, buffer.baseAddress, buffer.count, UInt32(limits.maximumDepth), UInt32(tapedDepth), &offset)
        }
        switch Int(fault) {
        case LG_JSON_FINE: return
        case LG_JSON_EMPTY: throw .empty
        case LG_JSON_NUMBER: throw .badNumber(offset: offset)
        case LG_JSON_ESCAPE: throw .badEscape(offset: offset)
        case LG_JSON_CONTROL: throw .controlCharacter
        case LG_JSON_UNCLOSED: throw .unclosed
        case LG_JSON_UTF8: throw .invalidUTF8
        case LG_JSON_DEPTH: throw .tooDeep(limit: limits.maximumDepth)
        case LG_JSON_TOO_LARGE: throw .tooLarge(bytes: bytes.count, limit: JSONLimits.record.maximumBytes)
        // Not an error of the document: leaving its record out would be a gap that no client learns of.
        case LG_JSON_MEMORY: preconditionFailure("no memory to read \(bytes.count) bytes of JSON")
        default: throw .syntax(offset: offset)
        }
    }

    /// Frees memory beyond `retainedBytes`; what was read is gone then.
    package func trim() {
        unsafe lg_json_trim(parser, Self.retainedBytes)
    }

    package var heldBytes: Int { unsafe lg_json_held_bytes(parser) }

    package func kind(of element: Element) -> JSONKind {
        JSONKind(rawValue: record(of: element).kind) ?? .null
    }

    /// Follows a compiled pointer from `element`.
    package func resolve(_ pointer: JSONPointer, from element: Element = .root) -> Found {
        found { value in
            unsafe pointer.path.withUnsafeBufferPointer { path in
                unsafe lg_json_resolve(parser, element.index, path.baseAddress, path.count, &value)
            }
        }
    }

    /// The member of an object by the bytes of its name; anything else has no members.
    package func member(_ name: Span<UInt8>, of element: Element) -> Found {
        guard kind(of: element) == .object else { return .absent }
        return found { value in
            unsafe name.withUnsafeBufferPointer { bytes in
                unsafe lg_json_member(parser, element.index, bytes.baseAddress, bytes.count, &value)
            }
        }
    }

    /// The elements right inside a container; of an object each name and then its value.
    package func children(of element: Element) -> [Element] {
        let container = record(of: element)
        var elements: [Element] = []
        var index = element.index + 1
        while index < container.next {
            elements.append(Element(index: index))
            index = record(of: Element(index: index)).next
        }
        return elements
    }

    /// The text of a string; nil for other kinds, and for a string with half a surrogate pair, which UTF-8 has no
    /// bytes for.
    package func string(of element: Element) -> String? {
        let value = record(of: element)
        guard Int(value.kind) == LG_JSON_STRING, !isHalfPair(value) else { return nil }
        return characters(of: element, value)
    }

    /// What is at a pointer, as far as a mapping can use it.
    enum Text {
        case text
        /// Absent, or of a kind that is not text.
        case nothing
        case ambiguous
        /// A string that UTF-8 has no bytes for.
        case halfPair
    }

    /// Appends the text at a pointer: a non-empty string, or an integer of at most 64 bits in decimal; nothing else is text.
    func appendText(at pointer: JSONPointer, of element: Element, to bytes: inout [UInt8]) -> Text {
        var start: UnsafePointer<UInt8>?
        var count = 0
        let found = unsafe pointer.path.withUnsafeBufferPointer { path in
            unsafe lg_json_find_text(parser, element.index, path.baseAddress, path.count, &start, &count)
        }
        switch Int(found) {
        case LG_JSON_FOUND:
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
            return .text
        case LG_JSON_TWICE: return .ambiguous
        case LG_JSON_HALF_PAIR: return .halfPair
        default: return .nothing
        }
    }

    /// The JSON of a value, byte by byte as it is in the document.
    package func source(of element: Element) -> String {
        let value = record(of: element)
        let text = characters(of: element, value, raw: true)
        return Int(value.kind) == LG_JSON_STRING ? "\"" + text + "\"" : text
    }

    /// A number without fraction and exponent that fits 64 bits, signed or not; its decimal text is canonical
    /// (`-0` is `0`).
    package func integer(of element: Element) -> JSONInteger? {
        var bits: UInt64 = 0
        var negative = false
        guard unsafe lg_json_integer(parser, element.index, &bits, &negative) else { return nil }
        return negative ? .negative(Int64(bitPattern: bits)) : .positive(bits)
    }

    private func isHalfPair(_ value: lg_json_element) -> Bool {
        Int(value.flags) & LG_JSON_LONE_SURROGATE != 0
    }

    private func record(of element: Element) -> lg_json_element {
        unsafe lg_json_element_at(parser, element.index)
    }

    private func characters(of element: Element, _ value: lg_json_element, raw: Bool = false) -> String {
        unsafe String(unsafeUninitializedCapacity: Int(value.end - value.start)) { buffer in
            guard let out = buffer.baseAddress else { return 0 }
            return unsafe raw
                ? lg_json_source(parser, element.index, out) : lg_json_text(parser, element.index, out)
        }
    }

    private func found(_ find: (inout UInt32) -> Int32) -> Found {
        var value: UInt32 = 0
        return switch Int(find(&value)) {
        case LG_JSON_FOUND: .value(Element(index: value))
        case LG_JSON_TWICE: .ambiguous
        default: .absent
        }
    }
}

@available(*, unavailable)
extension JSONReader: Sendable {}
