import LiveUpdates
import PostgreSQL

/// Reads an archive in PostgreSQL on one session. Every answer is of one moment.
final class PostgreSQLReader {
    private static let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    private let session: Session

    init(_ session: Session) { self.session = session }

    private func read<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try session.run { connection in try connection.transaction(Self.snapshot) { try body(connection) } }
    }

    /// From the server's own statistics, which are some seconds old. A crash loses them. Then the last count before it is used,
    /// plus what was stored since, until the server counts again.
    var size: ArchiveSize {
        get throws {
            try session.run { connection in
                let rows = try connection.run(
                    """
                    SELECT coalesce(sum(s.n_live_tup + CASE WHEN s.last_analyze IS NULL AND s.last_autoanalyze IS NULL
                    AND s.last_vacuum IS NULL AND s.last_autovacuum IS NULL THEN greatest(c.reltuples, 0)::bigint ELSE 0 END)
                    FILTER (WHERE s.relname = 'livegate_events'), 0)::bigint,
                    coalesce(sum(pg_total_relation_size(s.relid)), 0)::bigint
                    FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
                    WHERE s.relname LIKE 'livegate\\_%' AND pg_table_is_visible(s.relid)
                    """)
                return ArchiveSize(rows: rows.integer(0, 0), bytes: rows.integer(0, 1))
            }
        }
    }

    var positions: [StoredPosition] { get throws { try session.run { try Self.positions($0) } } }

    func page(_ query: PageQuery) throws -> EventPage { try read { try Self.events(query, $0) } }

    func inbox(_ query: InboxQuery) throws -> InboxPage { try read { try Self.things(query, $0) } }

    // MARK: - Events

    private static func events(_ query: PageQuery, _ connection: Connection) throws -> EventPage {
        let horizon = try horizon(connection)
        let limit = min(max(1, query.limit), PageQuery.maximumLimit)
        let bounds = query.bounds(keptFrom: horizon)
        var page = EventPage()
        if query.wantsPositions { page.positions = try positions(connection) }
        if let account = try number(of: query.account, connection), bounds.lower < bounds.upper {
            var values: [Parameter] = [
                .integer(account), entities(query.entities), .bytes(bounds.lower.bytes), .bytes(bounds.upper.bytes),
                .integer(Int64(limit + 1)),
            ]
            if let thing = query.thing { values.append(.text(thing)) }
            let sql = PostgreSQLQuery.page(ofThing: query.thing != nil, isOldestFirst: query.isOldestFirst)
            let rows = try connection.run(sql, values)
            page.more = rows.count > limit
            for row in 0..<min(rows.count, limit) { page.events.append(try event(query.account, rows, row)) }
        }
        let last = page.more ? page.events.last?.id.stamp : nil
        page.gaps = try gaps(
            from: query.isOldestFirst ? bounds.lower.stamp ?? 0 : last ?? bounds.lower.stamp ?? 0,
            to: (query.isOldestFirst ? last : nil) ?? bounds.upper.newestStampBelow ?? .max,
            keptFrom: horizon, connection)
        return page
    }

    /// A row that begins with key, entity, id and type.
    private static func event(_ account: Account, _ rows: borrowing Rows, _ row: Int) throws -> PagedEvent {
        guard !rows.isNull(row, 2), !rows.isNull(row, 3) else { throw ArchiveError.corrupt("an event without texts") }
        let event = ThinEvent(entity: rows.text(row, 1), id: rows.text(row, 2), type: rows.text(row, 3))
        let key = EventKey(stored: rows.bytes(row, 0))
        return PagedEvent(id: try key.id(check: ArchiveID.hash(of: event, account: account)), event: event)
    }

    private static func entities(_ filter: EntityFilter?) -> Parameter {
        filter.map { .byteStrings($0.names.map { Array($0.text.utf8) }) } ?? .null
    }

    private static func gaps(
        from first: Int64, to last: Int64, keptFrom horizon: Int64, _ connection: Connection
    ) throws -> [ArchiveGap] {
        var gaps: [ArchiveGap] = []
        let values: [Parameter] = [
            .integer(max(first, horizon)), .integer(last), .integer(Int64(ArchiveReader.maximumGaps)),
        ]
        for sql in [PostgreSQLQuery.gaps, PostgreSQLQuery.openGaps] {
            let rows = try connection.run(sql, sql == PostgreSQLQuery.gaps ? values : Array(values.dropFirst()))
            for row in 0..<rows.count {
                gaps.append(
                    ArchiveGap(from: rows.integer(row, 0), to: rows.isNull(row, 1) ? nil : rows.integer(row, 1)))
            }
        }
        return ArchiveGap.merged(gaps)
    }

    // MARK: - Inbox

    private static func things(_ query: InboxQuery, _ connection: Connection) throws -> InboxPage {
        var page = InboxPage()
        if query.wantsPositions { page.positions = try positions(connection) }
        guard let account = try number(of: query.account, connection) else { return page }
        // No person has the number 0.
        var (person, everything) = (Int64(0), EventKey.start)
        let people = try connection.run(PostgreSQLQuery.person, [.integer(account), .text(query.person)])
        if people.count > 0 { (person, everything) = (people.integer(0, 0), EventKey(stored: people.bytes(0, 1))) }
        let horizon = EventKey(keptFrom: try horizon(connection))
        /// Everything up to this key is read.
        let read = max(horizon, everything)
        let counts = try connection.run(
            PostgreSQLQuery.unreadThings, [.integer(account), .bytes(read.bytes), .integer(person)])
        page.unreadThings = Int(counts.integer(0, 0))
        let limit = min(max(1, query.limit), PageQuery.maximumLimit)
        let rows = try connection.run(
            PostgreSQLQuery.inbox,
            [
                .integer(account), .integer(person), entities(query.entities),
                .bytes((query.unreadOnly ? read : horizon).bytes),
                .bytes((query.before.map(EventKey.init) ?? .end).bytes), .bool(!query.unreadOnly),
                .integer(Int64(limit + 1)), .bytes(read.bytes), .integer(Int64(InboxThing.maximumUnread)),
            ])
        page.more = rows.count > limit
        for row in 0..<min(rows.count, limit) {
            let last = try event(query.account, rows, row)
            page.things.append(InboxThing(last: last, unread: Int(rows.integer(row, 4))))
        }
        return page
    }

    // MARK: - What is stored once

    private static func number(of account: Account, _ connection: Connection) throws -> Int64? {
        let rows = try connection.run(PostgreSQLQuery.account, [.text(account.text)])
        return rows.count > 0 ? rows.integer(0, 0) : nil
    }

    static func horizon(_ connection: Connection) throws -> Int64 {
        let rows = try connection.run(PostgreSQLQuery.horizon)
        guard rows.count == 1 else { throw ArchiveError.corrupt("the row with the horizon is missing") }
        return rows.integer(0, 0)
    }

    private static func positions(_ connection: Connection) throws -> [StoredPosition] {
        let rows = try connection.run(
            PostgreSQLQuery.positions, [.integer(Int64(ArchiveReader.maximumPositions))])
        var positions: [StoredPosition] = []
        for row in 0..<rows.count {
            guard let partition = Int32(exactly: rows.integer(row, 1)) else {
                throw ArchiveError.corrupt("a partition out of range")
            }
            let next = rows.integer(row, 2)
            let log = rows.isNull(row, 3) ? nil : StoredLog(rows.bytes(row, 3))
            positions.append(
                StoredPosition(topic: rows.text(row, 0), partition: partition, next: next, of: log))
        }
        return positions
    }
}
