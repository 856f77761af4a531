import LiveUpdates
import SQLite

/// Writes an archive's file on one connection: all of a call or nothing.
///
/// It remembers numbers that it used before, so that most events cost no look-up.
final class ArchiveWriter {
    struct Thing {
        let number: Int64
        var last: EventKey
        var type: Int64
        var isChanged = false
    }

    struct ThingName: Hashable {
        let stream: Int64
        let name: BytewiseKey
    }

    struct Word: Hashable {
        let account: Int64
        let text: BytewiseKey
    }

    /// An event that is to be stored, as numbers.
    private struct Row {
        let stream: Int64
        let key: EventKey
        let thing: Int64
        let type: Int64
        let name: ThingName
        let stamp: Int64
        let arrival: Int64
    }

    /// When more things are known, or more accounts, streams and types, these are forgotten, so that memory stays bounded.
    static let defaultMaximumKnown = 150_000

    let database: Database
    private let maximumKnown: Int
    private(set) var horizon: Int64
    var accounts: [BytewiseKey: Int64] = [:]
    var streams: [Word: Int64] = [:]
    var types: [Word: Int64] = [:]
    var things: [ThingName: Thing] = [:]
    /// Those of ``things`` that the batch has changed.
    private var changed: [ThingName] = []
    var swept = SweepPosition()
    /// Nothing that was erased is in the log, nor in a page that is kept in memory.
    var isLogCut = false
    /// Marks that the current call has deleted.
    var marksDeleted = 0
    /// Events that the current transaction has added; below 0: deleted.
    var rowsAdded = 0

    init(
        path: String, server: String, maximumKnown: Int = defaultMaximumKnown, keptLogBytes: Int = LogLimits().wait
    ) throws {
        self.maximumKnown = maximumKnown
        database = try Database(path: path, cleansPages: true)
        try ArchiveSchema.openForWriting(
            database, path: path, server: server, cacheBytes: 64 << 20, keptLogBytes: keptLogBytes)
        horizon = 0
        try database.each(ArchiveQuery.horizon) { statement in
            horizon = statement.integer(0)
            return false
        }
    }

    /// All of it or nothing, in the file and in what is known of it.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        rowsAdded = 0
        do {
            return try database.transaction {
                let value = try body()
                if rowsAdded != 0 {
                    try database.run("UPDATE archive SET events = events + ?", [.integer(Int64(rowsAdded))])
                }
                return value
            }
        } catch {
            forget()
            throw error
        }
    }

    /// Forgets numbers that were deleted, or were never stored, so that they are not used again.
    func forget() {
        accounts = [:]
        streams = [:]
        types = [:]
        things = [:]
        changed = []
    }

    // MARK: - Events

    func append(_ batch: ArchiveBatch) throws -> AppendOutcome {
        if things.count > maximumKnown { things = [:] }
        if accounts.count + streams.count + types.count > maximumKnown { forget() }
        return try transaction {
            var outcome = AppendOutcome()
            var rows: [Row] = []
            for run in batch.runs { try append(run, to: &rows, &outcome) }
            try store(rows, &outcome)
            return outcome
        }
    }

    private func append(_ run: ArchiveBatch.Run, to rows: inout [Row], _ outcome: inout AppendOutcome) throws {
        guard let start = try beginning(of: run, &outcome) else {
            outcome.repeated += run.events.count
            return
        }
        let topic = ArchiveID.hash(ofTopic: run.topic)
        let floor = EventKey(keptFrom: horizon)
        for event in run.events {
            guard event.offset >= start.offset else {
                outcome.repeated += 1
                continue
            }
            let key = EventKey(stamp: event.stamp, topic: topic, partition: run.partition, offset: event.offset)
            guard key > floor else {
                outcome.tooOld += 1
                continue
            }
            rows.append(try row(of: event, key))
        }
        guard !start.keepsPosition else { return }
        try database.run(
            """
            INSERT INTO positions (topic, partition, next, stamp, log) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
            SET next = excluded.next, stamp = coalesce(excluded.stamp, stamp), log = excluded.log
            """,
            [
                .text(run.topic), .integer(Int64(run.partition)), .integer(run.next),
                run.stamps.map { .integer($0.last) } ?? .null, run.log.map { .blob($0.bytes) } ?? .null,
            ])
    }

    private func row(of event: ArchivedEvent, _ key: EventKey) throws -> Row {
        let account = try number(of: event.account)
        let stream = try stream(of: event.event.entity, in: account)
        let type = try type(event.event.type, in: account)
        let name = ThingName(stream: stream, name: BytewiseKey(text: event.event.id))
        let thing = try thing(name, account, event.event, key, type)
        return Row(
            stream: stream, key: key, thing: thing.number, type: type, name: name, stamp: event.stamp,
            arrival: event.arrival)
    }

    /// Each table in the order of its first column, so that a batch visits each of its pages once.
    private func store(_ rows: [Row], _ outcome: inout AppendOutcome) throws {
        var stored: [Row] = []
        stored.reserveCapacity(rows.count)
        let event = try database.prepared("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)")
        for row in rows.sorted(by: { $0.stream < $1.stream }) {
            event.bind(0, row.stream)
            event.bind(1, blob: row.key.bytes)
            event.bind(2, row.thing)
            event.bind(3, row.type)
            try event.run()
            // This is 0 for a record that was written again with the same stamp and offset.
            if database.changes == 1 { stored.append(row) }
        }
        outcome.stored += stored.count
        outcome.repeated += rows.count - stored.count
        rowsAdded += stored.count
        let entry = try database.prepared("INSERT OR IGNORE INTO history VALUES (?, ?, ?)")
        for row in stored.sorted(by: { $0.thing < $1.thing }) {
            entry.bind(0, row.thing)
            entry.bind(1, blob: row.key.bytes)
            entry.bind(2, row.type)
            try entry.run()
            if let thing = things[row.name], row.key > thing.last {
                if !thing.isChanged { changed.append(row.name) }
                things[row.name] = Thing(number: row.thing, last: row.key, type: row.type, isChanged: true)
            }
        }
        try storeChangedThings()
        for row in stored where row.arrival < row.stamp {
            try database.run(
                "INSERT OR IGNORE INTO early VALUES (?, ?, ?)",
                [.integer(row.stream), .blob(row.key.bytes), .integer(row.arrival)])
        }
    }

    /// Once for all events of the batch.
    private func storeChangedThings() throws {
        let statement = try database.prepared("UPDATE things SET last = ?, type = ? WHERE id = ?")
        for name in changed.sorted(by: { $0.stream < $1.stream }) {
            guard let thing = things[name] else { continue }
            statement.bind(0, blob: thing.last.bytes)
            statement.bind(1, thing.type)
            statement.bind(2, thing.number)
            try statement.run()
            things[name]?.isChanged = false
        }
        changed.removeAll(keepingCapacity: true)
    }

    func setHorizon(_ stamp: Int64) { horizon = stamp }
}
