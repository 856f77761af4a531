import CSQLite
import Locks

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A refusal of SQLite.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The extended result code: `SQLITE_BUSY` is 5, `SQLITE_NOTADB` 26 (sqlite.org/rescode.html).
    package let code: Int32
    package let message: String
    /// The statement, or nil where a file could not be opened.
    package let statement: String?

    package init(code: Int32, message: String, statement: String?) {
        self.code = code
        self.message = message
        self.statement = statement
    }

    package var description: String {
        "SQLite error \(code): \(message)" + (statement.map { ", in: \($0)" } ?? "")
    }
}

/// The open file, closed exactly once.
@safe
struct DatabaseHandle: ~Copyable {
    let pointer: OpaquePointer

    /// The corresponding C function is `sqlite3_open_v2`.
    init(path: String, mayCreate: Bool, vfs: String?) throws(SQLiteError) {
        var opened: OpaquePointer?
        // The owner ensures that one thread at a time uses it, so SQLite needs no lock.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &opened, mayCreate ? flags | SQLITE_OPEN_CREATE : flags, vfs)
        guard code == SQLITE_OK, let pointer = unsafe opened else {
            let reason = unsafe String(cString: sqlite3_errmsg(opened))
            // After most failures there is a handle to close, too.
            unsafe _ = sqlite3_close_v2(opened)
            throw SQLiteError(code: code, message: "cannot open \(path): \(reason)", statement: nil)
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe _ = sqlite3_close_v2(pointer) }

    var reason: String { unsafe String(cString: sqlite3_errmsg(pointer)) }
}

/// How long the write-ahead log was at the last commit, in pages; for all threads.
package final class LogPages: Sendable {
    private let pages = Lock((all: 0, filed: 0))

    package var count: Int { pages.withLock { $0.all } }

    /// Whether all of it is in the file.
    package var isFiled: Bool { pages.withLock { $0.all == $0.filed } }

    func set(_ count: Int) {
        pages.withLock {
            // It was restarted.
            if count <= $0.all { $0.filed = 0 }
            $0.all = count
        }
    }

    /// - Parameter row: SQLite's result of a checkpoint: whether it was blocked, the log's pages, and those in the file. Both
    ///   are −1 where another checkpoint was being made.
    func note(_ row: [SQLValue]?) {
        guard let row, row.count == 3, case .integer(let all) = row[1], all >= 0, row[1] == row[2] else { return }
        pages.withLock { $0.filed = Int(all) }
    }
}

/// A file of SQLite. Every call may wait for the disk: it belongs to a thread of its own (``DatabaseThread``), never to an
/// event loop.
package final class Database {
    /// How long a statement waits for another process that writes, in ms.
    static let busyTimeout: Int32 = 5_000

    /// More texts of statements than a program has.
    static let maximumStatements = 256

    let handle: DatabaseHandle
    private let path: String
    /// Counted only after a call of ``countLogPages()``.
    package let logPages = LogPages()
    /// What ``prepared(_:)`` has made, by its text.
    var statements: [String: PreparedStatement] = [:]

    /// Opens the file, or makes an empty one where it may.
    ///
    /// - Parameter cleansPages: whether no page that is written keeps bytes of rows that were deleted or moved (``CleanPages``).
    package init(path: String, mayCreate: Bool = true, cleansPages: Bool = false) throws(SQLiteError) {
        if cleansPages, CleanPages.registration != SQLITE_OK {
            throw SQLiteError(code: CleanPages.registration, message: "no VFS \(CleanPages.vfs)", statement: nil)
        }
        handle = try DatabaseHandle(path: path, mayCreate: mayCreate, vfs: cleansPages ? CleanPages.vfs : nil)
        self.path = path
        unsafe _ = sqlite3_busy_timeout(handle.pointer, Self.busyTimeout)
        unsafe _ = livegate_sqlite_defend(handle.pointer)
    }

    /// Runs one statement to its end, and drops its rows.
    package func execute(_ sql: String, _ values: [SQLValue] = []) throws(SQLiteError) {
        var statement = try Statement.prepare(handle, sql, values)
        while try statement.step() {}
    }

    /// The rows of one statement.
    ///
    /// - Throws: also for more rows than `maximumRows`, so that a large table does not fill the memory.
    package func rows(_ sql: String, _ values: [SQLValue] = [], maximumRows: Int = 10_000) throws(SQLiteError)
        -> [[SQLValue]]
    {
        var statement = try Statement.prepare(handle, sql, values)
        var rows: [[SQLValue]] = []
        while try statement.step() {
            guard rows.count < maximumRows else {
                throw SQLiteError(
                    code: SQLITE_TOOBIG, message: "more rows than maximumRows \(maximumRows): add a LIMIT",
                    statement: sql)
            }
            rows.append(statement.row)
        }
        return rows
    }

    /// Does all of it or nothing: an error, or the end of the process, leaves the file as it was.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        precondition(unsafe sqlite3_get_autocommit(handle.pointer) != 0, "a transaction in a transaction")
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // SQLite itself rolls back after some errors; a rollback that fails leaves nothing that could be stored.
            if unsafe sqlite3_get_autocommit(handle.pointer) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    // MARK: - The write-ahead log

    /// Its length, in bytes; 0 where there is none.
    package var logBytes: Int {
        var status = stat()
        return unsafe stat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }

    /// Counts the log's pages at each commit from now on, and leaves checkpoints to the caller, where SQLite itself would
    /// make one in a commit (sqlite.org/c3ref/wal_hook.html).
    package func countLogPages() {
        unsafe sqlite3_wal_hook(
            handle.pointer,
            { count, _, _, pages in
                unsafe count.map { unsafe Unmanaged<LogPages>.fromOpaque($0).takeUnretainedValue().set(Int(pages)) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(logPages).toOpaque())
    }

    /// Writes into the file what is in the log and no longer read there. It does not wait, and nothing waits for it.
    ///
    /// Not if all of it is in the file already: then the writer may restart the log at this moment. A checkpoint of SQLite
    /// before 3.51.3 may not notice that, and would regard new pages as filed (sqlite.org/wal.html#walresetbug).
    ///
    /// - Parameter log: of the one connection that writes.
    package func checkpoint(_ log: LogPages) throws(SQLiteError) {
        guard !log.isFiled else { return }
        log.note(try rows("PRAGMA wal_checkpoint(PASSIVE)").first)
    }

    /// Writes the log into the file and cuts it to nothing (sqlite.org/pragma.html#pragma_wal_checkpoint).
    ///
    /// False: something of the log is left. There were readers all the time, another process wrote, or another checkpoint was
    /// being made, for which SQLite does not wait.
    package func cutLog(waitingMilliseconds: Int32) throws(SQLiteError) -> Bool {
        unsafe _ = sqlite3_busy_timeout(handle.pointer, waitingMilliseconds)
        defer { unsafe _ = sqlite3_busy_timeout(handle.pointer, Self.busyTimeout) }
        let row = try rows("PRAGMA wal_checkpoint(TRUNCATE)").first
        logPages.note(row)
        guard row?.first == .integer(0) else { return false }
        logPages.set(0)
        return true
    }

    /// Forgets cached pages: before the next write they are read from the file again.
    package func forgetPages() throws(SQLiteError) { try execute("PRAGMA shrink_memory") }

    // MARK: - Files

    /// Gives another name to a file that no process has open, and to the two that SQLite keeps with it.
    package static func rename(path: String, to other: String) throws(SQLiteError) {
        for ending in ["-wal", "-shm", ""] {
            // The corresponding C function is rename(2), which has the name of this one.
            let failure = unsafe renameat(AT_FDCWD, path + ending, AT_FDCWD, other + ending) == 0 ? 0 : errno
            guard failure == 0 || failure == ENOENT && !ending.isEmpty else {
                throw SQLiteError(
                    code: SQLITE_IOERR, message: "cannot rename \(path + ending) (error \(failure))", statement: nil)
            }
        }
    }

    /// Deletes a file that no process has open, and the two that SQLite keeps with it. A missing file is no error.
    package static func remove(path: String) throws(SQLiteError) {
        for file in [path, path + "-wal", path + "-shm"] {
            let failure = unsafe unlink(file) == 0 ? 0 : errno
            guard failure == 0 || failure == ENOENT else {
                throw SQLiteError(
                    code: SQLITE_IOERR, message: "cannot delete \(file) (error \(failure))", statement: nil)
            }
        }
    }
}
