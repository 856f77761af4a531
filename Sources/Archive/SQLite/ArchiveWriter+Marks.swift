import LiveUpdates
import SQLite

extension ArchiveWriter {
    /// The limit of one account, for things that have no event yet: their events may still arrive, or never come.
    static let maximumWaitingMarks = 1000

    /// Moves a mark forward. When this returns it is on the disk, because it is stored nowhere else.
    func mark(_ mark: ReadMark) throws -> MarkOutcome {
        try database.execute("PRAGMA synchronous = FULL")
        defer { try? database.execute("PRAGMA synchronous = NORMAL") }
        return try transaction {
            let key = EventKey(mark.upTo)
            guard key > EventKey(keptFrom: horizon) else { return .unchanged }
            if mark.mustBeStored, let outcome = try refusal(mark.upTo, key, mark.account) { return outcome }
            let account = try number(of: mark.account)
            let person = try person(mark.person, in: account)
            guard key > person.everything else { return .unchanged }
            guard let thing = mark.thing else {
                try database.run(
                    "UPDATE people SET key = ?, since = ? WHERE id = ?",
                    [.blob(key.bytes), .integer(mark.now), .integer(person.number)])
                return .moved
            }
            guard let number = try self.thing(thing, in: account) else {
                return try keepWaiting(thing, key, mark.now, account, person.number)
            }
            return try database.run(
                """
                INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET key = excluded.key, since = excluded.since
                WHERE excluded.key > key
                """, [.integer(person.number), .integer(number), .blob(key.bytes), .integer(mark.now)]) == 1
                ? .moved : .unchanged
        }
    }

    /// Why an event that has to be stored is not; nil: it is.
    private func refusal(_ id: ArchiveID, _ key: EventKey, _ account: Account) throws -> MarkOutcome? {
        let isStored = try first(
            """
            SELECT 1 FROM accounts a JOIN streams s ON s.account = a.id JOIN events e ON e.stream = s.id
            WHERE a.name = ? AND e.key = ?
            """, [.text(account.text), .blob(key.bytes)])
        guard isStored == nil else { return nil }
        var next: Int64?
        try database.each("SELECT topic, next FROM positions WHERE partition = ?", [.integer(Int64(id.partition))]) {
            statement in
            if ArchiveID.hash(ofTopic: statement.text(0)) == id.topic { next = statement.integer(1) }
            return next == nil
        }
        return next.map { $0 <= id.offset } == true ? .behind : .unknown
    }

    private func person(_ name: String, in account: Int64) throws -> (number: Int64, everything: EventKey) {
        var known: (Int64, EventKey)?
        try database.each(ArchiveQuery.person, [.integer(account), .text(name)]) { statement in
            known = (statement.integer(0), EventKey(stored: statement.blob(1)))
            return false
        }
        if let known { return known }
        let number = try inserted(
            "INSERT INTO people (account, name, key, since) VALUES (?, ?, x'', 0)", [.integer(account), .text(name)])
        return (number, .start)
    }

    /// The number of a thing that has an event within what is kept.
    private func thing(_ thing: ReadMark.Thing, in account: Int64) throws -> Int64? {
        guard let stream = try first(ArchiveQuery.stream, [.integer(account), .text(thing.entity)]) else { return nil }
        return try first(
            "SELECT id FROM things WHERE stream = ? AND name = ? AND last > ?",
            [.integer(stream), .text(thing.id), .blob(EventKey(keptFrom: horizon).bytes)])
    }

    /// Keeps a mark for the first event of its thing.
    private func keepWaiting(
        _ thing: ReadMark.Thing, _ key: EventKey, _ now: Int64, _ account: Int64, _ person: Int64
    ) throws -> MarkOutcome {
        let waiting = try first("SELECT count(*) FROM waiting WHERE account = ?", [.integer(account)]) ?? 0
        let names: [SQLValue] = [.integer(account), .text(thing.entity), .text(thing.id), .integer(person)]
        let known = try first(
            "SELECT 1 FROM waiting WHERE account = ? AND entity = ? AND name = ? AND person = ?", names)
        guard known != nil || waiting < Self.maximumWaitingMarks else { return .tooMany }
        return try database.run(
            """
            INSERT INTO waiting VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET key = excluded.key,
            since = excluded.since WHERE excluded.key > key
            """, names + [.blob(key.bytes), .integer(now)]) == 1 ? .moved : .unchanged
    }
}
