import LiveUpdates
import SQLite

extension ArchiveWriter {
    /// How long the writer waits for readers when it cuts the log, before other calls have their turn.
    static let logMilliseconds: Int32 = 20

    /// Erasures that are remembered as done. Those beyond this number are done once more at each start.
    static let maximumErasures = 65_536

    /// One step of an erasure: at most so many rows, in one transaction. Returns what it has deleted, and whether there is more.
    ///
    /// Each node that starts reads all erasures again. If one was done and finds nothing, the file's bytes stay as they are.
    func erase(_ account: Account, until moment: Int64) throws -> (counts: ErasureCounts, more: Bool) {
        marksDeleted = 0
        var counts = ErasureCounts()
        let isOver = try transaction {
            let isDone = try isErased(account, until: moment)
            // A missing account may have existed, and left copies of rows that were swept.
            if !isDone { try owe() }
            if let number = try first(ArchiveQuery.account, [.text(account.text)]) {
                var rowsLeft = Self.rowsOfStep
                counts.events = try eraseEvents(of: number, until: moment, &rowsLeft)
                if rowsLeft > 0 { rowsLeft -= try eraseMarks(of: number, until: moment, limit: rowsLeft) }
                if rowsLeft > 0 { rowsLeft -= try deleteEmpty(number, limit: rowsLeft) }
                if rowsLeft < Self.rowsOfStep { try owe() }
                guard rowsLeft > 0 else { return false }
            }
            if !isDone { try remember(account, until: moment) }
            return true
        }
        counts.marks = marksDeleted
        forget()
        return (counts, !isOver)
    }

    private func owe() throws {
        try database.run("UPDATE archive SET to_overwrite = 1")
        isLogCut = false
    }

    /// Two accounts whose names make the same number are distinguished by the moments of their erasures.
    static func number(_ account: Account) -> Int64 {
        var hash = StableHash()
        hash.combine(account.text)
        return Int64(bitPattern: hash.state)
    }

    private func isErased(_ account: Account, until moment: Int64) throws -> Bool {
        try first(
            "SELECT 1 FROM erasures WHERE account = ? AND moment = ?",
            [.integer(Self.number(account)), .integer(moment)]) != nil
    }

    private func remember(_ account: Account, until moment: Int64) throws {
        try database.run(
            "INSERT OR REPLACE INTO erasures SELECT ?1, ?2 WHERE (SELECT count(*) FROM erasures) < \(Self.maximumErasures)",
            [.integer(Self.number(account)), .integer(moment)])
    }

    /// See ``ArchiveStore/erasureEnd(_:stamped:readAt:)``. An erasure beyond the limit counts up to when it is read again.
    func erasureEnd(_ account: Account, stamped stamp: Int64, readAt moment: Int64) throws -> Int64 {
        let record: [SQLValue] = [.integer(Self.number(account)), .integer(stamp)]
        if let known = try first("SELECT moment FROM erasures_ahead WHERE account = ? AND stamp = ?", record) {
            return min(known, stamp)
        }
        guard stamp > moment else { return stamp }
        _ = try transaction {
            try database.run(
                """
                INSERT INTO erasures_ahead SELECT ?1, ?2, ?3
                WHERE (SELECT count(*) FROM erasures_ahead) < \(Self.maximumErasures)
                """, record + [.integer(moment)])
        }
        return moment
    }

    /// Deletes events, and then things that have none left and their marks. Returns how many events.
    private func eraseEvents(of account: Int64, until moment: Int64, _ rowsLeft: inout Int) throws -> Int {
        let end = EventKey(before: moment)
        var streams: [Int64] = []
        try database.each("SELECT id FROM streams WHERE account = ?", [.integer(account)]) { statement in
            streams.append(statement.integer(0))
            return true
        }
        var events = 0
        for stream in streams {
            events += try eraseEarly(of: stream, until: moment, &rowsLeft)
            guard rowsLeft > 0 else { break }
            let deleted = try deleteEvents(of: stream, before: end, limit: rowsLeft)
            events += deleted
            rowsLeft -= deleted
            guard rowsLeft > 0 else { break }
            rowsLeft -= try deleteThings(of: stream, before: end, limit: rowsLeft)
            guard rowsLeft > 0 else { break }
        }
        return events
    }

    /// Deletes events that arrived before the moment and are stamped later. Returns how many.
    private func eraseEarly(of stream: Int64, until moment: Int64, _ rowsLeft: inout Int) throws -> Int {
        var rows: [(key: [UInt8], thing: Int64)] = []
        try database.each(
            """
            SELECT e.key, e.thing FROM early a CROSS JOIN events e ON e.stream = a.stream AND e.key = a.key
            WHERE a.stream = ? AND a.arrival < ? LIMIT ?
            """, [.integer(stream), .integer(moment), .integer(Int64(rowsLeft))]
        ) { statement in
            rows.append((statement.blob(0), statement.integer(1)))
            return true
        }
        var events = 0
        for row in rows {
            let hasOthers =
                try first(
                    "SELECT 1 FROM history WHERE thing = ? AND key != ? LIMIT 1", [.integer(row.thing), .blob(row.key)])
                != nil
            if !hasOthers { rowsLeft -= try deleteMarks(of: row.thing, limit: rowsLeft) }
            guard rowsLeft > 0 else { break }
            try deleteEvent(row.key, stream: stream, thing: row.thing)
            try database.run("DELETE FROM early WHERE stream = ? AND key = ?", [.integer(stream), .blob(row.key)])
            if hasOthers { try setLast(of: row.thing) } else { try deleteThing(row.thing) }
            events += 1
            rowsLeft -= 1
            guard rowsLeft > 0 else { break }
        }
        return events
    }

    /// Sets the last event of a thing after some of its events were deleted out of order.
    private func setLast(of thing: Int64) throws {
        var last: (key: [UInt8], type: Int64)?
        try database.each(
            "SELECT key, type FROM history WHERE thing = ? ORDER BY key DESC LIMIT 1", [.integer(thing)]
        ) { statement in
            last = (statement.blob(0), statement.integer(1))
            return false
        }
        guard let last else { throw ArchiveError.corrupt("a thing without an event") }
        try database.run(
            "UPDATE things SET last = ?, type = ? WHERE id = ?",
            [.blob(last.key), .integer(last.type), .integer(thing)])
    }

    /// At most so many. Returns how many rows.
    private func eraseMarks(of account: Int64, until moment: Int64, limit: Int) throws -> Int {
        let values: [SQLValue] = [.integer(account), .integer(moment), .blob(EventKey(before: moment).bytes)]
        var rows = 0
        for sql in [
            """
            DELETE FROM marks WHERE (person, thing) IN (
            SELECT m.person, m.thing FROM people p CROSS JOIN marks m ON m.person = p.id
            WHERE p.account = ?1 AND (m.since < ?2 OR m.key < ?3) LIMIT ?4)
            """,
            """
            DELETE FROM waiting WHERE account = ?1 AND (entity, name, person) IN (
            SELECT entity, name, person FROM waiting WHERE account = ?1 AND (since < ?2 OR key < ?3) LIMIT ?4)
            """,
            """
            UPDATE people SET key = x'', since = 0 WHERE id IN (
            SELECT id FROM people WHERE account = ?1 AND key > x'' AND (since < ?2 OR key < ?3) LIMIT ?4)
            """,
        ] {
            let changed = try database.run(sql, values + [.integer(Int64(limit - rows))])
            marksDeleted += changed
            rows += changed
            guard rows < limit else { break }
        }
        return rows
    }

    // MARK: - Bytes

    /// Whether bytes of what was erased may be left in the file or in its log.
    var isToBeOverwritten: Bool {
        get throws { try first("SELECT to_overwrite FROM archive", []) ?? 0 != 0 }
    }

    /// Cuts the write-ahead log, which still contains all that was erased, to nothing. False: it has a reader.
    func cutLog() throws -> Bool {
        guard try database.cutLog(waitingMilliseconds: Self.logMilliseconds) else { return false }
        // Cached pages are as they were before the file had them, and would be written into the log again.
        try database.forgetPages()
        isLogCut = true
        return true
    }

    /// The pages of the file are clean since the log was cut. False: more was erased since.
    func setOverwritten() throws -> Bool {
        guard isLogCut else { return false }
        _ = try transaction { try database.run("UPDATE archive SET to_overwrite = 0") }
        return true
    }
}
