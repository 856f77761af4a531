/// Makes thin events of records.
///
/// Confined to one thread at a time: its buffers are used again for each record, so that a record costs no memory but
/// what the texts of its event need. What a large record needed is given back after it.
package final class EventMapper {
    /// What stands at a source.
    enum Found {
        case text(String)
        /// Absent, or of a kind that is no text.
        case nothing
        case ambiguous
        /// A string with half a surrogate pair.
        case halfPair

        var doubt: Doubt {
            switch self {
            case .text, .nothing: .none
            case .ambiguous: .ambiguous
            case .halfPair: .halfPair
            }
        }
    }

    /// Why what stands at a source cannot be used, the worse the higher.
    enum Doubt: Int, Comparable {
        case none, ambiguous, halfPair

        static func < (left: Doubt, right: Doubt) -> Bool { left.rawValue < right.rawValue }
    }

    /// Where the sources of the present record stand.
    struct Placement {
        /// The value's root, when the value was read and is an object.
        var root: JSONReader.Element?
        /// What pointers count from: the root, or the payload in it.
        var envelope: JSONReader.Element?
        /// The changed row, of the Debezium presets.
        var row = JSONReader.Found.absent
        var operation = Found.nothing
        /// Why the preset leaves this record out.
        var ignored: IgnoredKind?
        /// A mark of the preset's own that cannot be relied on.
        var broken: Found?
        /// Of a CloudEvent: its attributes are headers.
        var isBinary = false
        var keyReading = KeyReading.unread
    }

    enum KeyReading { case unread, json, none }

    package let mapping: EventMapping
    let value = JSONReader()
    let key = JSONReader()
    var placement = Placement()
    private var valueBytes: [UInt8] = []
    private var kinds = KindTable()
    var scratch: [UInt8] = []

    package init(_ mapping: EventMapping) {
        self.mapping = mapping
    }

    /// The event of a record, or why there is none; of several reasons the first in the order of `SkipReason`.
    package func map<Record: RecordReading & ~Copyable>(_ record: borrowing Record) -> MappingOutcome {
        placement = Placement()
        defer { releaseExcess() }
        if let skipped = readValue(record) { return skipped }
        locate(record)
        let entity = first(of: mapping.entity.sources, in: record)
        let account = first(of: mapping.account.sources, in: record)
        let id = first(of: mapping.id.sources, in: record)
        let type = first(of: mapping.type.sources, in: record)
        if let skipped = refusal(entity, account, id, type) { return skipped }
        guard case .text(let entity) = entity else { return missing(.entity, of: record) }
        if case .text(let account) = account, case .text(let id) = id, case .text(let type) = type,
            let kind = kinds.kind(entity, type)
        {
            return tooLong(account, .account) ?? tooLong(id, .id)
                ?? .event(Account(account), ThinEvent(entity: kind.entity, id: id, type: kind.type))
        }
        let rule = mapping.entities.isEmpty ? nil : mapping.entities[BytewiseKey(text: entity)]
        if case .drop(let name)? = rule { return .skip(.dropped, why: .dropped(entity: name)) }
        guard case .text(let account) = account else { return missing(.account, of: record) }
        guard case .text(let id) = id else { return missing(.id, of: record) }
        guard case .text(let type) = type else { return missing(.type, of: record) }
        var renamed = entity
        if case .rename(let name)? = rule { renamed = name }
        let translated = mapping.translated(type, of: entity, renamed)
        let event = ThinEvent(entity: renamed, id: id, type: translated)
        if let skipped = tooLong(renamed, .entity) ?? tooLong(account, .account) ?? tooLong(id, .id)
            ?? tooLong(translated, .type)
        {
            return skipped
        }
        kinds.keep(entity, type, as: event)
        return .event(Account(account), event)
    }

    // MARK: Before the rows

    /// Reads the value where a source needs it.
    private func readValue<Record: RecordReading & ~Copyable>(_ record: borrowing Record) -> MappingOutcome? {
        if mapping.preset == .cloudevents {
            placement.isBinary = record.copyHeader("ce_specversion", into: &scratch)
        }
        let isStructured = mapping.preset == .cloudevents && !placement.isBinary
        guard mapping.readsValue || isStructured else { return nil }
        guard record.copyValue(into: &valueBytes) else {
            return placement.isBinary ? nil : .skip(.tombstone, why: .nullValue)
        }
        do throws(JSONError) {
            try value.read(valueBytes, tapedDepth: mapping.tapedDepth)
        } catch {
            return .skip(.notJSON, why: .json(error))
        }
        guard value.kind(of: .root) == .object else { return .skip(.notJSON, why: .notAnObject) }
        placement.root = .root
        placement.envelope = .root
        return nil
    }

    private func locate<Record: RecordReading & ~Copyable>(_ record: borrowing Record) {
        guard let preset = mapping.preset, let root = placement.root else { return }
        switch preset {
        case .rails, .debeziumOutbox: break
        case .pagerdutyWebhookV3: locateWebhook(in: root)
        case .debezium: locateChange(in: root)
        case .debeziumFlat: locateFlatRow(in: root)
        case .cloudevents: locateCloudEvent(in: root)
        }
    }

    // MARK: Reasons, in the order of SkipReason

    private func refusal(_ entity: Found, _ account: Found, _ id: Found, _ type: Found) -> MappingOutcome? {
        let worst = max(
            max(entity.doubt, account.doubt), max(id.doubt, type.doubt), placement.broken?.doubt ?? .none)
        guard worst != .none else { return placement.ignored.map { .skip(.ignored, why: .kind($0)) } }
        let row: EventRow =
            if entity.doubt == worst {
                .entity
            } else if account.doubt == worst {
                .account
            } else if id.doubt == worst {
                .id
            } else {
                .type
            }
        return worst == .halfPair
            ? .skip(.notJSON, why: .halfPair(row)) : .skip(.ambiguous, why: .ambiguous(row))
    }

    private func missing<Record: RecordReading & ~Copyable>(
        _ row: EventRow, of record: borrowing Record
    ) -> MappingOutcome {
        if placement.root == nil, !record.copyValue(into: &valueBytes) { return .skip(.tombstone, why: .nullValue) }
        return .skip(row.skipReason, why: .missing(row, sources: mapping.sourceTexts(of: row)))
    }

    private func tooLong(_ text: String, _ row: EventRow) -> MappingOutcome? {
        let bytes = text.utf8.count
        guard bytes > row.maximumBytes else { return nil }
        return .skip(.tooLong, why: .long(row, bytes: bytes, limit: row.maximumBytes))
    }

    /// The memory that is kept from one record to the next.
    package var heldBytes: Int {
        value.heldBytes + key.heldBytes + valueBytes.capacity + scratch.capacity
    }

    private func releaseExcess() {
        if valueBytes.capacity > JSONReader.retainedBytes { valueBytes = [] }
        if scratch.capacity > JSONReader.retainedBytes { scratch = [] }
        value.trim()
        key.trim()
    }
}

@available(*, unavailable)
extension EventMapper: Sendable {}

/// A record of the broker, as far as a mapping reads it. What is not asked for is not copied.
///
/// Each `copy` replaces the contents of `bytes`, keeping its memory.
package protocol RecordReading: ~Copyable {
    var topic: String { get }

    /// False, with `bytes` empty, when the value is null.
    func copyValue(into bytes: inout [UInt8]) -> Bool

    /// False when the key is null.
    func copyKey(into bytes: inout [UInt8]) -> Bool

    /// The first header of that name (compared by bytes); false when there is none or its value is null.
    func copyHeader(_ name: String, into bytes: inout [UInt8]) -> Bool
}
