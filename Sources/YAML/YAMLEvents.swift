import CYAML

/// libyaml's parser over bytes in memory.
@safe
final class YAMLEvents {
    struct Event {
        enum Kind {
            case documentStart
            case scalar(String, YAMLStyle)
            case alias
            case listStart
            case mapStart
            /// The end of a list, a map, the document or the stream.
            case end
        }

        /// From 1.
        let line: Int
        let kind: Kind
        var hasAnchor = false
        var hasTag = false
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>
    private let isMade: Bool

    init(_ bytes: [UInt8]) {
        unsafe input = .allocate(capacity: bytes.count)
        _ = unsafe input.initialize(from: bytes)
        unsafe parser = .allocate(capacity: 1)
        // It fails only without memory, and then has nothing to delete.
        isMade = unsafe yaml_parser_initialize(parser) == 1
        guard isMade else { return }
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    }

    deinit {
        if isMade { unsafe yaml_parser_delete(parser) }
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    func next() throws(YAMLProblem) -> Event {
        guard isMade else { throw YAMLProblem(line: 1, key: "", text: "no memory to read it") }
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw problem() }
        defer { unsafe yaml_event_delete(&event) }
        let line = unsafe Int(event.start_mark.line) + 1
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let style: YAMLStyle = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted
            return unsafe Event(
                line: line, kind: .scalar(String(decoding: bytes, as: UTF8.self), style),
                hasAnchor: scalar.anchor != nil, hasTag: scalar.tag != nil)
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            return unsafe Event(
                line: line, kind: .listStart, hasAnchor: start.anchor != nil, hasTag: start.tag != nil)
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            return unsafe Event(line: line, kind: .mapStart, hasAnchor: start.anchor != nil, hasTag: start.tag != nil)
        case YAML_ALIAS_EVENT: return Event(line: line, kind: .alias)
        case YAML_DOCUMENT_START_EVENT: return Event(line: line, kind: .documentStart)
        default: return Event(line: line, kind: .end)
        }
    }

    /// libyaml's own text, which names the position and never the content.
    private func problem() -> YAMLProblem {
        var words = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "it cannot be read"
        // libyaml reads YAML 1.1, which does not accept bare text that begins with a colon in a flow list: `[:8080]`.
        if words == "did not find expected node content" { words += " (put text such as ':8080' into quotes)" }
        let line: Int
        if unsafe parser.pointee.error == YAML_MEMORY_ERROR { words = "no memory to read it" }
        if unsafe parser.pointee.error == YAML_READER_ERROR {
            // An error of the reader has an offset and no line.
            let offset = unsafe min(Int(parser.pointee.problem_offset), input.count)
            line = unsafe input[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
        } else {
            line = unsafe Int(parser.pointee.problem_mark.line) + 1
        }
        return YAMLProblem(line: line, key: "", text: "not YAML: \(words)")
    }
}
