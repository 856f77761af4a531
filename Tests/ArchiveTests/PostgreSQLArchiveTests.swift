// Tests: PostgreSQLArchive.swift, PostgreSQLSchema.swift, PostgreSQLQuery.swift, PostgreSQLReader.swift,
// PostgreSQLWriter.swift, PostgreSQLWriter+Claiming.swift, PostgreSQLWriter+Erasing.swift, PostgreSQLWriter+Keeping.swift,
// InternedNames.swift, StoredPartitions.swift

import Foundation
import LiveUpdates
import PostgreSQL
import TestHarness
import Testing

@testable import Archive

/// What is PostgreSQL's own: its tables and plans, and what several nodes do with one database.
@Suite(.enabled(if: PostgreSQLServer.isInstalled)) struct PostgreSQLArchiveTests {
    static func events(_ range: Range<Int>, account: String = "A") -> [ArchivedEvent] {
        range.map { .init(account, "incident", "I\($0 % 50)", "made", offset: Int64($0), stamp: 1000 + Int64($0)) }
    }

    static func open(
        _ uri: String, server: String = "S", milliseconds: UInt64 = TestStore.patientMilliseconds,
        idleMilliseconds: UInt64 = TestStore.idleMilliseconds, askMilliseconds: UInt64 = 5_000,
        moved: @escaping @Sendable (MarkMessage) -> Void = { _ in }
    ) async throws -> PostgreSQLArchive {
        try await PostgreSQLArchive.open(
            .init(
                uri: uri, server: server, readers: 1, milliseconds: milliseconds, idleMilliseconds: idleMilliseconds,
                askMilliseconds: askMilliseconds),
            moved: moved)
    }

    // MARK: - Tables

    @Test func `tables are made once, and those of another server or a newer Livegate are refused`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        // All at once, as the nodes of a fleet begin.
        let opened = try await withThrowingTaskGroup(of: PostgreSQLArchive.self) { group in
            for _ in 0..<4 { group.addTask { try await Self.open(uri) } }
            return try await group.reduce(into: [PostgreSQLArchive]()) { $0.append($1) }
        }
        _ = try await opened[0].append(.of(Self.events(0..<3)))
        #expect(try await opened[3].page(PageQuery("A")).events.count == 3)
        for store in opened { await store.close() }
        let refused = await TestStore.error { _ = try await Self.open(uri, server: "T") }
        #expect(refused == .otherServer(found: "S", wanted: "T"))
        let session = PostgreSQLServer.session(uri)
        try session.run { try $0.command("UPDATE livegate_schema SET version = 99") }
        let newer = await TestStore.error { _ = try await Self.open(uri) }
        #expect(newer == .otherSchema(found: 99, wanted: PostgreSQLSchema.version))
        try session.run { try $0.command("UPDATE livegate_schema SET version = \(PostgreSQLSchema.version)") }
        let again = try await Self.open(uri)
        #expect(try await again.positions().map(\.next) == [3])
        await again.close()
    }

    @Test func `a pool that gives each statement another session is refused`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let name = String(uri.split(separator: "/").last ?? "")
        try PostgreSQLServer.session(uri).run { connection in
            // As such a pool answers.
            try connection.command("CREATE SEQUENCE sessions")
            try connection.command(
                "CREATE FUNCTION pg_backend_pid() RETURNS int LANGUAGE sql AS $$SELECT nextval('public.sessions')::int$$"
            )
            try connection.command("ALTER DATABASE \(name) SET search_path = public, pg_catalog")
        }
        #expect(await TestStore.error { _ = try await Self.open(uri) } == .pooled)
        let tables = try PostgreSQLServer.session(uri).run {
            try $0.run("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'livegate%'").integer(0, 0)
        }
        #expect(tables == 0)
    }

    @Test func `tables of the first schema are moved on, with all that stands in them`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await Self.open(uri)
        _ = try await store.append(.of(Self.events(0..<3)))
        await store.close()
        let session = PostgreSQLServer.session(uri)
        try session.run { connection in
            try connection.command("DROP TABLE livegate_erasures, livegate_erasures_ahead")
            try connection.command("ALTER TABLE livegate_positions DROP COLUMN log")
            try connection.command("ALTER TABLE livegate_archive DROP COLUMN next_vacuum")
            try connection.command("UPDATE livegate_schema SET version = 1")
        }
        let moved = try await Self.open(uri)
        #expect(try await moved.page(PageQuery("A")).events.count == 3)
        // In which log nobody has noted.
        #expect(try await moved.positions() == [StoredPosition(topic: "t", partition: 0, next: 3)])
        #expect(try await moved.erase(Account("A"), until: .max).events == 3)
        await moved.close()
        let version = try session.run { try $0.run("SELECT version FROM livegate_schema").integer(0, 0) }
        #expect(version == PostgreSQLSchema.version)
    }

    @Test func `no statement that reads goes through a table`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await Self.open(uri)
        for account in 0..<20 {
            _ = try await store.append(.of(Self.events(0..<500, account: "A\(account)"), partition: Int32(account)))
            let id = ArchiveID(stamp: 1100, topic: 0, partition: 0, offset: 0, check: 0)
            for thing in 0..<20 {
                _ = try await store.mark(ReadMark("A\(account)", "P", ("incident", "I\(thing)"), upTo: id))
            }
        }
        await store.close()
        let session = PostgreSQLServer.session(uri)
        try session.run { connection in
            try connection.command("ANALYZE")
            try PostgreSQLSchema.prepare(connection, statementMilliseconds: 10_000)
            for (number, sql) in PostgreSQLQuery.all.enumerated() {
                try connection.command("PREPARE plan_\(number) AS \(sql)")
                let places = (1...9).filter { sql.contains("$\($0)") }
                let values = places.isEmpty ? "" : "(\(places.map { _ in "NULL" }.joined(separator: ", ")))"
                let rows = try connection.run("EXPLAIN EXECUTE plan_\(number)\(values)")
                for row in 0..<rows.count {
                    let step = rows.text(row, 0)
                    // A table of one row is read as a whole.
                    let isScan = step.contains("Seq Scan") && !step.contains("livegate_archive")
                    #expect(!isScan && !step.contains("Hash Join") && !step.contains("Merge Join"), "\(sql): \(step)")
                }
            }
        }
    }

    // MARK: - Several nodes

    private static let partitions = (0..<4).map { ArchivePartition(topic: "t", number: $0) }

    @Test func `a partition has one writer, and goes to another node when that one ends`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let (first, second) = (try await Self.open(uri), try await Self.open(uri))
        #expect(try await first.claim(Array(Self.partitions[..<2])).map(\.partition.number) == [0, 1])
        #expect(try await second.claim(Self.partitions).map(\.partition.number) == [2, 3])
        // What it has it keeps, and what it does not name it gives back.
        #expect(try await first.claim([Self.partitions[1]]).map(\.partition.number) == [1])
        _ = try await first.append(.of(Self.events(0..<5), partition: 1))
        #expect(try await second.claim(Self.partitions).map(\.partition.number) == [0, 2, 3])
        await first.close()
        let all = try await TestStore.value {
            try await second.claim(Self.partitions)
        } until: {
            $0.count == 4
        }
        #expect(all.map(\.next) == [nil, 5, nil, nil] && all[1].stamp == 1004)
        await second.close()
    }

    @Test func `two that write one partition, with sessions cut at any moment, leave each event once`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let total = 2_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    let store = try await Self.open(uri)
                    var random = SeededGenerator(seed: UInt64(writer))
                    while true {
                        // What it believes to be stored may be older than what is.
                        guard let next = try? await store.positions().first?.next ?? 0 else { continue }
                        guard next < Int64(total) else { break }
                        let end = min(total, Int(next) + 1 + random.below(40))
                        _ = try? await store.append(.of(Self.events(Int(next)..<end), from: next))
                    }
                    await store.close()
                }
            }
            group.addTask {
                let store = try await Self.open(uri)
                while await (try? store.positions().first?.next ?? 0) ?? 0 < Int64(total) {
                    try PostgreSQLServer.shared.cutSessions(of: uri)
                    try await Task.sleep(for: .milliseconds(20))
                }
                await store.close()
            }
            try await group.waitForAll()
        }
        let session = PostgreSQLServer.session(uri)
        try session.run { connection in
            let rows = try connection.run("SELECT count(*), count(DISTINCT key) FROM livegate_events")
            #expect(rows.integer(0, 0) == Int64(total) && rows.integer(0, 1) == Int64(total))
            #expect(try connection.run("SELECT count(*) FROM livegate_gaps").integer(0, 0) == 0)
        }
    }

    @Test func `of several nodes that erase one account, one counts`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let stores = [try await Self.open(uri), try await Self.open(uri), try await Self.open(uri)]
        _ = try await stores[0].append(.of(Self.events(0..<2_500)))
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for store in stores { group.addTask { try await store.erase(Account("A"), until: .max).events } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(counts.sorted() == [0, 0, 2_500])
        try await stores[1].overwrite()
        #expect(try await !stores[2].isToBeOverwritten())
        for store in stores { await store.close() }
    }
}
