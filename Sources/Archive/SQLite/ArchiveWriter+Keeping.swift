import LiveUpdates
import SQLite

/// The position of a pass over the file that deletes what is no longer kept.
struct SweepPosition {
    var stream: Int64 = 0
    var account: Int64 = 0
    var isBehindStreams = false
}

extension ArchiveWriter {
    /// Rows that one step deletes, and owners that it visits: a few milliseconds, in which no event is written.
    static let rowsOfStep = 1000
    static let ownersOfStep = 200

    func keep(from stamp: Int64) throws {
        guard stamp > horizon else { return }
        _ = try transaction { try database.run("UPDATE archive SET horizon = ?", [.integer(stamp)]) }
        setHorizon(stamp)
    }

    /// One step. False: the pass is over, and everything is deleted that was no longer kept when it began.
    func sweep() throws -> Bool {
        var position = swept
        let isOver = try transaction {
            if !position.isBehindStreams {
                try sweepStreams(&position)
                return false
            }
            return try sweepAccounts(&position)
        }
        swept = isOver ? SweepPosition() : position
        // Numbers of deleted rows must not be used.
        forget()
        return !isOver
    }

    private func sweepStreams(_ position: inout SweepPosition) throws {
        let end = EventKey(keptFrom: horizon)
        var rows = 0
        let streams = try numbers(
            "SELECT id FROM streams WHERE id > ? ORDER BY id LIMIT ?", position.stream, Self.ownersOfStep)
        for stream in streams {
            rows += try deleteEvents(of: stream, before: end, limit: Self.rowsOfStep - rows)
            guard rows < Self.rowsOfStep else { return }
            rows += try deleteThings(of: stream, before: end, limit: Self.rowsOfStep - rows)
            guard rows < Self.rowsOfStep else { return }
            position.stream = stream
        }
        if streams.count < Self.ownersOfStep { position.isBehindStreams = true }
    }

    private func sweepAccounts(_ position: inout SweepPosition) throws -> Bool {
        let end: SQLValue = .blob(EventKey(keptFrom: horizon).bytes)
        let accounts = try numbers(
            "SELECT id FROM accounts WHERE id > ? ORDER BY id LIMIT ?", position.account, Self.ownersOfStep)
        var rows = 0
        for account in accounts {
            // One step deletes them all: there are at most ``maximumWaitingMarks``.
            rows += try database.run("DELETE FROM waiting WHERE account = ? AND key < ?", [.integer(account), end])
            guard rows < Self.rowsOfStep else { return false }
            rows += try database.run(
                """
                UPDATE people SET key = x'', since = 0 WHERE id IN (
                SELECT id FROM people WHERE account = ? AND key > x'' AND key < ? LIMIT ?)
                """, [.integer(account), end, .integer(Int64(Self.rowsOfStep - rows))])
            guard rows < Self.rowsOfStep else { return false }
            rows += try deleteEmpty(account, limit: Self.rowsOfStep - rows)
            guard rows < Self.rowsOfStep else { return false }
            position.account = account
        }
        if accounts.count < Self.ownersOfStep {
            try database.run("DELETE FROM gaps WHERE last < ?", [.integer(horizon)])
            try database.run("DELETE FROM erasures WHERE moment < ?", [.integer(horizon)])
            try database.run("DELETE FROM erasures_ahead WHERE stamp < ?", [.integer(horizon)])
            return true
        }
        return false
    }

    private func numbers(_ sql: String, _ start: Int64, _ limit: Int) throws -> [Int64] {
        var numbers: [Int64] = []
        try database.each(sql, [.integer(start), .integer(Int64(limit))]) { statement in
            numbers.append(statement.integer(0))
            return true
        }
        return numbers
    }

    // MARK: - What erasing does too

    /// Deletes so many events of a stream, the oldest first. Returns how many.
    func deleteEvents(of stream: Int64, before end: EventKey, limit: Int) throws -> Int {
        var rows: [(key: [UInt8], thing: Int64)] = []
        try database.each(
            "SELECT key, thing FROM events WHERE stream = ? AND key < ? ORDER BY key LIMIT ?",
            [.integer(stream), .blob(end.bytes), .integer(Int64(limit))]
        ) { statement in
            rows.append((statement.blob(0), statement.integer(1)))
            return true
        }
        for row in rows { try deleteEvent(row.key, stream: stream, thing: row.thing) }
        if rows.count < limit {
            try database.run("DELETE FROM early WHERE stream = ? AND key < ?", [.integer(stream), .blob(end.bytes)])
        } else if let last = rows.last {
            try database.run("DELETE FROM early WHERE stream = ? AND key <= ?", [.integer(stream), .blob(last.key)])
        }
        return rows.count
    }

    func deleteEvent(_ key: [UInt8], stream: Int64, thing: Int64) throws {
        let deleted = try database.run(
            "DELETE FROM events WHERE stream = ? AND key = ?", [.integer(stream), .blob(key)])
        // The file is damaged. A caller that repeats until nothing is found would never end.
        guard deleted > 0 else { throw ArchiveError.corrupt("an event that cannot be deleted") }
        rowsAdded -= deleted
        try database.run("DELETE FROM history WHERE thing = ? AND key = ?", [.integer(thing), .blob(key)])
    }

    /// Deletes things whose last event is older, and their marks: at most so many rows. Returns how many.
    func deleteThings(of stream: Int64, before end: EventKey, limit: Int) throws -> Int {
        var things: [Int64] = []
        try database.each(
            "SELECT id FROM things WHERE stream = ? AND last < ? ORDER BY last LIMIT ?",
            [.integer(stream), .blob(end.bytes), .integer(Int64(limit))]
        ) { statement in
            things.append(statement.integer(0))
            return true
        }
        var rows = 0
        for thing in things {
            rows += try deleteMarks(of: thing, limit: limit - rows)
            guard rows < limit else { break }
            try deleteThing(thing)
            rows += 1
            guard rows < limit else { break }
        }
        return rows
    }

    /// Deletes marks of people who have read it, up to a limit. Returns how many.
    func deleteMarks(of thing: Int64, limit: Int) throws -> Int {
        let marks = try database.run(
            "DELETE FROM marks WHERE thing = ?1 AND person IN (SELECT person FROM marks WHERE thing = ?1 LIMIT ?2)",
            [.integer(thing), .integer(Int64(limit))])
        marksDeleted += marks
        return marks
    }

    /// Its marks are deleted before.
    func deleteThing(_ thing: Int64) throws {
        let deleted = try database.run("DELETE FROM things WHERE id = ?", [.integer(thing)])
        guard deleted > 0 else { throw ArchiveError.corrupt("a thing that cannot be deleted") }
    }

    /// Deletes the empty parts of an account, up to the account itself: at most so many rows. Returns how many.
    func deleteEmpty(_ account: Int64, limit: Int) throws -> Int {
        var rows = 0
        func delete(_ sql: String) throws -> Bool {
            rows += try database.run(sql, [.integer(account), .integer(Int64(limit - rows))])
            return rows < limit
        }
        func hasNo(_ sql: String) throws -> Bool { try first(sql, [.integer(account)]) == nil }
        guard
            try delete(
                """
                DELETE FROM people WHERE id IN (SELECT id FROM people WHERE account = ?1 AND key = x''
                AND NOT EXISTS (SELECT 1 FROM marks WHERE person = people.id)
                AND id NOT IN (SELECT person FROM waiting WHERE account = ?1) LIMIT ?2)
                """),
            try delete(
                """
                DELETE FROM streams WHERE id IN (SELECT id FROM streams WHERE account = ?1
                AND NOT EXISTS (SELECT 1 FROM things WHERE stream = streams.id) LIMIT ?2)
                """),
            try hasNo("SELECT 1 FROM streams WHERE account = ? LIMIT 1"),
            try delete(
                """
                DELETE FROM types WHERE account = ?1 AND number IN (SELECT number FROM types WHERE account = ?1 LIMIT ?2)
                """),
            try hasNo("SELECT 1 FROM people WHERE account = ? LIMIT 1")
        else { return rows }
        rows += try database.run("DELETE FROM accounts WHERE id = ?", [.integer(account)])
        return rows
    }
}

extension ArchiveHorizon {
    /// For a file that no node has open: a running node would go on by the horizon that it knows.
    package static func ofFile(_ path: String, setBackTo stamp: Int64? = nil, now: Int64) throws(ArchiveError) -> Self {
        do {
            let database = try Database(path: path, mayCreate: false, cleansPages: true)
            try ArchiveSchema.openAlone(database, path: path)
            return try database.transaction {
                guard case .integer(let found) = try database.rows("SELECT horizon FROM archive").first?.first else {
                    throw ArchiveError.corrupt("the row with the horizon is missing")
                }
                let (horizon, gapEnd) = change(found, to: stamp, now: now)
                if let gapEnd {
                    try database.execute("UPDATE archive SET horizon = ?", [.integer(horizon.after)])
                    try database.execute(
                        "INSERT INTO gaps (topic, partition, first, last) VALUES ('', 0, ?, ?)",
                        [.integer(horizon.after), .integer(gapEnd)])
                }
                return horizon
            }
        } catch {
            // SQLITE_BUSY
            if (error as? SQLiteError)?.code == 5 { throw .unavailable("a node has the file open: stop it first") }
            throw ArchiveError(error)
        }
    }
}
