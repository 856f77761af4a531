/// Makes thin events of records.
///
/// Confined to one thread at a time: its buffers are reused for each record, so that a record of a kind that came before
/// allocates nothing. The memory that a large record needed is freed after it.
package final class EventMapper {
    /// What is at a source.
    enum Found: Equatable {
        /// Where in ``texts``.
        case text(Range<Int>)
        /// Absent, or of a kind that is not text.
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

    /// Why what is at a source cannot be used; a higher value is worse.
    enum Doubt: Int, Comparable {
        case none, ambiguous, halfPair

        static func < (left: Doubt, right: Doubt) -> Bool { left.rawValue < right.rawValue }
    }

    /// Where the sources of the present record are.
    struct Placement {
        /// The value's root, when the value was read and is an object.
        var root: JSONReader.Element?
        /// What pointers count from: the root, or the payload in it.
        var envelope: JSONReader.Element?
        /// The changed row, of the Debezium presets.
        var row = JSONReader.Found.absent
        /// The row as it was before an update.
        var formerRow = JSONReader.Found.absent
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
    /// The second event of the record that was read last, for the account that a row has left. Nil for nearly every record;
    /// released before the next one is read.
    private(set) package var left: RecordedEvent?
    let value = JSONReader()
    let key = JSONReader()
    var placement = Placement()
    /// The texts of the present record, one behind the other.
    var texts: [UInt8] = []
    private var kinds = KindTable()

    package init(_ mapping: EventMapping) {
        self.mapping = mapping
    }

    /// The event of a record, or why there is none; of several reasons the first in the order of `SkipReason`.
    package func map<Record: RecordReading & ~Copyable>(_ record: borrowing Record) -> MappingOutcome {
        switch read(record) {
        case .event(let found): .event(found.account, found.event)
        case .skip(let reason, let why): .skip(reason, why: why)
        }
    }

    /// The same, with texts as bytes.
    package func read<Record: RecordReading & ~Copyable>(_ record: borrowing Record) -> RecordOutcome {
        placement = Placement()
        left = nil
        texts.removeAll(keepingCapacity: true)
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
            let kind = kinds.kind(of: texts, entity, type)
        {
            return event(kind, account, id, of: record)
        }
        let name = string(entity)
        let rule = mapping.entities.isEmpty ? nil : mapping.entities[BytewiseKey(text: name)]
        if case .drop(let dropped)? = rule { return .skip(.dropped, why: .dropped(entity: dropped)) }
        guard case .text(let account) = account else { return missing(.account, of: record) }
        guard case .text(let id) = id else { return missing(.id, of: record) }
        guard case .text(let type) = type else { return missing(.type, of: record) }
        var renamed = name
        if case .rename(let other)? = rule { renamed = other }
        let translated = mapping.translated(string(type), of: name, renamed)
        if let skipped = tooLong(renamed.utf8.count, .entity) ?? tooLong(account.count, .account)
            ?? tooLong(id.count, .id) ?? tooLong(translated.utf8.count, .type)
        {
            return skipped
        }
        let kind = EventKind(entity: renamed, type: translated)
        kinds.keep(Array(texts[entity]), Array(texts[type]), as: kind)
        return event(kind, account, id, of: record)
    }

    private func event<Record: RecordReading & ~Copyable>(
        _ kind: EventKind, _ account: Range<Int>, _ id: Range<Int>, of record: borrowing Record
    ) -> RecordOutcome {
        if let skipped = tooLong(account.count, .account) ?? tooLong(id.count, .id) { return skipped }
        if placement.formerRow != .absent { left = eventOfFormer(kind, account, of: record) }
        return .event(RecordedEvent(kind, texts, account: account, id: id))
    }

    /// The event for the account that the row belonged to before an update, if that is another one. An account that has lost the
    /// row learns of its change like one that has got it: both fetch, and see what is theirs. Only the column that names the
    /// account shows whose it was: if an older row lacks it, the list's next sources do not name an owner of that row.
    private func eventOfFormer<Record: RecordReading & ~Copyable>(
        _ kind: EventKind, _ account: Range<Int>, of record: borrowing Record
    ) -> RecordedEvent? {
        guard let column = mapping.account.sources.first(where: { found(at: $0, in: record) != .nothing }),
            case .row = column
        else { return nil }
        placement.row = placement.formerRow
        guard case .text(let former) = found(at: column, in: record),
            case .text(let id) = first(of: mapping.id.sources, in: record),
            !texts[former].elementsEqual(texts[account]),
            former.count <= EventRow.account.maximumBytes, id.count <= EventRow.id.maximumBytes
        else { return nil }
        return RecordedEvent(kind, texts, account: former, id: id)
    }

    func string(_ text: Range<Int>) -> String { String(decoding: texts[text], as: UTF8.self) }

    /// Whether it is this text, byte by byte.
    func isText(_ found: Found, _ text: String) -> Bool {
        guard case .text(let range) = found else { return false }
        let texts = texts
        return texts.span.extracting(range).isEqual(to: text.utf8Span.span)
    }

    // MARK: Before the rows

    /// Reads the value where a source needs it.
    private func readValue<Record: RecordReading & ~Copyable>(_ record: borrowing Record) -> RecordOutcome? {
        if mapping.preset == .cloudevents {
            placement.isBinary = record.readHeader("ce_specversion") { _ in }
        }
        let isStructured = mapping.preset == .cloudevents && !placement.isBinary
        guard mapping.readsValue || isStructured else { return nil }
        var failure: JSONError?
        var isRegistered = false
        let hasValue = record.readValue { bytes in
            let preamble = JSONPreamble(of: bytes)
            isRegistered = preamble.isRegistered
            do throws(JSONError) {
                try value.read(bytes.extracting(droppingFirst: preamble.count), tapedDepth: mapping.tapedDepth)
            } catch {
                failure = error
            }
        }
        guard hasValue else { return placement.isBinary ? nil : .skip(.tombstone, why: .nullValue) }
        if let failure { return .skip(.notJSON, why: isRegistered ? .notRegisteredJSON(failure) : .json(failure)) }
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

    private func refusal(_ entity: Found, _ account: Found, _ id: Found, _ type: Found) -> RecordOutcome? {
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
    ) -> RecordOutcome {
        if placement.root == nil, !record.readValue({ _ in }) { return .skip(.tombstone, why: .nullValue) }
        let sources = mapping.sourceTexts(of: row)
        if row == .account, mapping.preset?.hasRows == true, isText(placement.operation, "d") {
            return .skip(row.skipReason, why: .missingInDeletion(sources: sources))
        }
        return .skip(row.skipReason, why: .missing(row, sources: sources))
    }

    private func tooLong(_ bytes: Int, _ row: EventRow) -> RecordOutcome? {
        guard bytes > row.maximumBytes else { return nil }
        return .skip(.tooLong, why: .long(row, bytes: bytes, limit: row.maximumBytes))
    }

    /// The memory that is kept from one record to the next.
    package var heldBytes: Int { value.heldBytes + key.heldBytes + texts.capacity }

    private func releaseExcess() {
        if texts.capacity > JSONReader.retainedBytes { texts = [] }
        value.trim()
        key.trim()
    }
}

@available(*, unavailable)
extension EventMapper: Sendable {}

/// A record of the broker, as far as a mapping reads it. What is not requested is not touched.
///
/// Each `read` calls `body` once with bytes that stay the record's own, or answers false without a call.
package protocol RecordReading: ~Copyable {
    var topic: String { get }

    /// False when the value is null.
    func readValue(_ body: (Span<UInt8>) -> Void) -> Bool

    /// False when the key is null.
    func readKey(_ body: (Span<UInt8>) -> Void) -> Bool

    /// The first header of that name (compared by bytes); false when there is none or its value is null.
    func readHeader(_ name: String, _ body: (Span<UInt8>) -> Void) -> Bool
}
