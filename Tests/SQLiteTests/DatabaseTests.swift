// Tests: Database.swift, Statement.swift, PreparedStatement.swift, DatabaseThread.swift
import Foundation
import Testing

@testable import SQLite

struct DatabaseTests {
    /// A database in a file of its own.
    private static func withDatabase(_ body: (Database, String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
        defer { try? Database.remove(path: path) }
        try body(Database(path: path), path)
    }

    private static func error(_ body: () throws -> Void) -> SQLiteError? {
        do {
            try body()
            return nil
        } catch {
            return error as? SQLiteError
        }
    }

    @Test func `values come back as they were given`() throws {
        let values: [SQLValue] = [
            .null, .integer(.min), .integer(.max), .real(0.5), .text(""), .text("ü\u{0}z"), .blob([]), .blob([0, 255]),
        ]
        try Self.withDatabase { database, _ in
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, v ANY) STRICT")
            for (index, value) in values.enumerated() {
                try database.execute("INSERT INTO t VALUES (?, ?)", [.integer(Int64(index)), value])
            }
            #expect(try database.rows("SELECT v FROM t ORDER BY n").map { $0[0] } == values)
        }
    }

    @Test func `an error has SQLite's code, its message and the statement`() throws {
        try Self.withDatabase { database, path in
            let syntax = Self.error { try database.execute("SELEC 1") }
            #expect(syntax == SQLiteError(code: 1, message: "near \"SELEC\": syntax error", statement: "SELEC 1"))
            try database.execute("CREATE TABLE t (a TEXT UNIQUE)")
            try database.execute("INSERT INTO t VALUES ('x')")
            // SQLITE_CONSTRAINT_UNIQUE
            let twice = Self.error { try database.execute("INSERT INTO t VALUES ('x')") }
            #expect(twice?.code == 2067)
            for (sql, message) in [
                ("SELECT 1; SELECT 2", "more than one statement"), ("  ", "no statement"),
                ("SELECT ?", "0 values for 1 parameters"),
            ] {
                let found = Self.error { try database.execute(sql) }
                #expect(found?.message == message)
            }
            let tooMany = Self.error { try database.execute("SELECT 1", [.null]) }
            #expect(tooMany?.code == 25)
        }
        let nowhere = Self.error { _ = try Database(path: "/nowhere/at/all") }
        #expect(nowhere?.description.contains("cannot open") == true)
    }

    @Test func `rows have a limit`() throws {
        try Self.withDatabase { database, _ in
            let sql = "SELECT 1 UNION ALL SELECT 2"
            let both = try database.rows(sql, maximumRows: 2)
            #expect(both.count == 2)
            let tooMany = Self.error { _ = try database.rows(sql, maximumRows: 1) }
            #expect(tooMany?.code == 18)
        }
    }

    @Test func `what throws leaves the file as it was`() throws {
        struct Stop: Error {}
        try Self.withDatabase { database, path in
            try database.execute("CREATE TABLE t (a)")
            #expect(throws: Stop.self) {
                try database.transaction {
                    try database.execute("INSERT INTO t VALUES (1)")
                    throw Stop()
                }
            }
            #expect(try database.rows("SELECT a FROM t").isEmpty)
            #expect(try database.transaction { try database.rows("SELECT 7") } == [[.integer(7)]])
            // Whoever else opens the file sees what was committed.
            try database.transaction { try database.execute("INSERT INTO t VALUES (2)") }
            #expect(try Database(path: path).rows("SELECT a FROM t") == [[.integer(2)]])
        }
    }

    @Test func `calls of a database that is bound to a thread run on it, one after another`() async throws {
        let path = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
        defer { try? Database.remove(path: path) }
        let database = try ThreadBound<Database>()
        #expect(try await database.run { _ in 1 } == nil)
        try await database.open {
            let opened = try Database(path: path)
            try opened.execute("CREATE TABLE t (a)")
            return opened
        }
        let threads = try await withThrowingTaskGroup(of: UInt?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await database.run { database in
                        try database.transaction { try database.execute("INSERT INTO t VALUES (1)") }
                        return UInt(pthread_self())
                    }
                }
            }
            return try await group.reduce(into: Set<UInt?>()) { $0.insert($1) }
        }
        #expect(threads.count == 1 && !threads.contains(UInt(pthread_self())))
        #expect(try await database.run { try $0.rows("SELECT count(*) FROM t") } == [[.integer(200)]])
        await database.close()
        #expect(try await database.run { _ in 1 } == nil)
    }

    // MARK: - Statements that are prepared once

    @Test func `a prepared statement is run again with other values, also after it was refused`() throws {
        try Self.withDatabase { database, _ in
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, v ANY) STRICT")
            let values: [SQLValue] = [
                .null, .integer(.min), .real(0.5), .text(""), .text("ü\u{0}z"), .blob([]), .blob([0, 255]),
            ]
            for (index, value) in values.enumerated() {
                let changed = try database.run("INSERT INTO t VALUES (?, ?)", [.integer(Int64(index)), value])
                #expect(changed == 1 && database.lastRow == index)
            }
            #expect(try database.rows("SELECT v FROM t ORDER BY n").map { $0[0] } == values)
            let twice = Self.error { try database.run("INSERT INTO t VALUES (?, ?)", [.integer(0), .null]) }
            // SQLITE_CONSTRAINT_PRIMARYKEY
            #expect(twice?.code == 1555)
            #expect(try database.run("INSERT INTO t VALUES (?, ?)", [.integer(100), .text("x")]) == 1)
            let tooMany = Self.error { try database.run("DELETE FROM t WHERE n = ?", [.integer(1), .integer(2)]) }
            // SQLITE_RANGE
            #expect(tooMany?.code == 25)
            #expect(try database.run("DELETE FROM t WHERE n = ?", [.integer(100)]) == 1)
            #expect(Self.error { try database.run("SELEC") }?.code == 1)
        }
    }

    @Test func `rows are given one by one, until enough were read`() throws {
        try Self.withDatabase { database, _ in
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, a TEXT, b BLOB)")
            for number in 1...5 {
                try database.run(
                    "INSERT INTO t VALUES (?, ?, ?)",
                    [.integer(Int64(number)), .text("t\(number)"), number == 2 ? .null : .blob([UInt8(number)])])
            }
            var rows: [String] = []
            try database.each("SELECT n, a, b FROM t WHERE n > ?", [.integer(1)]) { row in
                rows.append("\(row.integer(0)) \(row.text(1)) \(row.blob(2)) \(row.isNull(2))")
                return rows.count < 2
            }
            #expect(rows == ["2 t2 [] true", "3 t3 [3] false"])
            // It is not left in the middle: another writer is not kept out.
            try database.transaction { try database.execute("DELETE FROM t") }
        }
    }

    @Test func `a snapshot stays as it was while another one writes, and keeps the log from being cut`() throws {
        try Self.withDatabase { database, path in
            _ = try database.rows("PRAGMA journal_mode = WAL")
            try database.execute("CREATE TABLE t (n INTEGER)")
            let reader = try Database(path: path)
            try reader.snapshot {
                #expect(try reader.rows("SELECT count(*) FROM t") == [[.integer(0)]])
                try database.execute("INSERT INTO t VALUES (1)")
                #expect(try reader.rows("SELECT count(*) FROM t") == [[.integer(0)]])
                #expect(try !database.cutLog(waitingMilliseconds: 1) && database.logBytes > 0)
            }
            #expect(try reader.rows("SELECT count(*) FROM t") == [[.integer(1)]])
            #expect(try database.cutLog(waitingMilliseconds: 60_000) && database.logBytes == 0)
        }
    }

    @Test func `the log's pages are counted at each commit, and a checkpoint beside the writer lets it begin again`()
        throws
    {
        try Self.withDatabase { database, path in
            _ = try database.rows("PRAGMA journal_mode = WAL")
            database.countLogPages()
            try database.execute("CREATE TABLE t (n INTEGER)")
            var counts = [database.logPages.count]
            let other = try Database(path: path)
            let reader = try Database(path: path)
            func insert() throws {
                try database.execute("INSERT INTO t VALUES (1)")
                counts.append(database.logPages.count)
            }
            try insert()
            #expect(counts[0] > 0 && counts[1] == counts[0] + 1)
            // No checkpoint is made in a commit, however long the log is.
            for _ in 0..<1500 { try insert() }
            #expect(counts.last ?? 0 > 1500)
            // One reads from the log: it cannot begin again, though all stands in the file.
            _ = try other.rows("SELECT count(*) FROM t")
            try reader.snapshot {
                _ = try reader.rows("SELECT count(*) FROM t")
                try other.checkpoint(database.logPages)
                #expect(database.logPages.isFiled)
                try insert()
                #expect(!database.logPages.isFiled)
                #expect(counts.last == counts[counts.count - 2] + 1)
            }
            try other.checkpoint(database.logPages)
            // A second one would be of a log that the writer may begin anew at this moment.
            #expect(database.logPages.isFiled)
            // One that is refused says nothing of the file.
            database.logPages.note([.integer(1), .integer(-1), .integer(-1)])
            #expect(database.logPages.isFiled)
            try insert()
            #expect(counts.last == 1 && !database.logPages.isFiled)
            #expect(try database.cutLog(waitingMilliseconds: 60_000) && database.logPages.count == 0)
            #expect(try reader.rows("SELECT count(*) FROM t") == [[.integer(1503)]])
        }
    }

    @Test func `a file is given another name with those beside it`() throws {
        try Self.withDatabase { database, path in
            _ = try database.rows("PRAGMA journal_mode = WAL")
            try database.execute("CREATE TABLE t (n INTEGER)")
            defer { try? Database.remove(path: path + "-other") }
            try Database.rename(path: path, to: path + "-other")
            let found = ["", "-wal"].map { FileManager.default.fileExists(atPath: path + "-other" + $0) }
            #expect(found == [true, true] && !FileManager.default.fileExists(atPath: path))
            #expect(Self.error { try Database.rename(path: path, to: path + "-other") } != nil)
        }
    }

    @Test func `a value that is bound to a thread is used there until it is closed`() async throws {
        final class Counter { var count = 0 }
        let bound = try ThreadBound<Counter>()
        #expect(try await bound.run { $0.count } == nil)
        try await bound.open { Counter() }
        for _ in 0..<3 { try await bound.run { $0.count += 1 } }
        #expect(try await bound.run { $0.count } == 3)
        await bound.close()
        #expect(try await bound.run { $0.count } == nil)
    }
}
