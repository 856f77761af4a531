// Tests: CleanPages.swift

import Foundation
import TestHarness
import Testing

@testable import SQLite

/// Random histories of two files to which the same happens: one is written by ``CleanPages``, the other by SQLite alone.
struct CleanPagesHistoryTests {
    /// `LIVEGATE_PAGES_SEED` runs the history of that seed alone; `LIVEGATE_PAGES_HISTORIES` so many.
    @Test func `clean pages hold what SQLite's own hold, and nothing that was erased, whatever happens between`() throws
    {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["LIVEGATE_PAGES_SEED"].flatMap(UInt64.init)
        let first = seed ?? UInt64.random(in: 0...UInt64.max)
        print("histories of pages from seed \(first)")
        let count = seed == nil ? environment["LIVEGATE_PAGES_HISTORIES"].flatMap(UInt64.init) ?? 12 : 1
        for number in 0..<count { try CleanPagesHistory.run(seed: first &+ number) }
    }
}

/// One history.
private struct CleanPagesHistory {
    private struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    /// A file with the connections that an archive has: one writes, one makes checkpoints, one reads.
    private final class File {
        let path: String
        let writer: Database
        let checkpointer: Database
        let reader: Database

        init(_ path: String, cleansPages: Bool, _ pragmas: [String]) throws {
            self.path = path
            writer = try Database(path: path, cleansPages: cleansPages)
            for pragma in pragmas + ["journal_mode = WAL", "secure_delete = ON", "wal_autocheckpoint = 0"] {
                _ = try writer.rows("PRAGMA \(pragma)")
            }
            for table in ["t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)", "n (name TEXT PRIMARY KEY) WITHOUT ROWID"] {
                try writer.execute("CREATE TABLE IF NOT EXISTS \(table)")
            }
            try writer.execute("CREATE INDEX IF NOT EXISTS t_name ON t (name, id)")
            checkpointer = try Database(path: path, cleansPages: cleansPages)
            reader = try Database(path: path, cleansPages: cleansPages)
            for database in [checkpointer, reader] { _ = try database.rows("SELECT 1 FROM sqlite_master LIMIT 1") }
        }

        static func rows(_ database: Database) throws -> [[SQLValue]] {
            try database.rows("SELECT id, name FROM t ORDER BY id", maximumRows: .max)
                + database.rows("SELECT name FROM n ORDER BY name", maximumRows: .max)
        }
    }

    private static let pageSizes = [512, 1024, 4096, 8192, 65_536]
    private static let maximumRows = 3000

    private let folder: TemporaryFolder
    private let pageSize: Int
    private let pragmas: [String]
    private var random: SeededGenerator
    private var files: (clean: File, plain: File)
    private var opened = 0
    /// What the readers have seen first, while they read.
    private var snapshot: [[SQLValue]]?
    /// Each account has a name that no other one has had.
    private var accounts: [String] = []
    private var erased: [String] = []
    private var numbers = 0
    private var steps: [String] = []

    static func run(seed: UInt64) throws {
        let folder = TemporaryFolder(inMemory: true)
        defer { folder.remove() }
        var history = try CleanPagesHistory(seed: seed, folder: folder)
        do {
            for _ in 0..<(10 + history.random.below(50)) { try history.step() }
            try history.end()
        } catch {
            Issue.record("seed \(seed), \(history.pragmas): \(error)\n\(history.steps.joined(separator: "\n"))")
        }
    }

    private init(seed: UInt64, folder: TemporaryFolder) throws {
        self.folder = folder
        random = SeededGenerator(seed: seed)
        pageSize = Self.pageSizes[random.below(Self.pageSizes.count)]
        pragmas = ["page_size = \(pageSize)", "auto_vacuum = \(max(0, random.below(5) - 2))"]
        files = (
            try File(folder.path("clean-0"), cleansPages: true, pragmas),
            try File(folder.path("plain-0"), cleansPages: false, pragmas)
        )
    }

    // MARK: - Steps

    private mutating func step() throws {
        let kind = random.below(20)
        steps.append("\(kind)")
        switch kind {
        case 0..<6: try insert()
        case 6, 7: try update()
        case 8, 9: try deleteSome()
        case 10..<13:
            for database in [files.clean.checkpointer, files.plain.checkpointer] { try Self.checkpoint(database) }
        case 13: try checkpointByOthers()
        case 14: _ = try files.clean.checkpointer.cleanPages(from: random.below(200))
        case 15: try read()
        case 16: try killAndOpen()
        case 17: if snapshot == nil, random.isOne(in: 2) { try both { try $0.writer.execute("VACUUM") } }
        default: try erase()
        }
        let limit = random.below(40)
        try both { try $0.writer.execute("PRAGMA incremental_vacuum(\(limit))") }
    }

    private func both(_ body: (File) throws -> Void) throws {
        try body(files.clean)
        try body(files.plain)
    }

    private static func checkpoint(_ database: Database) throws {
        _ = try database.rows("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Another program writes the log into the file, as SQLite does it.
    private func checkpointByOthers() throws {
        try both { try Self.checkpoint(Database(path: $0.path)) }
    }

    /// Some take overflow pages.
    private mutating func name(of account: String) -> String {
        let length = random.isOne(in: 40) ? random.below(3 * pageSize) : random.below(min(90, pageSize / 8))
        return "\(random.below(1000))-\(account)-" + String(repeating: "x", count: length)
    }

    private mutating func insert() throws {
        if accounts.count < 2 || random.isOne(in: 4) { accounts.append("ACCOUNT\(accounts.count + erased.count)OF") }
        var rows: [(Int64, String, String)] = []
        for _ in 0..<(1 + random.below(250)) {
            numbers += 1
            let id = Int64(random.below(2) * 100_000 + numbers)
            let account = accounts[random.below(accounts.count)]
            rows.append((id, name(of: account), name(of: account)))
        }
        try both { file in
            try file.writer.transaction {
                guard case .integer(let count) = try file.writer.rows("SELECT count(*) FROM t").first?.first,
                    count < Self.maximumRows
                else { return }
                for row in rows {
                    try file.writer.run("INSERT OR REPLACE INTO t VALUES (?, ?)", [.integer(row.0), .text(row.1)])
                    try file.writer.run("INSERT OR IGNORE INTO n VALUES (?)", [.text(row.2)])
                }
            }
        }
    }

    private mutating func update() throws {
        guard let account = accounts.first else { return }
        let values: [SQLValue] = [.text(name(of: account)), .integer(Int64(2 + random.below(30)))]
        try both { try $0.writer.execute("UPDATE t SET name = ?1 WHERE id % ?2 = 0", values) }
    }

    private mutating func deleteSome() throws {
        let values: [SQLValue] = [.integer(Int64(2 + random.below(9)))]
        try both { file in
            try file.writer.execute("DELETE FROM t WHERE id % ?1 = 0", values)
            try file.writer.execute("DELETE FROM n WHERE length(name) % ?1 = 0", values)
        }
    }

    /// What somebody reads stays as it was.
    private mutating func read() throws {
        if let rows = snapshot {
            for reader in [files.clean.reader, files.plain.reader] {
                try expect(try File.rows(reader) == rows, "what is read changed meanwhile")
                try reader.execute("COMMIT")
            }
            snapshot = nil
        } else {
            try both { try $0.reader.execute("BEGIN") }
            snapshot = try File.rows(files.plain.reader)
            try expect(try File.rows(files.clean.reader) == snapshot, "other rows are read")
        }
    }

    /// What a process that is killed leaves is what stands in its files. Sometimes another program opens them first.
    private mutating func killAndOpen() throws {
        opened += 1
        snapshot = nil
        let opensOther = random.isOne(in: 2)
        func open(_ file: File, _ name: String, cleansPages: Bool) throws -> File {
            let path = folder.path("\(name)-\(opened)")
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: file.path + ending) {
                try FileManager.default.copyItem(atPath: file.path + ending, toPath: path + ending)
            }
            if opensOther { _ = try Database(path: path).rows("SELECT count(*) FROM t") }
            return try File(path, cleansPages: cleansPages, pragmas)
        }
        files = (
            try open(files.clean, "clean", cleansPages: true), try open(files.plain, "plain", cleansPages: false)
        )
    }

    /// As an archive does it, with what happens between.
    private mutating func erase() throws {
        guard snapshot == nil, let account = accounts.first else { return }
        accounts.removeFirst()
        erased.append(account)
        try both { file in
            try file.writer.transaction {
                try file.writer.execute("DELETE FROM t WHERE name LIKE '%-\(account)-%'")
                try file.writer.execute("DELETE FROM n WHERE name LIKE '%-\(account)-%'")
            }
        }
        if random.isOne(in: 3) { try checkpointByOthers() }
        if random.isOne(in: 3) { try insert() }
        try both { file in
            try expect(try file.writer.cutLog(waitingMilliseconds: 0), "the log cannot be cut")
            try file.writer.forgetPages()
        }
        var page: Int? = 0
        while let first = page {
            page = try files.clean.checkpointer.cleanPages(from: first)
            if random.isOne(in: 2) { try insert() }
            if random.isOne(in: 2) { try update() }
            if random.isOne(in: 4) { try checkpointByOthers() }
        }
        try lookForErased()
    }

    // MARK: - What is compared

    private func expect(_ isRight: Bool, _ what: String) throws {
        if !isRight { throw Difference(description: what) }
    }

    private func lookForErased() throws {
        for file in [files.clean.path, files.clean.path + "-wal"] {
            guard let data = FileManager.default.contents(atPath: file) else { continue }
            for account in erased {
                try expect(data.range(of: Data("-\(account)-".utf8)) == nil, "\(account) is in \(file)")
            }
        }
    }

    private mutating func end() throws {
        if snapshot != nil { try read() }
        try erase()
        try expect(try File.rows(files.clean.writer) == File.rows(files.plain.writer), "other rows")
        try both { file in
            try expect(try file.writer.rows("PRAGMA integrity_check") == [[.text("ok")]], "\(file.path) is damaged")
            try expect(try file.writer.cutLog(waitingMilliseconds: 0), "the log cannot be cut")
        }
        try compareBytes()
    }

    /// Nothing differs but that there are zeros in the space of a page that belongs to no row.
    private func compareBytes() throws {
        let clean = [UInt8](try Data(contentsOf: URL(fileURLWithPath: files.clean.path)))
        let plain = [UInt8](try Data(contentsOf: URL(fileURLWithPath: files.plain.path)))
        try expect(clean.count == plain.count, "\(clean.count) bytes, not \(plain.count)")
        for start in stride(from: 0, to: clean.count, by: pageSize)
        where clean[start...].prefix(pageSize)
            != plain[start...].prefix(pageSize)
        {
            let (page, other) = (Array(clean[start..<start + pageSize]), Array(plain[start..<start + pageSize]))
            let space = CleanPages.unallocated(page.span, isFirst: start == 0) ?? 0..<0
            for index in page.indices where page[index] != other[index] {
                try expect(
                    space.contains(index) && page[index] == 0, "byte \(index) of page \(start / pageSize) is another")
            }
        }
    }
}
