// What each preset knows of its records, in addition to where account, entity, id and type are.

// MARK: - Debezium
// Change events: https://debezium.io/documentation/reference/stable/connectors/postgresql.html

extension EventMapper {
    /// The envelope of a change is the value or, with schemas, its `payload`. The row is what the change left, or what a deletion
    /// removed.
    func locateChange(in root: JSONReader.Element) {
        let envelope = unwrapped(root, marks: [ChangeMember.operation])
        placement.envelope = envelope
        let operation = text(at: ChangeMember.operation, of: envelope)
        placement.operation = operation
        switch operation {
        case .text where isText(operation, "c"): placement.row = value.resolve(ChangeMember.after, from: envelope)
        case .text where isText(operation, "u"):
            placement.row = value.resolve(ChangeMember.after, from: envelope)
            placement.formerRow = value.resolve(ChangeMember.before, from: envelope)
        case .text where isText(operation, "d"): placement.row = value.resolve(ChangeMember.before, from: envelope)
        case .text:
            placement.ignored = unchanging(operation)
            placement.operation = .nothing
        case .nothing: placement.ignored = marker(in: envelope)
        case .ambiguous, .halfPair: placement.broken = operation
        }
    }

    /// A row by itself, flattened by ExtractNewRecordState, which adds `__op` and `__deleted`.
    func locateFlatRow(in root: JSONReader.Element) {
        // Without a schema next to it, `payload` is a column.
        let hasSchema = value.resolve(ChangeMember.schema, from: root) != .absent
        let row = hasSchema ? unwrapped(root, marks: [ChangeMember.flatOperation, ChangeMember.deleted]) : root
        placement.envelope = row
        placement.row = .value(row)
        let operation = text(at: ChangeMember.flatOperation, of: row)
        let deleted = text(at: ChangeMember.deleted, of: row)
        switch (deleted, operation) {
        case (.ambiguous, _), (.halfPair, _): placement.broken = deleted
        case (_, .ambiguous), (_, .halfPair): placement.broken = operation
        case (.text, _) where isText(deleted, "true"): placement.operation = kept("d")
        case (_, .text) where isText(operation, "c") || isText(operation, "u") || isText(operation, "d"):
            placement.operation = operation
        case (_, .text): placement.ignored = unchanging(operation)
        case (.nothing, .nothing): placement.ignored = marker(in: row) ?? logicalMessage(in: row)
        default: break
        }
    }

    /// With its schema a value is an object of `schema` and `payload`; one that has the marks itself is used as it is.
    private func unwrapped(_ root: JSONReader.Element, marks: [JSONPointer]) -> JSONReader.Element {
        for mark in marks where value.resolve(mark, from: root) != .absent { return root }
        switch value.resolve(ChangeMember.payload, from: root) {
        case .value(let payload) where value.kind(of: payload) == .object: return payload
        case .ambiguous: placement.broken = .ambiguous
        case .value, .absent: break
        }
        return root
    }

    /// The kinds of records that Debezium writes in addition to changes.
    private func unchanging(_ operation: Found) -> IgnoredKind? {
        if isText(operation, "r") { return .snapshotRead }
        if isText(operation, "t") { return .truncation }
        return isText(operation, "m") ? .logicalMessage : nil
    }

    /// A text that is not in the record.
    private func kept(_ text: String) -> Found {
        let start = texts.count
        texts.append(copying: text.utf8Span.span)
        return .text(start..<texts.count)
    }

    /// Heartbeats and transaction markers have no `op`: the former hold `ts_ms` alone, the latter their status.
    private func marker(in envelope: JSONReader.Element) -> IgnoredKind? {
        let members = value.children(of: envelope)
        if members.count == 2, value.string(of: members[0]) == "ts_ms" { return .heartbeat }
        let status = text(at: ChangeMember.status, of: envelope)
        guard isText(status, "BEGIN") || isText(status, "END") else { return nil }
        return value.resolve(ChangeMember.eventCount, from: envelope) == .absent ? nil : .transactionMarker
    }

    /// A record that is not a change passes the flattening as it was.
    private func logicalMessage(in envelope: JSONReader.Element) -> IgnoredKind? {
        guard isText(text(at: ChangeMember.operation, of: envelope), "m"),
            isObject(ChangeMember.source, of: envelope),
            isObject(ChangeMember.message, of: envelope)
        else { return nil }
        return .logicalMessage
    }

    private func isObject(_ pointer: JSONPointer, of element: JSONReader.Element) -> Bool {
        guard case .value(let found) = value.resolve(pointer, from: element) else { return false }
        return value.kind(of: found) == .object
    }
}

/// The members that identify a change.
private enum ChangeMember {
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

// MARK: - PagerDuty
// PagerDuty's webhooks, version 3: what changed is often not the resource itself but a note, a task or a role of it.

extension EventMapper {
    /// A ping is about the friendly test resource and not about any account's things.
    func locateWebhook(in root: JSONReader.Element) {
        if isText(text(at: WebhookMember.eventType, of: root), "pagey.ping") { placement.ignored = .ping }
    }

    /// `data.id` where the data are the resource; else the resource is a member of the data, or of their first role
    /// assignment. Other ids in there belong to other things.
    func resourceIdentifier() -> Found {
        guard let root = placement.root else { return .nothing }
        let resource = text(at: WebhookMember.resourceType, of: root)
        guard case .text(let resourceType) = resource else { return resource }
        switch value.resolve(WebhookMember.data, from: root) {
        case .absent: return .nothing
        case .ambiguous: return .ambiguous
        case .value(let data):
            let kind = text(at: WebhookMember.type, of: data)
            guard case .text(let type) = kind, texts[type].elementsEqual(texts[resourceType]) else {
                return kind.doubt == .none ? relatedIdentifier(of: resourceType, in: data) : kind
            }
            return text(at: WebhookMember.id, of: data)
        }
    }

    private func relatedIdentifier(of resourceType: Range<Int>, in data: JSONReader.Element) -> Found {
        guard resourceType.count <= EventMapping.maximumNameBytes else { return .nothing }
        let name = Array(texts[resourceType])
        let direct = identifier(under: name, of: data)
        guard case .nothing = direct else { return direct }
        switch value.member((name + Array("_role_assignments".utf8)).span, of: data) {
        case .absent: return .nothing
        case .ambiguous: return .ambiguous
        case .value(let assignments):
            guard case .value(let first) = value.resolve(WebhookMember.first, from: assignments) else {
                return .nothing
            }
            return identifier(under: name, of: first)
        }
    }

    private func identifier(under name: [UInt8], of element: JSONReader.Element) -> Found {
        switch value.member(name.span, of: element) {
        case .absent: .nothing
        case .ambiguous: .ambiguous
        case .value(let resource): text(at: WebhookMember.id, of: resource)
        }
    }
}

/// The members that identify a webhook.
private enum WebhookMember {
    static let eventType = JSONPointer(members: "event", "event_type")
    static let resourceType = JSONPointer(members: "event", "resource_type")
    static let data = JSONPointer(members: "event", "data")
    static let type = JSONPointer(members: "type")
    static let id = JSONPointer(members: "id")
    static let first = JSONPointer(members: "0")
}

// MARK: - CloudEvents
// CloudEvents 1.0 and its binding to Kafka: attributes are `ce_` headers (binary), or members of the value (structured).

extension EventMapper {
    /// An object without `specversion` is not an event: another program writes to the topic too.
    func locateCloudEvent(in root: JSONReader.Element) {
        guard !placement.isBinary else { return }
        let version = text(at: CloudEventMember.version, of: root)
        switch version {
        case .text: break
        case .nothing: placement.ignored = .noCloudEvent
        case .ambiguous, .halfPair: placement.broken = version
        }
    }

    /// In binary mode the value is the event's data: its members `subject` and `accountid` are not attributes.
    func attribute<Record: RecordReading & ~Copyable>(
        _ pointer: JSONPointer, _ header: String, of record: borrowing Record
    ) -> Found {
        if placement.isBinary { return self.header(header, of: record) }
        guard let root = placement.root else { return .nothing }
        return text(at: pointer, of: root)
    }

    func typePart<Record: RecordReading & ~Copyable>(_ part: Int, of record: borrowing Record) -> Found {
        let type = attribute(CloudEventMember.type, "ce_type", of: record)
        guard case .text(let text) = type else { return type }
        return self.part(part, of: text)
    }
}

/// The members that an event in the value has.
private enum CloudEventMember {
    static let version = JSONPointer(members: "specversion")
    static let type = JSONPointer(members: "type")
}
