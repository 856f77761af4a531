// Tests: ArchiveWriter+Erasing.swift, ArchiveWriter+Keeping.swift, SQLiteArchive.swift

import Foundation
import LiveUpdates
import TestHarness
import Testing

@testable import Archive
@testable import SQLite

/// What an erasure does beside those who write and read.
struct ErasingTests {
    private static func events(_ account: String, _ numbers: Range<Int64>) -> [ArchivedEvent] {
        numbers.map { number in
            ArchivedEvent(
                account, "entity-\(account)", "\(account)-\(number * 7 % 5000)", "made", offset: number, stamp: number,
                arrival: number % 3 == 0 ? number - 1 : number)
        }
    }

    /// A writer with an account's events, and its database.
    private static func withWriter(
        _ account: String, _ numbers: Range<Int64>, _ body: (ArchiveWriter, Database) throws -> Void
    ) throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let writer = try ArchiveWriter(path: folder.path("archive"), server: "S")
        _ = try writer.append(.of(events(account, numbers)))
        try body(writer, writer.database)
    }

    @Test func `a transaction of an erasure deletes no more than its rows, of whatever kind`() throws {
        try Self.withWriter("ERASED", 0..<2500) { writer, database in
            let (people, waiting) = (3500, ArchiveWriter.maximumWaitingMarks)
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(people))"
            let sql = [
                "INSERT INTO people \(numbers) SELECT i, 1, 'P' || i, x'00', 5 FROM n",
                // Two things that all have read; the last came before the time of its stamp.
                "INSERT INTO marks \(numbers) SELECT i, (SELECT min(id) + 1 FROM things), x'00', 5 FROM n",
                "INSERT INTO marks \(numbers) SELECT i, (SELECT max(id) FROM things), x'00', 5 FROM n",
                "INSERT INTO waiting SELECT 1, 'e', 'n' || id, id, x'00', 5 FROM people LIMIT \(waiting)",
                "INSERT INTO types \(numbers) SELECT 1, 100 + i, 'T' || i FROM n",
                "INSERT INTO streams \(numbers) SELECT 100 + i, 1, 'S' || i FROM n",
            ]
            for sql in sql { try database.execute(sql) }
            var counts = ErasureCounts()
            var changes: [Int64] = []
            var more = true
            while more {
                let before = try writer.first("SELECT total_changes()", []) ?? 0
                let step = try writer.erase(Account("ERASED"), until: .max)
                changes.append(try (writer.first("SELECT total_changes()", []) ?? 0) - before)
                counts.events += step.counts.events
                counts.marks += step.counts.marks
                more = step.more
            }
            // For an event at most four rows are written; and some say how far it is.
            #expect(changes.allSatisfy { $0 <= 4 * Int64(ArchiveWriter.rowsOfStep) + 10 }, "\(changes)")
            #expect(counts.events == 2500 && counts.marks == 3 * people + waiting)
            for table in [
                "accounts", "streams", "types", "things", "people", "waiting", "marks", "events", "history", "early",
            ] {
                #expect(try database.rows("SELECT count(*) FROM \(table)") == [[.integer(0)]], "\(table)")
            }
        }
    }

    @Test func `a transaction of a sweep deletes no more than its rows, of whatever kind`() throws {
        try Self.withWriter("A", 0..<1500) { writer, database in
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3500)"
            try database.execute("INSERT INTO people \(numbers) SELECT i, 1, 'P' || i, x'00', 5 FROM n")
            try database.execute("INSERT INTO marks \(numbers) SELECT i, (SELECT max(id) FROM things), x'00', 5 FROM n")
            try writer.keep(from: 10_000)
            var changes: [Int64] = []
            var more = true
            while more {
                let before = try writer.first("SELECT total_changes()", []) ?? 0
                more = try writer.sweep()
                changes.append(try (writer.first("SELECT total_changes()", []) ?? 0) - before)
            }
            #expect(changes.allSatisfy { $0 <= 4 * Int64(ArchiveWriter.rowsOfStep) + 10 }, "\(changes)")
            for table in ["accounts", "streams", "types", "things", "people", "marks", "events", "history", "early"] {
                #expect(try database.rows("SELECT count(*) FROM \(table)") == [[.integer(0)]], "\(table)")
            }
        }
    }

    // MARK: - Bytes

    /// Writes texts into the space of each page that belongs to no row, as rows leave them there that were moved.
    private static func plant(_ text: String, in path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        let size = ArchiveSchema.pageBytes
        for start in stride(from: 0, to: data.count, by: size) {
            let page = Array(data[start..<start + size])
            guard let space = CleanPages.unallocated(page.span, isFirst: start == 0), space.count > text.utf8.count
            else {
                continue
            }
            data.replaceSubrange(start + space.lowerBound..<start + space.lowerBound + text.utf8.count, with: text.utf8)
        }
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test func `what an older version has left in pages is overwritten where it is, also after a crash`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let store = try await SQLiteArchive.open(path: path, server: "S")
        _ = try await store.append(.of(Self.events("OTHER", 0..<9000)))
        await store.close()
        try Self.plant("ERASED", in: path)
        #expect(try TestStore.files(of: path, contain: "ERASED"))
        do {
            let database = try Database(path: path, cleansPages: true)
            try database.execute("UPDATE archive SET to_overwrite = 1")
            // A process that ended in the middle.
            #expect(try database.cleanPages(from: 0) == Database.pagesOfStep)
        }
        let again = try await SQLiteArchive.open(path: path, server: "S")
        let database = try Database(path: path, cleansPages: true)
        let roots = try database.rows("SELECT name, rootpage FROM sqlite_master ORDER BY name")
        #expect(try await again.isToBeOverwritten())
        try await again.overwrite()
        #expect(try await !again.isToBeOverwritten())
        #expect(try !TestStore.files(of: path, contain: "ERASED"))
        // No table was written again.
        #expect(try database.rows("SELECT name, rootpage FROM sqlite_master ORDER BY name") == roots)
        #expect(try database.rows("PRAGMA integrity_check") == [[.text("ok")]])
        #expect(try await again.size().rows == 9000)
        await again.close()
    }

    /// One that knows nothing of clean pages makes a checkpoint while an erasure waits, or opens the file after a crash.
    @Test func `what another program has written into the file meanwhile is overwritten too`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        var store = try await SQLiteArchive.open(path: path, server: "S", readers: 1)
        _ = try await store.append(.of(Self.events("OTHER", 0..<4000)))
        /// Somebody reads while an account is erased.
        func eraseBesideReader(_ store: SQLiteArchive, _ body: () throws -> Void) async throws {
            let reader = try Database(path: path)
            try reader.execute("BEGIN")
            _ = try reader.rows("SELECT count(*) FROM events")
            _ = try await store.erase(Account("ERASED"), until: .max)
            #expect(await TestStore.error { try await store.overwrite() } == .stillRead)
            try body()
            try reader.execute("COMMIT")
        }
        try await eraseBesideReader(store) { try Self.plant("CHECKPOINT", in: path) }
        #expect(try TestStore.files(of: path, contain: "CHECKPOINT"))
        try await store.overwrite()
        #expect(try !TestStore.files(of: path, contain: "CHECKPOINT"))
        _ = try await store.append(.of(Self.events("ERASED", 0..<10), partition: 1))
        let copy = folder.path("copy")
        try await eraseBesideReader(store) {
            for ending in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + ending, toPath: copy + ending)
            }
        }
        await store.close()
        #expect(try Database(path: copy).rows("SELECT count(*) FROM events") == [[.integer(4000)]])
        try Self.plant("CRASH", in: copy)
        store = try await SQLiteArchive.open(path: copy, server: "S", readers: 1)
        try await store.overwrite()
        #expect(try !TestStore.files(of: copy, contain: "CRASH"))
        await store.close()
    }

    @Test func `what is written after an erasure brings nothing of it back`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1)
        _ = try await store.append(.of(Self.events("ERASED", 0..<4000), partition: 0))
        _ = try await store.append(.of(Self.events("OTHER", 0..<4000), partition: 1))
        #expect(try await store.erase(Account("ERASED"), until: .max).events == 4000)
        try await store.overwrite()
        #expect(try !TestStore.files(of: path, contain: "ERASED"))
        for start in stride(from: Int64(4000), to: 8000, by: 500) {
            _ = try await store.append(.of(Self.events("OTHER", start..<start + 500), partition: 1, from: start))
            #expect(try !TestStore.files(of: path, contain: "ERASED"))
        }
        await store.close()
        #expect(try !TestStore.files(of: path, contain: "ERASED"))
    }
}
