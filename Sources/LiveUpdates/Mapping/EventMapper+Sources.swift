// What is at the sources of a record.

extension EventMapper {
    /// The first source of a list that yields text decides; an ambiguous or broken one before it decides too.
    func first<Record: RecordReading & ~Copyable>(of sources: [Source], in record: borrowing Record) -> Found {
        for index in sources.indices {
            // Most sources are pointers into the value; this way the others are not even copied.
            let found =
                if case .value(let pointer) = sources[index] { inValue(pointer) } else {
                    found(at: sources[index], in: record)
                }
            if case .nothing = found { continue }
            return found
        }
        return .nothing
    }

    func found<Record: RecordReading & ~Copyable>(at source: Source, in record: borrowing Record) -> Found {
        switch source {
        case .value(let pointer): inValue(pointer)
        case .row(let pointer): inRow(pointer)
        case .header(let name): header(name, of: record)
        case .key: keyText(of: record)
        case .keyValue(let pointer): inKey(pointer, of: record)
        case .topic(let part): topicPart(part, of: record)
        case .attribute(let pointer, let header): attribute(pointer, header, of: record)
        case .typePart(let part): typePart(part, of: record)
        case .resourceIdentifier: resourceIdentifier()
        case .operation, .flatOperation: placement.operation
        }
    }

    /// The text that a pointer into the value leads to.
    func text(at pointer: JSONPointer, of element: JSONReader.Element) -> Found {
        text(at: pointer, of: element, in: value)
    }

    private func text(at pointer: JSONPointer, of element: JSONReader.Element, in reader: JSONReader) -> Found {
        let start = texts.count
        return switch reader.appendText(at: pointer, of: element, to: &texts) {
        case .text: .text(start..<texts.count)
        case .nothing: .nothing
        case .ambiguous: .ambiguous
        case .halfPair: .halfPair
        }
    }

    /// Counts from the payload where there is one, and from the value where that holds nothing.
    private func inValue(_ pointer: JSONPointer) -> Found {
        guard let root = placement.root, let envelope = placement.envelope else { return .nothing }
        let found = text(at: pointer, of: envelope)
        return found == .nothing && envelope != root ? text(at: pointer, of: root) : found
    }

    private func inRow(_ pointer: JSONPointer) -> Found {
        switch placement.row {
        case .absent: .nothing
        case .ambiguous: .ambiguous
        case .value(let row): text(at: pointer, of: row)
        }
    }

    /// The key as it is, unless its first byte shows that it is JSON: then the text of a string, or of the payload of a key with
    /// its schema, as Kafka Connect writes them. A key that begins with a registry's five bytes is JSON or nothing.
    private func keyText<Record: RecordReading & ~Copyable>(of record: borrowing Record) -> Found {
        let start = texts.count
        var form = KeyForm.none
        _ = record.readKey { bytes in
            let preamble = JSONPreamble(of: bytes)
            let json = bytes.extracting(droppingFirst: preamble.count)
            if preamble.isRegistered || mayBeText(json), readKey(json) { form = keyForm }
            guard form == .none, !preamble.isRegistered, !bytes.isEmpty, (try? UTF8Span(validating: bytes)) != nil
            else {
                return
            }
            form = .bytes
            texts.append(copying: bytes)
        }
        switch form {
        case .bytes: return .text(start..<texts.count)
        case .json(let pointer):
            let found = text(at: pointer, of: .root, in: key)
            return found == .halfPair ? .nothing : found
        case .none: return .nothing
        }
    }

    /// The form of a key that was read as JSON, if it is text; otherwise its bytes are used.
    private var keyForm: KeyForm {
        switch key.kind(of: .root) {
        case .string, .number: return .json(KeyMember.whole)
        case .object:
            guard key.resolve(KeyMember.schema) != .absent, key.resolve(KeyMember.payload) != .absent else {
                return .none
            }
            return .json(KeyMember.payload)
        default: return .none
        }
    }

    private func mayBeText(_ json: Span<UInt8>) -> Bool {
        !json.isEmpty && (json[0] == UInt8(ascii: "\"") || json[0] == UInt8(ascii: "{"))
    }

    /// Reads the key as JSON, once a record.
    private func readKey(_ json: Span<UInt8>) -> Bool {
        if placement.keyReading == .unread {
            placement.keyReading = (try? key.read(json)) != nil ? .json : .none
        }
        return placement.keyReading == .json
    }

    /// A key that is not JSON yields nothing, as one that is not UTF-8 does.
    private func inKey<Record: RecordReading & ~Copyable>(
        _ pointer: JSONPointer, of record: borrowing Record
    ) -> Found {
        var isJSON = false
        _ = record.readKey { isJSON = readKey($0.extracting(droppingFirst: JSONPreamble(of: $0).count)) }
        guard isJSON else { return .nothing }
        let found = text(at: pointer, of: .root, in: key)
        return found == .halfPair ? .nothing : found
    }

    func header<Record: RecordReading & ~Copyable>(_ name: String, of record: borrowing Record) -> Found {
        asText { record.readHeader(name, $0) }
    }

    /// The bytes of a header or a key, where they are text.
    private func asText(_ read: ((Span<UInt8>) -> Void) -> Bool) -> Found {
        let start = texts.count
        var isText = false
        _ = read { bytes in
            isText = !bytes.isEmpty && (try? UTF8Span(validating: bytes)) != nil
            if isText { texts.append(copying: bytes) }
        }
        return isText ? .text(start..<texts.count) : .nothing
    }

    private func topicPart<Record: RecordReading & ~Copyable>(_ number: Int, of record: borrowing Record) -> Found {
        let start = texts.count
        texts.append(copying: record.topic.utf8Span.span)
        return part(number, of: start..<texts.count)
    }

    /// The part between dots, from 0, or backwards from -1.
    func part(_ number: Int, of text: Range<Int>) -> Found {
        let dot = UInt8(ascii: ".")
        var left = number
        if left < 0 {
            left += 1
            for index in text where texts[index] == dot { left += 1 }
            guard left >= 0 else { return .nothing }
        }
        var start = text.lowerBound
        for index in text where texts[index] == dot {
            if left == 0 { return index == start ? .nothing : .text(start..<index) }
            left -= 1
            start = index + 1
        }
        return left > 0 || start == text.upperBound ? .nothing : .text(start..<text.upperBound)
    }
}

/// What a key is as text.
private enum KeyForm: Equatable {
    case bytes
    /// What is at this pointer in it, read as JSON.
    case json(JSONPointer)
    case none
}

private enum KeyMember {
    static let whole = JSONPointer.whole
    static let schema = JSONPointer(members: "schema")
    static let payload = JSONPointer(members: "payload")
}

/// What may precede JSON without being part of it. First the five bytes with which serializers name a schema of a registry
/// (Confluent's wire format: 0, then the number of the schema in four), then a byte order mark (RFC 8259 §8.1).
struct JSONPreamble {
    let count: Int
    /// Whether a schema is named: what follows may as well be Avro or Protobuf.
    let isRegistered: Bool

    init(of bytes: Span<UInt8>) {
        isRegistered = bytes.count >= 5 && bytes[0] == 0
        let start = isRegistered ? 5 : 0
        let hasMark =
            bytes.count >= start + 3 && bytes[start] == 0xEF && bytes[start + 1] == 0xBB && bytes[start + 2] == 0xBF
        count = hasMark ? start + 3 : start
    }
}
