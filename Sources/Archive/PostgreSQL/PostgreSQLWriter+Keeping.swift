import LiveUpdates
import PostgreSQL

extension PostgreSQLWriter {
    /// The server's.
    var clock: StoreClock {
        get throws {
            try session.run { connection in
                StoreClock(
                    now: try connection.run(PostgreSQLQuery.clock).integer(0, 0),
                    horizon: try PostgreSQLReader.horizon(connection))
            }
        }
    }

    func keep(from stamp: Int64) throws {
        try transaction { connection in
            _ = try connection.run(
                "UPDATE livegate_archive SET horizon = $1 WHERE horizon < $1", [.integer(stamp)])
        }
    }

    /// One step. False: the pass is over, or another node makes it.
    func sweep() throws -> Bool {
        var position = swept
        let more = try transaction(alone: true) { connection in
            let isMine = try connection.run("SELECT pg_try_advisory_xact_lock($1)", [.integer(locks.sweep)])
            guard isMine.bool(0, 0) else { return false }
            let horizon = try PostgreSQLReader.horizon(connection)
            guard position.isBehindStreams else {
                try sweepStreams(&position, EventKey(keptFrom: horizon), connection)
                return true
            }
            return try !sweepAccounts(&position, horizon, connection)
        }
        swept = more ? position : SweepPosition()
        return more
    }

    private func sweepStreams(_ position: inout SweepPosition, _ end: EventKey, _ connection: Connection) throws {
        let limit = ArchiveWriter.rowsOfStep
        let streams = try numbers(
            "SELECT id FROM livegate_streams WHERE id > $1 ORDER BY id LIMIT $2", position.stream, connection)
        var rows = 0
        for stream in streams {
            rows += try deleteEvents(of: stream, before: end, limit: limit - rows, connection)
            guard rows < limit else { return }
            let gone = try deleteThings(of: stream, before: end, limit: limit - rows, connection)
            rows += gone.things + gone.marks
            guard rows < limit else { return }
            position.stream = stream
        }
        if streams.count < ArchiveWriter.ownersOfStep { position.isBehindStreams = true }
    }

    /// True: the pass is over.
    private func sweepAccounts(
        _ position: inout SweepPosition, _ horizon: Int64, _ connection: Connection
    ) throws -> Bool {
        let end: Parameter = .bytes(EventKey(keptFrom: horizon).bytes)
        let accounts = try numbers(
            "SELECT id FROM livegate_accounts WHERE id > $1 ORDER BY id LIMIT $2", position.account, connection)
        let all: Parameter = .integers(accounts)
        _ = try connection.run("DELETE FROM livegate_waiting WHERE account = ANY($1) AND key < $2", [all, end])
        _ = try connection.run(
            """
            UPDATE livegate_people SET key = ''::bytea, since = 0 WHERE account = ANY($1) AND key > ''::bytea AND key < $2
            """, [all, end])
        try deleteEmpty(accounts, connection)
        position.account = accounts.last ?? position.account
        guard accounts.count < ArchiveWriter.ownersOfStep else { return false }
        _ = try connection.run("DELETE FROM livegate_gaps WHERE last < $1", [.integer(horizon)])
        _ = try connection.run("DELETE FROM livegate_erasures WHERE moment < $1", [.integer(horizon)])
        _ = try connection.run("DELETE FROM livegate_erasures_ahead WHERE stamp < $1", [.integer(horizon)])
        return true
    }

    private func numbers(_ sql: String, _ start: Int64, _ connection: Connection) throws -> [Int64] {
        let rows = try connection.run(sql, [.integer(start), .integer(Int64(ArchiveWriter.ownersOfStep))])
        return Self.numbers(rows)
    }

    static func numbers(_ rows: borrowing Rows) -> [Int64] {
        var numbers: [Int64] = []
        for row in 0..<rows.count { numbers.append(rows.integer(row, 0)) }
        return numbers
    }

    // MARK: - What erasing does too

    /// Deletes so many events of a stream, the oldest first. Returns how many.
    func deleteEvents(
        of stream: Int64, before end: EventKey, limit: Int, _ connection: Connection
    ) throws -> Int {
        try connection.run(
            """
            WITH gone AS (SELECT key FROM livegate_events WHERE stream = $1 AND key < $2 ORDER BY key LIMIT $3)
            DELETE FROM livegate_events e USING gone g WHERE e.stream = $1 AND e.key = g.key
            """, [.integer(stream), .bytes(end.bytes), .integer(Int64(limit))]
        ).changes
    }

    /// Deletes things whose last event is older, and before them their marks: at most so many rows.
    func deleteThings(
        of stream: Int64, before end: EventKey, limit: Int, _ connection: Connection
    ) throws -> (things: Int, marks: Int) {
        let rows = try connection.run(
            "SELECT id FROM livegate_things WHERE stream = $1 AND last < $2 ORDER BY last LIMIT $3",
            [.integer(stream), .bytes(end.bytes), .integer(Int64(limit))])
        let things = Self.numbers(rows)
        let marks = try deleteMarks(of: things, limit: limit, connection)
        let gone = things.prefix(limit - marks)
        try deleteThings(Array(gone), connection)
        return (gone.count, marks)
    }

    /// Deletes things whose marks are deleted, and marks that another session has made meanwhile.
    func deleteThings(_ things: [Int64], _ connection: Connection) throws {
        guard !things.isEmpty else { return }
        _ = try connection.run("DELETE FROM livegate_things WHERE id = ANY($1)", [.integers(things)])
        _ = try connection.run("DELETE FROM livegate_marks WHERE thing = ANY($1)", [.integers(things)])
    }

    /// At most so many. Returns how many.
    func deleteMarks(of things: [Int64], limit: Int, _ connection: Connection) throws -> Int {
        guard !things.isEmpty else { return 0 }
        return try connection.run(
            """
            DELETE FROM livegate_marks WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM livegate_marks WHERE thing = ANY($1) LIMIT $2))
            """, [.integers(things), .integer(Int64(limit))]
        ).changes
    }

    /// Deletes the empty parts of accounts, up to the accounts themselves.
    func deleteEmpty(_ accounts: [Int64], _ connection: Connection) throws {
        for sql in [
            """
            DELETE FROM livegate_streams s WHERE s.account = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM livegate_things WHERE stream = s.id)
            """,
            """
            DELETE FROM livegate_people p WHERE p.account = ANY($1) AND p.key = ''::bytea
            AND NOT EXISTS (SELECT 1 FROM livegate_marks WHERE person = p.id)
            AND NOT EXISTS (SELECT 1 FROM livegate_waiting WHERE account = p.account AND person = p.id)
            """,
            """
            DELETE FROM livegate_types y WHERE y.account = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM livegate_streams WHERE account = y.account)
            """,
            """
            DELETE FROM livegate_accounts a WHERE a.id = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM livegate_streams WHERE account = a.id)
            AND NOT EXISTS (SELECT 1 FROM livegate_people WHERE account = a.id)
            """,
        ] { _ = try connection.run(sql, [.integers(accounts)]) }
    }
}

extension ArchiveHorizon {
    /// For a database, whether nodes run or not: each of them reads the horizon there whenever it reads or writes.
    package static func ofDatabase(
        _ settings: PostgreSQLArchive.Settings, setBackTo stamp: Int64? = nil
    ) throws(ArchiveError) -> Self {
        do {
            let session = PostgreSQLArchive.answering(settings, Interruption()) { connection in
                try PostgreSQLSchema.check(connection)
            }
            return try session.run { connection in
                try connection.transaction { try ofDatabase(connection, setBackTo: stamp) }
            }
        } catch {
            throw ArchiveError(postgreSQL: error)
        }
    }

    private static func ofDatabase(_ connection: Connection, setBackTo stamp: Int64?) throws -> Self {
        let rows = try connection.run("SELECT server FROM livegate_archive")
        guard rows.count == 1 else { throw ArchiveError.corrupt("no server") }
        // With this lock no step of a sweep is running that uses the old horizon.
        let lock = LockKey(server: rows.text(0, 0)).structure
        _ = try connection.run("SELECT pg_advisory_xact_lock($1)", [.integer(lock)])
        let now = try connection.run(PostgreSQLQuery.clock).integer(0, 0)
        let (horizon, gapEnd) = change(try PostgreSQLReader.horizon(connection), to: stamp, now: now)
        if let gapEnd {
            _ = try connection.run("UPDATE livegate_archive SET horizon = $1", [.integer(horizon.after)])
            _ = try connection.run(
                "INSERT INTO livegate_gaps (topic, partition, first, last) VALUES (''::bytea, 0, $1, $2)",
                [.integer(horizon.after), .integer(gapEnd)])
        }
        return horizon
    }
}
