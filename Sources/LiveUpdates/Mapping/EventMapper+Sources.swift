// What stands at the sources of a record.

extension EventMapper {
    /// The first source of a list that yields text decides; one before it that is ambiguous or broken does so too.
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

    private func found<Record: RecordReading & ~Copyable>(at source: Source, in record: borrowing Record) -> Found {
        switch source {
        case .value(let pointer): inValue(pointer)
        case .row(let pointer): inRow(pointer)
        case .header(let name): record.copyHeader(name, into: &scratch) ? scratchText() : .nothing
        case .key: record.copyKey(into: &scratch) ? scratchText() : .nothing
        case .keyValue(let pointer): inKey(pointer, of: record)
        case .topic(let part): Self.part(part, of: record.topic)
        case .attribute(let pointer, let header): attribute(pointer, header, of: record)
        case .typePart(let part): typePart(part, of: record)
        case .resourceIdentifier: resourceIdentifier()
        case .operation, .flatOperation: placement.operation
        }
    }

    func text(_ found: JSONReader.Found, in reader: JSONReader) -> Found {
        switch found {
        case .absent: return .nothing
        case .ambiguous: return .ambiguous
        case .value(let element):
            return switch reader.text(of: element) {
            case .text(let text): .text(text)
            case .halfPair: .halfPair
            case .none: .nothing
            }
        }
    }

    /// Counts from the payload where there is one, and from the value where that holds nothing.
    private func inValue(_ pointer: JSONPointer) -> Found {
        guard let root = placement.root, let envelope = placement.envelope else { return .nothing }
        let found = text(value.resolve(pointer, from: envelope), in: value)
        if case .nothing = found, envelope != root { return text(value.resolve(pointer, from: root), in: value) }
        return found
    }

    private func inRow(_ pointer: JSONPointer) -> Found {
        switch placement.row {
        case .absent: .nothing
        case .ambiguous: .ambiguous
        case .value(let row): text(value.resolve(pointer, from: row), in: value)
        }
    }

    /// A key that is not JSON yields nothing, as one that is not UTF-8 does.
    private func inKey<Record: RecordReading & ~Copyable>(
        _ pointer: JSONPointer, of record: borrowing Record
    ) -> Found {
        if placement.keyReading == .unread {
            let isJSON = record.copyKey(into: &scratch) && (try? key.read(scratch)) != nil
            placement.keyReading = isJSON ? .json : .none
        }
        guard placement.keyReading == .json else { return .nothing }
        let found = text(key.resolve(pointer), in: key)
        if case .halfPair = found { return .nothing }
        return found
    }

    /// The bytes of a header or a key, where they are text.
    func scratchText() -> Found {
        guard !scratch.isEmpty, let text = String(validating: scratch, as: UTF8.self) else { return .nothing }
        return .text(text)
    }

    /// The part between dots, from 0, or backwards from -1.
    static func part(_ number: Int, of text: String) -> Found {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let index = number < 0 ? parts.count + number : number
        guard parts.indices.contains(index), !parts[index].isEmpty else { return .nothing }
        return .text(String(Substring(parts[index])))
    }
}
