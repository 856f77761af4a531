// Change events: https://debezium.io/documentation/reference/stable/connectors/postgresql.html

extension EventMapper {
    /// The envelope of a change is the value or, with schemas, its `payload`; the row is what the change left, or what
    /// a deletion took away.
    func locateChange(in root: JSONReader.Node) {
        let envelope = unwrapped(root, marks: [Mark.operation])
        placement.envelope = envelope
        let operation = text(at: Mark.operation, of: envelope)
        placement.operation = operation
        switch operation {
        case .text("c"), .text("u"): placement.row = value.resolve(Mark.after, from: envelope)
        case .text("d"): placement.row = value.resolve(Mark.before, from: envelope)
        case .text(let other):
            placement.ignored = Self.unchanging(other)
            placement.operation = .nothing
        case .nothing: placement.ignored = marker(in: envelope)
        case .ambiguous, .halfPair: placement.broken = operation
        }
    }

    /// A row by itself, flattened by ExtractNewRecordState, which adds `__op` and `__deleted`.
    func locateFlatRow(in root: JSONReader.Node) {
        // Without a schema beside it, `payload` is a column.
        let hasSchema = value.resolve(Mark.schema, from: root) != .absent
        let row = hasSchema ? unwrapped(root, marks: [Mark.flatOperation, Mark.deleted]) : root
        placement.envelope = row
        placement.row = .value(row)
        let operation = text(at: Mark.flatOperation, of: row)
        let deleted = text(at: Mark.deleted, of: row)
        switch (deleted, operation) {
        case (.ambiguous, _), (.halfPair, _): placement.broken = deleted
        case (_, .ambiguous), (_, .halfPair): placement.broken = operation
        case (.text("true"), _): placement.operation = .text("d")
        case (_, .text("c")), (_, .text("u")), (_, .text("d")): placement.operation = operation
        case (_, .text(let other)): placement.ignored = Self.unchanging(other)
        case (.nothing, .nothing): placement.ignored = marker(in: row) ?? logicalMessage(in: row)
        default: break
        }
    }

    /// With its schema a value is an object of `schema` and `payload`; one that has the marks itself is taken as it is.
    private func unwrapped(_ root: JSONReader.Node, marks: [JSONPointer]) -> JSONReader.Node {
        for mark in marks where value.resolve(mark, from: root) != .absent { return root }
        switch value.resolve(Mark.payload, from: root) {
        case .value(let payload) where value.kind(of: payload) == .object: return payload
        case .ambiguous: placement.broken = .ambiguous
        case .value, .absent: break
        }
        return root
    }

    /// The kinds of records that Debezium writes beside changes.
    private static func unchanging(_ operation: String) -> IgnoredKind? {
        switch operation {
        case "r": .snapshotRead
        case "t": .truncation
        case "m": .logicalMessage
        default: nil
        }
    }

    /// Heartbeats and transaction markers have no `op`: the first hold `ts_ms` alone, the others their status.
    private func marker(in envelope: JSONReader.Node) -> IgnoredKind? {
        let members = value.children(of: envelope)
        if members.count == 2, value.string(of: members[0]) == "ts_ms" { return .heartbeat }
        switch text(at: Mark.status, of: envelope) {
        case .text("BEGIN"), .text("END"): break
        default: return nil
        }
        return value.resolve(Mark.eventCount, from: envelope) == .absent ? nil : .transactionMarker
    }

    /// What is no change passes the flattening as it was.
    private func logicalMessage(in envelope: JSONReader.Node) -> IgnoredKind? {
        guard case .text("m") = text(at: Mark.operation, of: envelope), isObject(Mark.source, of: envelope),
            isObject(Mark.message, of: envelope)
        else { return nil }
        return .logicalMessage
    }

    private func isObject(_ pointer: JSONPointer, of node: JSONReader.Node) -> Bool {
        guard case .value(let found) = value.resolve(pointer, from: node) else { return false }
        return value.kind(of: found) == .object
    }

    func text(at pointer: JSONPointer, of node: JSONReader.Node) -> Found {
        text(value.resolve(pointer, from: node), in: value)
    }
}

/// The members by which a change is known.
private enum Mark {
    static let operation = JSONPointer(members: "op")
    static let before = JSONPointer(members: "before")
    static let after = JSONPointer(members: "after")
    static let source = JSONPointer(members: "source")
    static let message = JSONPointer(members: "message")
    static let schema = JSONPointer(members: "schema")
    static let payload = JSONPointer(members: "payload")
    static let flatOperation = JSONPointer(members: "__op")
    static let deleted = JSONPointer(members: "__deleted")
    static let status = JSONPointer(members: "status")
    static let eventCount = JSONPointer(members: "event_count")
}
