// CloudEvents 1.0 and its binding to Kafka: attributes are `ce_` headers (binary), or members of the value (structured).

extension EventMapper {
    /// An object without `specversion` is no event: someone else writes to the topic too.
    func locateCloudEvent(in root: JSONReader.Node) {
        guard !placement.isBinary else { return }
        let version = text(at: Mark.version, of: root)
        switch version {
        case .text: break
        case .nothing: placement.ignored = .noCloudEvent
        case .ambiguous, .halfPair: placement.broken = version
        }
    }

    /// In binary mode the value is the event's data: what it calls `subject` or `accountid` is no attribute.
    func attribute<Record: RecordReading & ~Copyable>(
        _ pointer: JSONPointer, _ header: String, of record: borrowing Record
    ) -> Found {
        if placement.isBinary {
            return record.copyHeader(header, into: &scratch) ? scratchText() : .nothing
        }
        guard let root = placement.root else { return .nothing }
        return text(at: pointer, of: root)
    }

    func typePart<Record: RecordReading & ~Copyable>(_ part: Int, of record: borrowing Record) -> Found {
        let type = attribute(Mark.type, "ce_type", of: record)
        guard case .text(let text) = type else { return type }
        return Self.part(part, of: text)
    }
}

private enum Mark {
    static let version = JSONPointer(members: "specversion")
    static let type = JSONPointer(members: "type")
}
