import LiveUpdates
import SQLite

/// Reads an archive's file on one connection. Every answer is of one moment.
final class ArchiveReader {
    let database: Database

    init(path: String) throws {
        database = try Database(path: path, cleansPages: true)
        try ArchiveSchema.openForReading(database, cacheBytes: 8 << 20)
    }

    var size: ArchiveSize {
        get throws {
            var (rows, pages): (Int64, Int64) = (0, 0)
            try database.each(ArchiveQuery.rows) { statement in
                rows = statement.integer(0)
                return false
            }
            try database.each("PRAGMA page_count") { statement in
                pages = statement.integer(0)
                return false
            }
            return ArchiveSize(rows: rows, bytes: pages * Int64(ArchiveSchema.pageBytes) + Int64(database.logBytes))
        }
    }

    func page(_ query: PageQuery) throws -> EventPage { try database.snapshot { try events(query) } }

    // MARK: - Events

    /// A row of a page before its texts are put together.
    private struct Row {
        let key: EventKey
        let event: ThinEvent
    }

    private func events(_ query: PageQuery) throws -> EventPage {
        let horizon = try self.horizon
        let limit = min(max(1, query.limit), PageQuery.maximumLimit)
        let bounds = query.bounds(keptFrom: horizon)
        var page = EventPage()
        if query.wantsPositions { page.positions = try positions }
        var rows: [Row] = []
        if let account = try number(of: query.account), bounds.lower < bounds.upper {
            for stream in try streams(of: account, query.entities) {
                try merge(stream, account, query, bounds, limit: limit + 1, into: &rows)
            }
        }
        page.more = rows.count > limit
        if page.more { rows.removeLast() }
        page.events = try rows.map { row in
            PagedEvent(
                id: try row.key.id(check: ArchiveID.hash(of: row.event, account: query.account)), event: row.event)
        }
        let last = page.more ? page.events.last?.id.stamp : nil
        page.gaps = try gaps(
            from: query.isOldestFirst ? bounds.lower.stamp ?? 0 : last ?? bounds.lower.stamp ?? 0,
            to: (query.isOldestFirst ? last : nil) ?? bounds.upper.newestStampBelow ?? .max,
            keptFrom: horizon)
        return page
    }

    /// Puts the first rows of a stream in their order among those of the streams before it, at most `limit` of all. Rows beyond
    /// the limit are not read.
    private func merge(
        _ stream: Stream, _ account: Int64, _ query: PageQuery, _ bounds: (lower: EventKey, upper: EventKey),
        limit: Int,
        into rows: inout [Row]
    ) throws {
        var (lower, upper) = bounds
        var owner = stream.number
        if let name = query.thing {
            guard let thing = try thing(name, in: stream.number) else { return }
            owner = thing
        } else if rows.count == limit, let last = rows.last {
            if query.isOldestFirst { upper = min(upper, last.key) } else { lower = max(lower, last.key) }
        }
        let others = rows
        rows.removeAll(keepingCapacity: true)
        var index = 0
        func comesFirst(_ left: EventKey, _ right: EventKey) -> Bool {
            query.isOldestFirst ? left < right : right < left
        }
        let sql = ArchiveQuery.page(ofThing: query.thing != nil, isOldestFirst: query.isOldestFirst)
        let values: [SQLValue] = [
            .integer(account), .integer(owner), .blob(lower.bytes), .blob(upper.bytes), .integer(Int64(limit)),
        ]
        try database.each(sql, values) { statement in
            let key = EventKey(stored: statement.blob(0))
            while index < others.count, rows.count < limit, comesFirst(others[index].key, key) {
                rows.append(others[index])
                index += 1
            }
            guard rows.count < limit else { return false }
            guard !statement.isNull(1), !statement.isNull(2) else {
                throw ArchiveError.corrupt("an event without texts")
            }
            let event = ThinEvent(entity: stream.entity, id: statement.text(1), type: statement.text(2))
            rows.append(Row(key: key, event: event))
            return true
        }
        while index < others.count, rows.count < limit {
            rows.append(others[index])
            index += 1
        }
    }

    // MARK: - What is stored once

    struct Stream {
        let number: Int64
        let entity: String
    }

    /// More than any vocabulary has; what a damaged file has beyond it is not read.
    static let maximumStreams = 10_000

    func number(of account: Account) throws -> Int64? {
        var number: Int64?
        try database.each(ArchiveQuery.account, [.text(account.text)]) { statement in
            number = statement.integer(0)
            return false
        }
        return number
    }

    func streams(of account: Int64, _ entities: EntityFilter?) throws -> [Stream] {
        var streams: [Stream] = []
        guard let entities else {
            try database.each(ArchiveQuery.streams, [.integer(account), .integer(Int64(Self.maximumStreams))]) {
                statement in
                streams.append(Stream(number: statement.integer(0), entity: statement.text(1)))
                return true
            }
            return streams
        }
        for name in entities.names {
            try database.each(ArchiveQuery.stream, [.integer(account), .text(name.text)]) { statement in
                streams.append(Stream(number: statement.integer(0), entity: name.text))
                return false
            }
        }
        return streams
    }

    func thing(_ name: String, in stream: Int64) throws -> Int64? {
        var thing: Int64?
        try database.each(ArchiveQuery.thing, [.integer(stream), .text(name)]) { statement in
            thing = statement.integer(0)
            return false
        }
        return thing
    }

    var horizon: Int64 {
        get throws {
            var horizon: Int64?
            try database.each(ArchiveQuery.horizon) { statement in
                horizon = statement.integer(0)
                return false
            }
            guard let horizon else { throw ArchiveError.corrupt("the row with the horizon is missing") }
            return horizon
        }
    }

    /// More partitions than a cursor may name.
    static let maximumPositions = 10_000

    var positions: [StoredPosition] {
        get throws {
            var positions: [StoredPosition] = []
            try database.each(ArchiveQuery.positions, [.integer(Int64(Self.maximumPositions))]) { statement in
                guard let partition = Int32(exactly: statement.integer(1)) else {
                    throw ArchiveError.corrupt("a partition out of range")
                }
                let next = statement.integer(2)
                let log = statement.isNull(3) ? nil : StoredLog(statement.blob(3))
                positions.append(
                    StoredPosition(topic: statement.text(0), partition: partition, next: next, of: log))
                return true
            }
            return positions
        }
    }

    /// As many gaps as a page names before it merges them.
    static let maximumGaps = 1000

    private func gaps(from first: Int64, to last: Int64, keptFrom horizon: Int64) throws -> [ArchiveGap] {
        var gaps: [ArchiveGap] = []
        let values: [SQLValue] = [.integer(max(first, horizon)), .integer(last), .integer(Int64(Self.maximumGaps))]
        for sql in [ArchiveQuery.gaps, ArchiveQuery.openGaps] {
            try database.each(sql, sql == ArchiveQuery.gaps ? values : Array(values.dropFirst())) { statement in
                gaps.append(
                    ArchiveGap(from: statement.integer(0), to: statement.isNull(1) ? nil : statement.integer(1)))
                return true
            }
        }
        return ArchiveGap.merged(gaps)
    }
}
