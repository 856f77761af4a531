// Tests: SQLiteArchive.swift, ArchiveSchema.swift, ArchiveQuery.swift, ArchiveWriter+Positions.swift

import Foundation
import LiveUpdates
import SQLite
import TestHarness
import Testing

@testable import Archive

/// What is SQLite's own: the file, its plans, its bytes, and what happens to it.
struct SQLiteArchiveTests {
    private static func withFile(_ body: (String) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        try await body(folder.path("archive"))
    }

    private static func events(_ count: Int, account: String = "A") -> [ArchivedEvent] {
        (0..<count).map {
            .init(account, "incident", "I\($0 % 50)", "made", offset: Int64($0), stamp: 1000 + Int64($0))
        }
    }

    // MARK: - Plans

    /// Tables of one row, or of one row for each partition, are read as a whole.
    private static let scanned: Set<String> = ["SCAN archive", "SCAN positions"]

    @Test func `no statement that reads goes through a table or sorts`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            await store.close()
            let database = try Database(path: path)
            #expect(ArchiveQuery.all.count > 15)
            for sql in ArchiveQuery.all {
                let values = [SQLValue](repeating: .null, count: sql.count { $0 == "?" })
                for row in try database.rows("EXPLAIN QUERY PLAN " + sql, values) {
                    guard case .text(let step) = row[3] else { continue }
                    let isScan = step.hasPrefix("SCAN") && !Self.scanned.contains(step) && !step.hasPrefix("SCAN (sub")
                    #expect(!isScan && !step.contains("TEMP B-TREE") && !step.contains("AUTOMATIC"), "\(sql): \(step)")
                }
            }
        }
    }

    // MARK: - What it holds

    @Test func `rows are counted as they come and go, and partitions say where they go on`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            func rows() async throws -> Int64 { try await store.size().rows }
            #expect(try await rows() == 0)
            _ = try await store.append(.of(Self.events(100)))
            _ = try await store.append(.of(Self.events(100)))
            _ = try await store.append(.of(Self.events(10, account: "B"), partition: 1))
            #expect(try await rows() == 110)
            try await store.keep(from: 1050)
            try await TestStore.sweep(store)
            #expect(try await rows() == 50)
            _ = try await store.erase(Account("A"), until: 1060)
            #expect(try await rows() == 40)
            let partitions = [ArchivePartition(topic: "t", number: 1), ArchivePartition(topic: "t", number: 7)]
            #expect(
                try await store.claim(partitions) == [
                    ClaimedPartition(partitions[0], next: 10, stamp: 1009), ClaimedPartition(partitions[1], next: nil),
                ])
            let size = try await store.size()
            await store.close()
            let database = try Database(path: path)
            #expect(try database.rows("SELECT count(*) FROM events") == [[.integer(size.rows)]])
            let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
            #expect(bytes.map { $0 <= size.bytes } == true)
        }
    }

    // MARK: - Whose a file is

    @Test func `a file of another server or schema, or of somebody else, is refused and not changed`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            _ = try await store.append(.of(Self.events(3)))
            await store.close()
            let refused = await TestStore.error { _ = try await SQLiteArchive.open(path: path, server: "T") }
            #expect(refused == .otherServer(found: "S", wanted: "T"))
            let same = try await SQLiteArchive.open(path: path, server: "S")
            #expect(try await same.page(PageQuery("A")).events.count == 3)
            await same.close()
            do {
                let database = try Database(path: path)
                try database.execute("PRAGMA user_version = 99")
            }
            let newer = await TestStore.error { _ = try await SQLiteArchive.open(path: path, server: "S") }
            #expect(newer == .otherSchema(found: 99, wanted: ArchiveSchema.version))
            try Database.remove(path: path)
            do {
                let database = try Database(path: path)
                try database.execute("CREATE TABLE mine (a TEXT)")
            }
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let foreign = await TestStore.error { _ = try await SQLiteArchive.open(path: path, server: "S") }
            #expect(foreign == .notAnArchive(path))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test func `a file in which bytes were changed says so, ends, and is set aside`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            _ = try await store.append(.of(Self.events(3000)))
            await store.close()
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            var corrupt = 0
            // Always the same places: how many of them SQLite notices is no matter of chance.
            var random = SeededGenerator(seed: 1)
            for round in 0..<40 {
                var damaged = whole
                // The header in the first round, later a run of bytes anywhere.
                let start = round == 0 ? 0 : random.below(whole.count - 600)
                for index in start..<(start + (round == 0 ? 16 : 600)) { damaged[index] = UInt8(random.below(256)) }
                try damaged.write(to: URL(fileURLWithPath: path))
                let error = await TestStore.error { try await Self.readAll(path) }
                if case .corrupt = error { corrupt += 1 }
                if round == 0 { #expect(corrupt == 1) }
                try Database.remove(path: path)
            }
            // Where numbers or free space were hit, a file may still be one.
            #expect(corrupt > 5, "\(corrupt) of 40")
            try whole.write(to: URL(fileURLWithPath: path))
            let other = try SQLiteArchive.setAside(path: path, moment: 17)
            #expect(other == path + ".damaged-17" && FileManager.default.fileExists(atPath: other))
            let fresh = try await SQLiteArchive.open(path: path, server: "S")
            #expect(try await fresh.positions() == [])
            await fresh.close()
        }
    }

    private static func readAll(_ path: String) async throws {
        let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1)
        do {
            for thing in [nil, "I7"] {
                for isOldestFirst in [false, true] {
                    var query = PageQuery("A")
                    query.thing = thing
                    query.entities = thing.flatMap { _ in EntityFilter(["incident"]) }
                    query.isOldestFirst = isOldestFirst
                    query.limit = 500
                    // A damaged file may say that there is always more.
                    for _ in 0..<10 {
                        let page = try await store.page(query)
                        guard let last = page.events.last?.id, page.more else { break }
                        if isOldestFirst { query.after = last } else { query.before = last }
                    }
                }
            }
            _ = try await store.inbox(InboxQuery("A", "P"))
            await store.close()
        } catch {
            await store.close()
            throw error
        }
    }

    // MARK: - Trouble

    @Test func `a read mark is on the disk when it is answered, and events need not be`() async throws {
        try await Self.withFile { path in
            let writer = try ArchiveWriter(path: path, server: "S")
            _ = try writer.append(.of(Self.events(1)))
            let id = try #require(try ArchiveReader(path: path).page(PageQuery("A")).events.first).id
            try writer.database.execute("CREATE TEMP TABLE seen (level)")
            try writer.database.execute(
                """
                CREATE TEMP TRIGGER look AFTER UPDATE ON people BEGIN
                INSERT INTO seen SELECT synchronous FROM pragma_synchronous; END
                """)
            #expect(try writer.mark(ReadMark("A", "P", nil, upTo: id)) == .moved)
            // 2 is FULL, 1 is NORMAL.
            #expect(try writer.database.rows("SELECT level FROM seen") == [[.integer(2)]])
            #expect(try writer.database.rows("PRAGMA synchronous") == [[.integer(1)]])
        }
    }

    @Test func `what does not fit is refused whole, and goes on where it was`() async throws {
        try await Self.withFile { path in
            let writer = try ArchiveWriter(path: path, server: "S")
            _ = try writer.append(.of(Self.events(10)))
            let pages = try writer.first("PRAGMA page_count", []) ?? 0
            _ = try writer.database.rows("PRAGMA max_page_count = \(pages + 2)")
            let many = Self.events(5000)
            let full = await TestStore.error {
                do { _ = try writer.append(.of(many)) } catch { throw ArchiveError(error) }
            }
            #expect(full == .full)
            let reader = try ArchiveReader(path: path)
            #expect(try reader.page(PageQuery("A") { $0.limit = 500 }).events.count == 10)
            _ = try writer.database.rows("PRAGMA max_page_count = 1000000")
            #expect(try writer.append(.of(many)).stored == 4990)
            #expect(try reader.positions.map(\.next) == [5000])
        }
    }

    @Test func `an erasure goes in steps of so many rows, between which others have their turn`() async throws {
        try await Self.withFile { path in
            let writer = try ArchiveWriter(path: path, server: "S")
            let count = ArchiveWriter.rowsOfStep * 5 / 2
            _ = try writer.append(.of(Self.events(count)))
            var steps: [Int] = []
            var more = true
            while more {
                let step = try writer.erase(Account("A"), until: .max / 8)
                steps.append(step.counts.events)
                more = step.more
            }
            // A few milliseconds each: the promise for whoever waits meanwhile is fifty.
            #expect(ArchiveWriter.rowsOfStep == 1_000 && steps == [1_000, 1_000, 500])
        }
    }

    @Test func `what it knows is forgotten when it is too much, and looked up again`() async throws {
        try await Self.withFile { path in
            let writer = try ArchiveWriter(path: path, server: "S", maximumKnown: 3)
            // Each row: the account and the thing of the next event, and how many things and words are known then.
            let rows = [
                ("A", "1", 1, 3), ("A", "2", 2, 3), ("A", "3", 3, 3), ("A", "1", 3, 3), ("A", "4", 4, 3),
                // Four things were too many, three words not; six words are.
                ("B", "1", 1, 6), ("B", "1", 1, 3), ("A", "2", 2, 6), ("A", "4", 1, 3),
            ]
            for (offset, row) in rows.enumerated() {
                let event = ArchivedEvent(
                    row.0, "note", row.1, "made", offset: Int64(offset), stamp: 1000 + Int64(offset))
                #expect(try writer.append(.of([event], from: Int64(offset))).stored == 1)
                let words = writer.accounts.count + writer.streams.count + writer.types.count
                #expect(writer.things.count == row.2 && words == row.3, "after \(offset + 1) events")
            }
            let inbox = try ArchiveReader(path: path).inbox(InboxQuery("A", "P"))
            #expect(inbox.texts == ["4 2", "2 2", "1 2", "3 1"])
        }
    }

    @Test func `a closed archive says so, and too many who wait are refused`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            let outcomes = await withTaskGroup(of: ArchiveError?.self) { group in
                for _ in 0..<5000 {
                    group.addTask { await TestStore.error { _ = try await store.page(PageQuery("A")) } }
                }
                return await group.reduce(into: [ArchiveError?]()) { $0.append($1) }
            }
            let refusal = ArchiveError.overloaded(maximumWaiting: SQLiteArchive.maximumWaiting)
            #expect(outcomes.allSatisfy { $0 == nil || $0 == refusal } && outcomes.contains(nil))
            await store.close()
            #expect(await TestStore.error { _ = try await store.page(PageQuery("A")) } == .closed)
            #expect(await TestStore.error { _ = try await store.append(.of([])) } == .closed)
        }
    }

    // MARK: - Bytes

    @Test func `an erased account has no byte left, whoever reads at that moment delays it and is not disturbed`()
        async throws
    {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1)
            // So many that rows were moved between pages.
            for account in ["ERASED", "OTHER"] {
                for part in 0..<4 {
                    let events = (0..<1000).map { number in
                        ArchivedEvent(
                            account, "entity-\(account)", "\(account)-\(number * 7 % 1000)", "type-\(account)",
                            offset: Int64(part * 1000 + number), stamp: Int64(number))
                    }
                    let partition: Int32 = account == "ERASED" ? 0 : 1
                    _ = try await store.append(.of(events, partition: partition, from: Int64(part * 1000)))
                }
                let id = ArchiveID(stamp: 5, topic: 0, partition: 0, offset: 0, check: 0)
                for thing in 0..<20 {
                    _ = try await store.mark(
                        ReadMark(account, "\(account)-PERSON", ("entity-\(account)", "\(account)-\(thing)"), upTo: id))
                }
                _ = try await store.mark(ReadMark(account, "\(account)-PERSON", ("none", "\(account)-NONE"), upTo: id))
            }
            #expect(try TestStore.files(of: path, contain: "ERASED"))
            let reader = try Database(path: path)
            try reader.execute("BEGIN")
            let before = try reader.rows("SELECT count(*) FROM events")
            #expect(try await store.erase(Account("ERASED"), until: .max).events == 4000)
            #expect(await TestStore.error { try await store.overwrite() } == .stillRead)
            #expect(try reader.rows("SELECT count(*) FROM events") == before)
            try reader.execute("COMMIT")
            #expect(try await store.isToBeOverwritten())
            try await store.overwrite()
            #expect(try await !store.isToBeOverwritten())
            #expect(try !TestStore.files(of: path, contain: "ERASED"))
            #expect(try await store.page(PageQuery("OTHER") { $0.limit = 500 }).events.count == 500)
            #expect(try reader.rows("PRAGMA integrity_check") == [[.text("ok")]])
            await store.close()
        }
    }

    @Test func `a file of the first schema is moved on, with all that stands in it`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            _ = try await store.append(.of(Self.events(3)))
            await store.close()
            do {
                let database = try Database(path: path)
                for table in ["erasures", "erasures_ahead"] { try database.execute("DROP TABLE \(table)") }
                try database.execute("ALTER TABLE positions DROP COLUMN log")
                try database.execute("PRAGMA user_version = 1")
            }
            let moved = try await SQLiteArchive.open(path: path, server: "S")
            #expect(try await moved.page(PageQuery("A")).events.count == 3)
            // In which log nobody has noted.
            #expect(try await moved.positions() == [StoredPosition(topic: "t", partition: 0, next: 3)])
            #expect(try await moved.erase(Account("A"), until: .max).events == 3)
            await moved.close()
            let database = try Database(path: path)
            #expect(try database.rows("PRAGMA user_version") == [[.integer(ArchiveSchema.version)]])
            try database.execute("PRAGMA user_version = 0")
            let none = await TestStore.error { _ = try await SQLiteArchive.open(path: path, server: "S") }
            #expect(none == .otherSchema(found: 0, wanted: ArchiveSchema.version))
        }
    }

    @Test func `a file that was not overwritten when its process ended is remembered`() async throws {
        try await Self.withFile { path in
            let store = try await SQLiteArchive.open(path: path, server: "S")
            _ = try await store.append(.of(Self.events(10, account: "ERASED")))
            _ = try await store.erase(Account("ERASED"), until: .max)
            await store.close()
            let again = try await SQLiteArchive.open(path: path, server: "S")
            #expect(try await again.isToBeOverwritten())
            try await again.overwrite()
            #expect(try await !again.isToBeOverwritten())
            #expect(try !TestStore.files(of: path, contain: "ERASED"))
            await again.close()
        }
    }
}
