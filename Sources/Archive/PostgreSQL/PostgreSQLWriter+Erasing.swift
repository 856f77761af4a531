import LiveUpdates
import PostgreSQL

extension PostgreSQLWriter {
    /// Whether this node erases now: of several nodes that try, one deletes and counts all, and the others find nothing.
    func beginErasing() throws -> Bool {
        try session.run { connection in
            try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(locks.erasure)]).bool(0, 0)
        }
    }

    func endErasing() throws {
        try session.run { connection in
            _ = try connection.run("SELECT pg_advisory_unlock($1)", [.integer(locks.erasure)])
        }
    }

    /// One step of an erasure: some rows, in one transaction. Returns what it has deleted, and whether there is more.
    ///
    /// Each node that starts reads all erasures again. If one was done and finds nothing, the tables stay as they are.
    func erase(_ account: Account, until moment: Int64) throws -> (counts: ErasureCounts, more: Bool) {
        try transaction(alone: true) { connection in
            try connection.command("SET LOCAL synchronous_commit = on")
            let isDone = try isErased(account, until: moment, connection)
            let step = try eraseRows(of: account, until: moment, connection)
            // A missing account may have existed, and left copies of rows that were swept.
            if !isDone || step.counts != ErasureCounts() {
                // Written also where it is true already: a pass that begins now waits until these rows are gone.
                _ = try connection.run("UPDATE livegate_archive SET to_overwrite = true")
            }
            if !isDone && !step.more { try remember(account, until: moment, connection) }
            return step
        }
    }

    private func isErased(_ account: Account, until moment: Int64, _ connection: Connection) throws -> Bool {
        try connection.run(
            "SELECT EXISTS (SELECT 1 FROM livegate_erasures WHERE account = $1 AND moment = $2)",
            [.integer(ArchiveWriter.number(account)), .integer(moment)]
        ).bool(0, 0)
    }

    private func remember(_ account: Account, until moment: Int64, _ connection: Connection) throws {
        _ = try connection.run(
            """
            INSERT INTO livegate_erasures SELECT $1::bigint, $2::bigint WHERE (SELECT count(*) FROM livegate_erasures) < $3
            ON CONFLICT (account) DO UPDATE SET moment = excluded.moment
            """,
            [
                .integer(ArchiveWriter.number(account)), .integer(moment),
                .integer(Int64(ArchiveWriter.maximumErasures)),
            ])
    }

    /// See ``ArchiveStore/erasureEnd(_:stamped:readAt:)``. Of several nodes that read it first, the one that writes first counts.
    func erasureEnd(_ account: Account, stamped stamp: Int64, readAt moment: Int64) throws -> Int64 {
        let record: [Parameter] = [.integer(ArchiveWriter.number(account)), .integer(stamp)]
        return try session.run { connection in
            if stamp > moment {
                _ = try connection.run(
                    """
                    INSERT INTO livegate_erasures_ahead SELECT $1::bigint, $2::bigint, $3::bigint
                    WHERE (SELECT count(*) FROM livegate_erasures_ahead) < $4 ON CONFLICT DO NOTHING
                    """, record + [.integer(moment), .integer(Int64(ArchiveWriter.maximumErasures))])
            }
            let rows = try connection.run(
                "SELECT moment FROM livegate_erasures_ahead WHERE account = $1 AND stamp = $2", record)
            return min(stamp, rows.count > 0 ? rows.integer(0, 0) : moment)
        }
    }

    private func eraseRows(
        of account: Account, until moment: Int64, _ connection: Connection
    ) throws -> (counts: ErasureCounts, more: Bool) {
        var counts = ErasureCounts()
        let found = try connection.run(PostgreSQLQuery.account, [.text(account.text)])
        guard found.count > 0 else { return (counts, false) }
        let number = found.integer(0, 0)
        let limit = ArchiveWriter.rowsOfStep
        let end = EventKey(before: moment)
        let streams = Self.numbers(
            try connection.run("SELECT id FROM livegate_streams WHERE account = $1", [.integer(number)]))
        for stream in streams {
            let early = try eraseEarly(of: stream, until: moment, limit: limit - counts.events, connection)
            counts.events += early.events
            counts.marks += early.marks
            guard counts.rows < limit else { return (counts, true) }
            counts.events += try deleteEvents(of: stream, before: end, limit: limit - counts.rows, connection)
            guard counts.rows < limit else { return (counts, true) }
            let gone = try deleteThings(of: stream, before: end, limit: limit - counts.rows, connection)
            counts.marks += gone.marks
            guard gone.things + counts.rows < limit else { return (counts, true) }
        }
        counts.marks += try eraseMarks(of: number, until: moment, limit: limit - counts.rows, connection)
        guard counts.rows < limit else { return (counts, true) }
        try deleteEmpty([number], connection)
        return (counts, false)
    }

    /// Deletes events that arrived before the moment and are stamped later, and sets their things to what is left of them.
    private func eraseEarly(
        of stream: Int64, until moment: Int64, limit: Int, _ connection: Connection
    ) throws -> ErasureCounts {
        var counts = ErasureCounts()
        let rows = try connection.run(
            "SELECT thing, key FROM livegate_events WHERE stream = $1 AND arrival < $2 LIMIT $3",
            [.integer(stream), .integer(moment), .integer(Int64(limit))])
        guard rows.count > 0 else { return counts }
        let things: Parameter = .integers(Array(Set(Self.numbers(rows))))
        let keys: Parameter = .byteStrings((0..<rows.count).map { rows.bytes($0, 1) })
        // The marks of things that are left without an event go first: a thing may have more of them than a step deletes.
        let emptied = try connection.run(
            """
            SELECT thing FROM unnest($1::bigint[]) t(thing) WHERE NOT EXISTS
            (SELECT 1 FROM livegate_events e WHERE e.thing = t.thing AND NOT e.key = ANY($2))
            """, [things, keys])
        counts.marks = try deleteMarks(of: Self.numbers(emptied), limit: limit, connection)
        guard counts.marks < limit else { return counts }
        counts.events = try connection.run(
            "DELETE FROM livegate_events WHERE stream = $1 AND key = ANY($2)", [.integer(stream), keys]
        ).changes
        _ = try connection.run(
            """
            UPDATE livegate_things t SET last = n.key, type = n.type FROM (SELECT k.thing, e.key, e.type
            FROM unnest($1::bigint[]) k(thing) CROSS JOIN LATERAL (SELECT key, type FROM livegate_events
            WHERE thing = k.thing ORDER BY key DESC LIMIT 1) e) n WHERE t.id = n.thing
            """, [things])
        try deleteThings(Self.numbers(emptied), connection)
        return counts
    }

    /// So many rows at most, of each of the three kinds in turn.
    private func eraseMarks(
        of account: Int64, until moment: Int64, limit: Int, _ connection: Connection
    ) throws -> Int {
        var marks = 0
        for sql in [
            """
            WITH gone AS (SELECT m.person, m.thing FROM livegate_marks m JOIN livegate_people p ON p.id = m.person
            WHERE p.account = $1 AND (m.since < $2 OR m.key < $3) LIMIT $4)
            DELETE FROM livegate_marks m USING gone g WHERE m.person = g.person AND m.thing = g.thing
            """,
            """
            DELETE FROM livegate_waiting WHERE ctid = ANY(ARRAY(SELECT ctid FROM livegate_waiting
            WHERE account = $1 AND (since < $2 OR key < $3) LIMIT $4))
            """,
            """
            UPDATE livegate_people SET key = ''::bytea, since = 0 WHERE ctid = ANY(ARRAY(SELECT ctid FROM livegate_people
            WHERE account = $1 AND key > ''::bytea AND (since < $2 OR key < $3) LIMIT $4))
            """,
        ] where marks < limit {
            marks += try connection.run(
                sql,
                [
                    .integer(account), .integer(moment), .bytes(EventKey(before: moment).bytes),
                    .integer(Int64(limit - marks)),
                ]
            ).changes
        }
        return marks
    }
}

extension ErasureCounts {
    /// All rows that a step has deleted so far.
    fileprivate var rows: Int { events + marks }
}
