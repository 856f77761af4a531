// Tests: VacuumPass.swift, PostgreSQLArchive.swift, PostgreSQLWriter+Erasing.swift

import LiveUpdates
import PostgreSQL
import TestHarness
import Testing

@testable import Archive

/// What an erasure leaves to PostgreSQL, and what happens beside it.
struct VacuumPassTests {
    /// Whether something was erased that no pass has begun behind, the table whose turn it is, and what is to be done.
    static let rows: [(isOwed: Bool, next: Int64, step: VacuumPass.Step)] = [
        (false, 0, .none), (true, 0, .begin),
        // A pass ends before another one begins, and never begins anew.
        (false, 1, .vacuum("accounts", next: 2)), (true, 1, .vacuum("accounts", next: 2)),
        (true, 5, .vacuum("people", next: 6)), (true, 6, .vacuum("waiting", next: 0)),
        (false, 6, .vacuum("waiting", next: 0)),
        // As a version with more tables has left it.
        (false, 7, .begin),
    ]

    @Test(arguments: rows) func `a pass goes from table to table, and the next one begins behind it`(
        _ row: (isOwed: Bool, next: Int64, step: VacuumPass.Step)
    ) {
        #expect(VacuumPass(isOwed: row.isOwed, next: row.next).step == row.step)
    }
}

@Suite(.enabled(if: PostgreSQLServer.isInstalled)) struct PostgreSQLVacuumTests {
    /// How often each table was vacuumed by a command.
    private static func counts(_ session: Session) throws -> [Int64] {
        try VacuumPass.tables.map { table in
            try session.run {
                try $0.run(
                    "SELECT vacuum_count FROM pg_stat_all_tables WHERE relname = 'livegate_' || convert_from($1, 'UTF8')",
                    [.text(table)]
                ).integer(0, 0)
            }
        }
    }

    /// Somebody keeps the vacuum of a table waiting, as one that takes long.
    @Test func `beside a vacuum events, marks and erasures are stored, and it goes on where it was cut`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri)
        _ = try await store.append(.of(PostgreSQLArchiveTests.events(0..<50)))
        let (blocking, asking) = (PostgreSQLServer.session(uri), PostgreSQLServer.session(uri))
        try blocking.run { try $0.command("BEGIN; LOCK TABLE livegate_people IN SHARE UPDATE EXCLUSIVE MODE") }
        #expect(try await store.erase(Account("A"), until: 1010).events == 10)
        func overwrite() -> Task<ArchiveError?, Never> {
            Task { await TestStore.error { try await store.overwrite() } }
        }
        /// Of the session whose vacuum waits; 0: none does.
        func waiting() throws -> Int64 {
            try asking.run { connection in
                let rows = try connection.run(
                    """
                    SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                    AND query LIKE 'VACUUM%livegate_people'
                    """)
                return rows.count > 0 ? rows.integer(0, 0) : 0
            }
        }
        let first = overwrite()
        #expect(try await eventually { try waiting() != 0 })
        #expect(try await store.append(.of(PostgreSQLArchiveTests.events(50..<60), from: 50)).stored == 10)
        let id = ArchiveID(stamp: 1020, topic: 0, partition: 0, offset: 0, check: 0)
        #expect(try await store.mark(ReadMark("A", "P", nil, upTo: id, now: 2000)) == .moved)
        #expect(try await store.page(PageQuery("A") { $0.limit = 500 }).events.count == 50)
        #expect(try await store.erase(Account("A"), until: 1015).events == 5)
        #expect(try Self.counts(asking) == [1, 1, 1, 1, 0, 0])
        let process = try waiting()
        try asking.run { _ = try $0.run("SELECT pg_terminate_backend($1::bigint::int)", [.integer(process)]) }
        #expect(await first.value != nil)
        let second = overwrite()
        #expect(try await eventually { try waiting() != 0 })
        #expect(try Self.counts(asking) == [1, 1, 1, 1, 0, 0])
        try blocking.run { try $0.command("COMMIT") }
        #expect(await second.value == nil)
        // The pass that was under way, and one for what was erased meanwhile.
        #expect(try Self.counts(asking) == [2, 2, 2, 2, 2, 2])
        #expect(try await !store.isToBeOverwritten())
        await store.close()
    }

    /// Before the event arrived, which stays with its thing; behind it; and between its arrival and its stamp.
    @Test(arguments: [(500, 0), (1_500, 1), (700, 1)] as [(Int64, Int)])
    func `a statement of an erasure deletes no more marks than the rows of a step`(
        row: (until: Int64, events: Int)
    ) async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri)
        let event = ArchivedEvent(
            "A", "incident", "I0", "made", offset: 0, stamp: 1_000, arrival: row.until == 700 ? 600 : 1_000)
        _ = try await store.append(.of([event]))
        let asking = PostgreSQLServer.session(uri)
        try asking.run { connection in
            for sql in [
                "CREATE TABLE counted (deleted bigint)",
                """
                CREATE FUNCTION count_marks() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO counted SELECT count(*) FROM gone; RETURN NULL; END $$
                """,
                """
                CREATE TRIGGER counting AFTER DELETE ON livegate_marks REFERENCING OLD TABLE AS gone
                FOR EACH STATEMENT EXECUTE FUNCTION count_marks()
                """,
                """
                INSERT INTO livegate_people (account, name, key, since) SELECT a.id, convert_to('P' || i, 'UTF8'), ''::bytea, 0
                FROM livegate_accounts a, generate_series(1, 2500) i
                """,
                """
                INSERT INTO livegate_marks SELECT p.id, t.id, convert_to('k', 'UTF8'), 5
                FROM livegate_people p, livegate_things t
                """,
            ] { try connection.command(sql) }
        }
        let counts = try await store.erase(Account("A"), until: row.until)
        #expect(counts.events == row.events && counts.marks == 2500)
        let (most, all) = try asking.run { connection in
            let row = try connection.run("SELECT max(deleted), sum(deleted)::bigint FROM counted")
            return (row.integer(0, 0), row.integer(0, 1))
        }
        #expect(most == Int64(ArchiveWriter.rowsOfStep) && all == 2500)
        let left = try asking.run { try $0.run("SELECT count(*)::bigint FROM livegate_things").integer(0, 0) }
        #expect(left == (row.events == 0 ? 1 : 0))
        await store.close()
    }
}
