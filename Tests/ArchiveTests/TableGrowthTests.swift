// Tests: TableGrowth.swift, InternedNames.swift

import LiveUpdates
import PostgreSQL
import TestHarness
import Testing

@testable import Archive

struct TableGrowthTests {
    @Test func `a table is counted when it has grown by more than is known of it`() {
        var growth = TableGrowth()
        func counts(_ added: Int, known: Int64) -> [Bool] {
            guard growth.add(added) else { return [false] }
            return [true, growth.isOutdated(rows: known)]
        }
        #expect(counts(499, known: 0) == [false])
        #expect(counts(1, known: 0) == [true, true])
        #expect(counts(499, known: 500) == [false])
        // Somebody else has filled it.
        #expect(counts(9_501, known: 50_000) == [true, false])
        #expect(counts(49_999, known: 50_000) == [false])
        #expect(counts(1, known: 50_000) == [true, false])
        #expect(counts(50_001, known: -1) == [true, true])
    }

    /// Of a table that was counted while it was small, a plan would read all for each name of a batch.
    @Test(.enabled(if: PostgreSQLServer.isInstalled))
    func `the first large batch is planned for a large table`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri)
        func events(_ range: Range<Int>) -> [ArchivedEvent] {
            range.map { .init("A\($0)", "incident", "I\($0)", "made", offset: Int64($0), stamp: 1000 + Int64($0)) }
        }
        _ = try await store.append(.of(events(0..<1)))
        let session = PostgreSQLServer.session(uri)
        try session.run { try $0.command("VACUUM ANALYZE") }
        #expect(try await store.append(.of(events(1..<3_000), from: 1)).stored == 2_999)
        try session.run { connection in
            for table in ["accounts", "streams", "types", "things"] {
                let rows = try connection.run(
                    "SELECT reltuples::bigint FROM pg_class WHERE relname = convert_from($1, 'UTF8')",
                    [.text("livegate_\(table)")])
                #expect(rows.integer(0, 0) >= 2_999, "\(table)")
            }
        }
        await store.close()
    }
}
