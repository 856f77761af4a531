// Tests: CleanPages.swift

import Foundation
import Testing

@testable import SQLite

/// What is left of deleted rows in the pages of a file.
struct CleanPagesTests {
    /// A page of 512 bytes that begins with these.
    private static func page(_ header: [UInt8], behind count: Int = 0) -> [UInt8] {
        let start = [UInt8](repeating: 7, count: count) + header
        return start + [UInt8](repeating: 7, count: 512 - start.count)
    }

    /// Each row: the kind of the page, its cells, where their content begins, and the bytes between.
    static let pages: [(kind: UInt8, cells: UInt8, content: (UInt8, UInt8), space: Range<Int>?)] = [
        (13, 0, (2, 0), 8..<512), (13, 3, (1, 0), 14..<256), (10, 3, (1, 0), 14..<256), (2, 3, (1, 0), 18..<256),
        (2, 3, (0, 18), 18..<18),
        // Damaged: the content begins in the pointers, or behind the page.
        (2, 3, (0, 17), nil), (13, 0, (2, 1), nil), (13, 0, (0, 0), nil),
        // Without texts: above the pages of a table's rows, and those of auto-vacuum, which begin with a 5 or a 2 too.
        (5, 3, (1, 0), nil), (5, 1, (5, 0), nil), (2, 0, (1, 0), nil),
        // Free pages, and those with numbers of free pages.
        (0, 0, (1, 0), nil), (1, 3, (1, 0), nil), (3, 3, (1, 0), nil),
    ]

    @Test(arguments: pages) func `a page has its rows behind the space that belongs to none`(
        _ row: (kind: UInt8, cells: UInt8, content: (UInt8, UInt8), space: Range<Int>?)
    ) {
        let header: [UInt8] = [row.kind, 0, 0, 0, row.cells, row.content.0, row.content.1, 0]
        #expect(CleanPages.unallocated(Self.page(header).span, isFirst: false) == row.space)
        #expect(CleanPages.unallocated(Array(Self.page(header).dropLast()).span, isFirst: false) == nil)
        guard let space = row.space, space.count > 100 else { return }
        let first = CleanPages.unallocated(Self.page(header, behind: 100).span, isFirst: true)
        #expect(first == space.lowerBound + 100..<space.upperBound)
    }

    /// Fills a file with rows in no order, so that they are moved between pages, and deletes a half of them.
    private static func fill(_ path: String, cleansPages: Bool) throws {
        let database = try Database(path: path, cleansPages: cleansPages)
        for pragma in ["journal_mode = WAL", "secure_delete = ON", "wal_autocheckpoint = 0"] {
            _ = try database.rows("PRAGMA \(pragma)")
        }
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        try database.execute("CREATE UNIQUE INDEX t_name ON t (name)")
        try database.transaction {
            for number in 0..<8000 {
                let name = "\(number * 7919 % 8000)-\(number % 2 == 0 ? "DELETED" : "KEPT")"
                try database.run("INSERT INTO t VALUES (?, ?)", [.integer(Int64(number * 31 % 8009)), .text(name)])
            }
        }
        #expect(try database.cutLog(waitingMilliseconds: 0))
        try database.execute("DELETE FROM t WHERE name LIKE '%DELETED'")
        #expect(try database.cutLog(waitingMilliseconds: 0))
    }

    private static func contains(_ text: String, _ path: String) throws -> Bool {
        for file in [path, path + "-wal"] where FileManager.default.fileExists(atPath: file) {
            if try Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    @Test func `a file has no byte of what was deleted, or none when its pages were cleaned in steps`() throws {
        for cleansPages in [true, false] {
            let path = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
            defer { try? Database.remove(path: path) }
            try Self.fill(path, cleansPages: cleansPages)
            #expect(try Self.contains("KEPT", path))
            #expect(try Self.contains("DELETED", path) == !cleansPages)
            let database = try Database(path: path, cleansPages: true)
            let rows = try database.rows("SELECT count(*), sum(id) FROM t")
            var steps: [Int] = []
            while let next = try database.cleanPages(from: steps.last ?? 0) { steps.append(next) }
            #expect(!steps.isEmpty && steps.indices.allSatisfy { steps[$0] == ($0 + 1) * Database.pagesOfStep })
            #expect(try !Self.contains("DELETED", path))
            #expect(try database.rows("SELECT count(*), sum(id) FROM t") == rows)
            #expect(try database.rows("PRAGMA integrity_check") == [[.text("ok")]])
        }
    }

    @Test func `a page that is read and changed brings nothing of what was deleted into the log`() throws {
        for cleansPages in [true, false] {
            let path = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
            defer { try? Database.remove(path: path) }
            try Self.fill(path, cleansPages: false)
            let database = try Database(path: path, cleansPages: cleansPages)
            // In each page of the table and of its index.
            try database.execute("UPDATE t SET id = -1 - id, name = substr(name, 1, length(name) - 1) || 'P'")
            #expect(try Self.contains("DELETED", path))
            #expect(try Self.contains("DELETED", path + "-wal") == !cleansPages)
        }
    }

    @Test func `pages are not cleaned while another connection makes a checkpoint`() throws {
        let path = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
        defer { try? Database.remove(path: path) }
        try Self.fill(path, cleansPages: true)
        let (one, other) = (try Database(path: path, cleansPages: true), try Database(path: path, cleansPages: true))
        for database in [one, other] { _ = try database.rows("SELECT 1 FROM t LIMIT 1") }
        let code = try unsafe one.holdingCheckpoints { _, _ in Self.code { try other.cleanPages(from: 0) } }
        // SQLITE_BUSY
        #expect(code == 5)
        #expect(Self.code { try other.cleanPages(from: 0) } == nil)
    }

    private static func code(_ body: () throws -> Int?) -> Int32? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? SQLiteError)?.code
        }
    }
}
