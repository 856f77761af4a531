// Tests: ArchiveLog.swift

import LiveUpdates
import SQLite
import TestHarness
import Testing

@testable import Archive

/// How long the log beside an archive's file becomes, whoever reads.
struct ArchiveLogTests {
    @Test func `a log is written into the file beside the writer, waited for where it is long, and cut where it stays`()
    {
        let limits = LogLimits(checkpoint: 10, wait: 20, cut: 30)
        // Each row: bytes, whether a checkpoint is being made, what is to be done.
        let rows: [(Int, Bool, LogLimits.Step)] = [
            (0, false, .none), (10, false, .none), (11, false, .checkpoint), (11, true, .none), (20, true, .none),
            (20, false, .checkpoint), (21, false, .wait), (21, true, .wait), (30, false, .wait), (31, false, .cut),
            (31, true, .cut),
        ]
        for row in rows { #expect(limits.step(row.0, isCheckpointing: row.1) == row.2, "\(row)") }
    }

    private static let limits = LogLimits(checkpoint: 1 << 20, wait: 2 << 20, cut: 4 << 20)
    private static let batch = 500

    /// Appends the next batch, and returns how long the log's file is then.
    private static func append(_ number: Int, to store: SQLiteArchive, _ path: String) async throws -> Int {
        let events = (number * batch..<(number + 1) * batch).map { offset in
            // Things in no order, so that each batch comes to many pages.
            ArchivedEvent(
                "A\(offset * 7919 % 50)", "note", "N\(offset * 7919 % 20_011)", "made", offset: Int64(offset),
                stamp: 1000 + Int64(offset))
        }
        let outcome = try await store.append(.of(events, from: Int64(number * batch)))
        #expect(outcome.stored == batch)
        return try Database(path: path).logBytes
    }

    @Test func `batch behind batch, the log is no longer than its limit and one transaction`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1, Self.limits)
        var longest = 0
        for number in 0..<60 { longest = max(longest, try await Self.append(number, to: store, path)) }
        // A transaction writes some 300 pages; without checkpoints there would be some 90 MB.
        #expect(longest > Self.limits.checkpoint && longest < Self.limits.wait + (4 << 20))
        #expect(try await store.size().rows == Int64(60 * Self.batch))
        await store.close()
        // Whoever closes last leaves no log.
        let database = try Database(path: path)
        #expect(database.logBytes == 0)
        #expect(try database.rows("PRAGMA integrity_check") == [[.text("ok")]])
    }

    @Test func `a log that somebody reads all the time is cut when nobody does`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1, Self.limits)
        _ = try await Self.append(0, to: store, path)
        let reader = try Database(path: path)
        try reader.execute("BEGIN")
        let before = try reader.rows("SELECT count(*) FROM events")
        var number = 1
        while try await Self.append(number, to: store, path) <= 2 * Self.limits.cut { number += 1 }
        #expect(try reader.rows("SELECT count(*) FROM events") == before)
        try reader.execute("COMMIT")
        let length = try await Self.append(number + 1, to: store, path)
        #expect(length == 0, "cut, not only begun again")
        #expect(try await store.size().rows == Int64((number + 2) * Self.batch))
        await store.close()
    }

    @Test func `what is erased is overwritten at once, though the log is being written into the file`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let limits = LogLimits(checkpoint: 64 << 10, wait: 64 << 20, cut: 128 << 20)
        let store = try await SQLiteArchive.open(path: path, server: "S", readers: 1, limits)
        for number in 0..<20 {
            #expect(try await Self.append(number, to: store, path) > limits.checkpoint)
            #expect(try await store.erase(Account("A\(number)"), until: .max).events > 0)
            try await store.overwrite()
            #expect(try await !store.isToBeOverwritten())
        }
        await store.close()
        #expect(try Database(path: path).rows("PRAGMA integrity_check") == [[.text("ok")]])
    }
}
