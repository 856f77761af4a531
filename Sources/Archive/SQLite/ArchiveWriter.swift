import LiveUpdates
import SQLite

/// Writes an archive's file on one connection: all of a call or nothing.
///
/// It knows the numbers of what it met last, so that most events cost no look-up.
final class ArchiveWriter {
    struct Thing {
        let number: Int64
        var last: EventKey
        var type: Int64
        var isChanged = false
    }

    private struct ThingName: Hashable {
        let stream: Int64
        let name: BytewiseKey
    }

    private struct Word: Hashable {
        let account: Int64
        let text: BytewiseKey
    }

    /// When so many are known, all are forgotten, so that memory stays bounded.
    private static let maximumKnown = 200_000

    let database: Database
    private(set) var horizon: Int64
    private var accounts: [BytewiseKey: Int64] = [:]
    private var streams: [Word: Int64] = [:]
    private var types: [Word: Int64] = [:]
    private var things: [ThingName: Thing] = [:]
    /// Those of ``things`` that the batch has changed.
    private var changed: [ThingName] = []
    var swept = SweepPosition()
    /// By the call that is made.
    var marksDeleted = 0
    /// Of events, by the transaction under way: more, or fewer if below 0.
    var rowsAdded = 0

    init(path: String, server: String) throws {
        database = try Database(path: path)
        try ArchiveSchema.openForWriting(database, path: path, server: server, cacheBytes: 64 << 20)
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

    /// Numbers that were deleted, or never came to be, are not to be used again.
    func forget() {
        accounts = [:]
        streams = [:]
        types = [:]
        things = [:]
        changed = []
    }

    // MARK: - Events

    func append(_ batch: ArchiveBatch) throws -> AppendOutcome {
        let known = accounts.count + streams.count + types.count + things.count
        if known > Self.maximumKnown { forget() }
        return try transaction {
            var outcome = AppendOutcome()
            for run in batch.runs { try append(run, &outcome) }
            try storeChangedThings()
            return outcome
        }
    }

    private func append(_ run: ArchiveBatch.Run, _ outcome: inout AppendOutcome) throws {
        guard let start = try beginning(of: run, &outcome) else {
            outcome.repeated += run.events.count
            return
        }
        let topic = ArchiveID.hash(ofTopic: run.topic)
        let floor = EventKey(before: horizon)
        for event in run.events {
            guard event.offset >= start else {
                outcome.repeated += 1
                continue
            }
            let key = EventKey(stamp: event.stamp, topic: topic, partition: run.partition, offset: event.offset)
            guard key > floor else {
                outcome.tooOld += 1
                continue
            }
            if try store(event, key) { outcome.stored += 1 } else { outcome.repeated += 1 }
        }
        try database.run(
            """
            INSERT INTO positions VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next,
            stamp = coalesce(excluded.stamp, stamp)
            """,
            [
                .text(run.topic), .integer(Int64(run.partition)), .integer(run.next),
                run.stamps.map { .integer($0.last) } ?? .null,
            ])
    }

    /// False: it is there.
    private func store(_ event: ArchivedEvent, _ key: EventKey) throws -> Bool {
        let account = try number(of: event.account)
        let stream = try stream(of: event.event.entity, in: account)
        let type = try type(event.event.type, in: account)
        let name = ThingName(stream: stream, name: BytewiseKey(text: event.event.id))
        let thing = try thing(name, account, event.event, key, type)
        let row = try database.prepared(Self.insertEvent)
        row.bind(0, stream)
        row.bind(1, blob: key.bytes)
        row.bind(2, thing.number)
        row.bind(3, type)
        try row.run()
        // A record that was written again with the same stamp and offset.
        guard database.changes == 1 else { return false }
        rowsAdded += 1
        let entry = try database.prepared(Self.insertHistory)
        entry.bind(0, thing.number)
        entry.bind(1, blob: key.bytes)
        entry.bind(2, type)
        try entry.run()
        if key > thing.last {
            if !thing.isChanged { changed.append(name) }
            things[name] = Thing(number: thing.number, last: key, type: type, isChanged: true)
        }
        if event.arrival < event.stamp {
            try database.run(
                "INSERT OR IGNORE INTO early VALUES (?, ?, ?)",
                [.integer(stream), .blob(key.bytes), .integer(event.arrival)])
        }
        return true
    }

    private static let insertEvent = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)"
    private static let insertHistory = "INSERT OR IGNORE INTO history VALUES (?, ?, ?)"

    /// Once for all events of the batch.
    private func storeChangedThings() throws {
        let statement = try database.prepared("UPDATE things SET last = ?, type = ? WHERE id = ?")
        for name in changed {
            guard let thing = things[name] else { continue }
            statement.bind(0, blob: thing.last.bytes)
            statement.bind(1, thing.type)
            statement.bind(2, thing.number)
            try statement.run()
            things[name]?.isChanged = false
        }
        changed.removeAll(keepingCapacity: true)
    }

    // MARK: - What stands once

    func number(of account: Account) throws -> Int64 {
        let name = BytewiseKey(text: account.text)
        if let known = accounts[name] { return known }
        let number =
            try first("SELECT id FROM accounts WHERE name = ?", [.text(account.text)])
            ?? inserted("INSERT INTO accounts (name) VALUES (?)", [.text(account.text)])
        accounts[name] = number
        return number
    }

    private func stream(of entity: String, in account: Int64) throws -> Int64 {
        let word = Word(account: account, text: BytewiseKey(text: entity))
        if let known = streams[word] { return known }
        let values: [SQLValue] = [.integer(account), .text(entity)]
        let number =
            try first(ArchiveQuery.stream, values)
            ?? inserted("INSERT INTO streams (account, entity) VALUES (?, ?)", values)
        streams[word] = number
        return number
    }

    /// Types are counted in each account, so that most take one byte.
    private func type(_ name: String, in account: Int64) throws -> Int64 {
        let word = Word(account: account, text: BytewiseKey(text: name))
        if let known = types[word] { return known }
        let values: [SQLValue] = [.integer(account), .text(name)]
        var number = try first("SELECT number FROM types WHERE account = ? AND name = ?", values)
        if number == nil {
            let last = try first("SELECT max(number) FROM types WHERE account = ?", [.integer(account)]) ?? 0
            try database.run(
                "INSERT INTO types (account, number, name) VALUES (?, ?, ?)",
                [.integer(account), .integer(last + 1), .text(name)])
            number = last + 1
        }
        types[word] = number
        return number ?? 0
    }

    private func thing(
        _ name: ThingName, _ account: Int64, _ event: ThinEvent, _ key: EventKey, _ type: Int64
    ) throws -> Thing {
        if let known = things[name], known.last > EventKey(before: horizon) { return known }
        var found: Thing?
        try database.each(
            "SELECT id, last, type FROM things WHERE stream = ? AND name = ?", [.integer(name.stream), .text(event.id)]
        ) { statement in
            found = Thing(
                number: statement.integer(0), last: EventKey(stored: statement.blob(1)), type: statement.integer(2))
            return false
        }
        let thing: Thing
        if let found {
            thing = found
            if found.last <= EventKey(before: horizon) {
                // It has gone, and its marks with it; only its rows are still there.
                try database.run("DELETE FROM marks WHERE thing = ?", [.integer(found.number)])
                try takeWaitingMarks(of: event, account, thing: found.number)
            }
        } else {
            let number = try inserted(
                "INSERT INTO things (stream, name, last, type) VALUES (?, ?, ?, ?)",
                [.integer(name.stream), .text(event.id), .blob(key.bytes), .integer(type)])
            thing = Thing(number: number, last: key, type: type)
            try takeWaitingMarks(of: event, account, thing: number)
        }
        things[name] = thing
        return thing
    }

    /// Somebody has read a thing before its first event came to this store.
    private func takeWaitingMarks(of event: ThinEvent, _ account: Int64, thing: Int64) throws {
        let values: [SQLValue] = [.integer(account), .text(event.entity), .text(event.id)]
        try database.run(
            """
            INSERT OR REPLACE INTO marks SELECT person, ?4, key, since FROM waiting
            WHERE account = ?1 AND entity = ?2 AND name = ?3
            """, values + [.integer(thing)])
        guard database.changes > 0 else { return }
        try database.run("DELETE FROM waiting WHERE account = ? AND entity = ? AND name = ?", values)
    }

    /// The number in the first row; nil where there is none or null.
    func first(_ sql: String, _ values: [SQLValue]) throws -> Int64? {
        var number: Int64?
        try database.each(sql, values) { statement in
            number = statement.isNull(0) ? nil : statement.integer(0)
            return false
        }
        return number
    }

    func inserted(_ sql: String, _ values: [SQLValue]) throws -> Int64 {
        try database.run(sql, values)
        return database.lastRow
    }

    func setHorizon(_ stamp: Int64) { horizon = stamp }

    /// Cuts the write-ahead log where readers have kept SQLite from beginning it again. Where they still do, the next call
    /// tries again.
    func limitLog() {
        guard database.logBytes > ArchiveSchema.maximumLogBytes else { return }
        _ = try? database.cutLog(waitingMilliseconds: 50)
    }
}
