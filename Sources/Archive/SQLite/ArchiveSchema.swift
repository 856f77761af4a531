import LiveUpdates
import SQLite

/// The tables of an archive in SQLite, and the check of a file's owner.
///
/// Each text is stored once, in the tables of accounts, streams, types, things, people and waiting marks. Events and marks are
/// rows of numbers and ``EventKey``s. A stream is what one account has of one entity. Pages read streams in the order of keys
/// and merge them.
///
/// A text has at most 255 bytes, so that no row needs overflow pages.
enum ArchiveSchema {
    /// In the file's header: "LiAr".
    static let applicationID: Int64 = 0x4C69_4172
    static let version = Int64(steps.count + 1)
    static let pageBytes = 8192

    private static let tables = [
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
        "CREATE UNIQUE INDEX accounts_name ON accounts (name)",
        "CREATE TABLE streams (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, entity TEXT NOT NULL) STRICT",
        "CREATE UNIQUE INDEX streams_entity ON streams (account, entity)",
        """
        CREATE TABLE types (account INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (account, number)) STRICT, WITHOUT ROWID
        """,
        "CREATE UNIQUE INDEX types_name ON types (account, name)",
        """
        CREATE TABLE things (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, name TEXT NOT NULL, last BLOB NOT NULL,
        type INTEGER NOT NULL) STRICT
        """,
        "CREATE UNIQUE INDEX things_name ON things (stream, name)",
        "CREATE INDEX things_last ON things (stream, last)",
        // The key: what a person has read of everything.
        """
        CREATE TABLE people (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, name TEXT NOT NULL, key BLOB NOT NULL,
        since INTEGER NOT NULL) STRICT
        """,
        "CREATE UNIQUE INDEX people_name ON people (account, name)",
        // Marks of things that have no event yet.
        """
        CREATE TABLE waiting (account INTEGER NOT NULL, entity TEXT NOT NULL, name TEXT NOT NULL, person INTEGER NOT NULL,
        key BLOB NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (account, entity, name, person)) STRICT, WITHOUT ROWID
        """,
        // The last is the number of rows in the table of that name.
        """
        CREATE TABLE archive (server TEXT NOT NULL, horizon INTEGER NOT NULL, to_overwrite INTEGER NOT NULL,
        events INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE positions (topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, stamp INTEGER,
        PRIMARY KEY (topic, partition)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE gaps (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL, first INTEGER NOT NULL,
        last INTEGER) STRICT
        """,
        "CREATE INDEX gaps_last ON gaps (last)",
        "CREATE INDEX gaps_open ON gaps (first) WHERE last IS NULL",
        """
        CREATE TABLE events (stream INTEGER NOT NULL, key BLOB NOT NULL, thing INTEGER NOT NULL, type INTEGER NOT NULL,
        PRIMARY KEY (stream, key)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE history (thing INTEGER NOT NULL, key BLOB NOT NULL, type INTEGER NOT NULL, PRIMARY KEY (thing, key))
        STRICT, WITHOUT ROWID
        """,
        // Events that arrived before the time of their stamp.
        """
        CREATE TABLE early (stream INTEGER NOT NULL, key BLOB NOT NULL, arrival INTEGER NOT NULL, PRIMARY KEY (stream, key))
        STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE marks (person INTEGER NOT NULL, thing INTEGER NOT NULL, key BLOB NOT NULL, since INTEGER NOT NULL,
        PRIMARY KEY (person, thing)) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX marks_thing ON marks (thing)",
    ]

    /// The steps from each schema to the next one, from 1 on. A step is never changed: files were made by it.
    private static let steps = [
        // Which erasures are done, by a number that is made of the account's name, so that the name is not stored.
        ["CREATE TABLE erasures (account INTEGER PRIMARY KEY, moment INTEGER NOT NULL) STRICT"],
        // Which log a position counts in (``StoredLog``); null where the version before has stored it.
        ["ALTER TABLE positions ADD COLUMN log BLOB"],
        // When records of erasures that were stamped ahead were first read, by the same number.
        [
            """
            CREATE TABLE erasures_ahead (account INTEGER NOT NULL, stamp INTEGER NOT NULL, moment INTEGER NOT NULL,
            PRIMARY KEY (account, stamp)) STRICT, WITHOUT ROWID
            """
        ],
    ]

    /// Prepares a connection that writes; makes the tables of a new file. `keptLogBytes` of the log's file are kept when the
    /// log begins from its start again.
    static func openForWriting(
        _ database: Database, path: String, server: String, cacheBytes: Int, keptLogBytes: Int
    ) throws {
        // A file of another owner is recognized before anything is written.
        if try isEmpty(database, path: path) {
            try database.execute("PRAGMA page_size = \(pageBytes)")
        } else {
            try check(database, server: server)
        }
        _ = try database.rows("PRAGMA journal_mode = WAL")
        // Positions are in the transactions of their rows: what a power failure loses is read again.
        try database.execute("PRAGMA synchronous = NORMAL")
        _ = try database.rows("PRAGMA secure_delete = ON")
        _ = try database.rows("PRAGMA mmap_size = 0")
        _ = try database.rows("PRAGMA journal_size_limit = \(keptLogBytes)")
        database.countLogPages()
        try database.execute("PRAGMA cache_size = -\(cacheBytes / 1024)")
        try database.execute("PRAGMA temp_store = MEMORY")
        try database.transaction {
            guard try isEmpty(database, path: path) else { return try moveOn(database) }
            try database.execute("PRAGMA application_id = \(applicationID)")
            try database.execute("PRAGMA user_version = 1")
            for sql in tables { try database.execute(sql) }
            try database.execute("INSERT INTO archive VALUES (?, -1, 0, 0)", [.text(server)])
            try moveOn(database)
        }
    }

    /// Applies the steps that a file lacks.
    private static func moveOn(_ database: Database) throws {
        guard case .integer(let found) = try database.rows("PRAGMA user_version").first?.first, found < version else {
            return
        }
        for step in steps[(Int(found) - 1)...] { for sql in step { try database.execute(sql) } }
        try database.execute("PRAGMA user_version = \(version)")
    }

    /// Prepares a connection that makes checkpoints, and nothing else.
    static func openForCheckpoints(_ database: Database) throws {
        try database.execute("PRAGMA synchronous = NORMAL")
        // A connection has no log before it has read.
        _ = try database.rows("SELECT 1 FROM sqlite_master LIMIT 1")
    }

    /// Prepares a connection that only reads.
    static func openForReading(_ database: Database, cacheBytes: Int) throws {
        try database.execute("PRAGMA query_only = ON")
        try database.execute("PRAGMA cache_size = -\(cacheBytes / 1024)")
        try database.execute("PRAGMA temp_store = MEMORY")
    }

    /// Prepares the only connection of a file, which has this version and belongs to any server.
    static func openAlone(_ database: Database, path: String) throws {
        // Before anything is read: sqlite.org/wal.html, 9 "Use of WAL Without Shared-Memory".
        _ = try database.rows("PRAGMA locking_mode = EXCLUSIVE")
        guard try !isEmpty(database, path: path) else { throw ArchiveError.notAnArchive(path) }
        guard case .integer(let found) = try database.rows("PRAGMA user_version").first?.first, found == version else {
            throw ArchiveError.unavailable("it is of an older Livegate: start a node of this one with it first")
        }
    }

    private static func isEmpty(_ database: Database, path: String) throws -> Bool {
        let application = try database.rows("PRAGMA application_id").first?.first
        if application == .integer(0), try database.rows("SELECT 1 FROM sqlite_master LIMIT 1").isEmpty { return true }
        guard application == .integer(applicationID) else { throw ArchiveError.notAnArchive(path) }
        return false
    }

    private static func check(_ database: Database, server: String) throws {
        guard case .integer(let found) = try database.rows("PRAGMA user_version").first?.first else {
            throw ArchiveError.corrupt("no version")
        }
        guard (1...version).contains(found) else { throw ArchiveError.otherSchema(found: found, wanted: version) }
        guard case .text(let text) = try database.rows("SELECT server FROM archive").first?.first else {
            throw ArchiveError.corrupt("no server")
        }
        guard text == server else { throw ArchiveError.otherServer(found: text, wanted: server) }
    }
}

extension ArchiveError {
    /// What one of SQLite's errors means for an archive; its own stay as they are.
    init(_ error: any Error) {
        guard let error = error as? SQLiteError else {
            self = error as? ArchiveError ?? .unavailable("\(error)")
            return
        }
        // The low byte is the primary result code (sqlite.org/rescode.html).
        self =
            switch error.code & 0xFF {
            case 8: .readOnly
            case 11, 26: .corrupt(error.message)
            case 13: .full
            // A row that an index does not know, or a type that its column forbids: every value was checked before.
            case 19, 20: .corrupt(error.message)
            // The statements are the program's own, and the schema was checked: only a damaged file lacks a table.
            case 1 where error.message.hasPrefix("no such"): .corrupt(error.message)
            // The file is shorter than its pages (SQLITE_IOERR_SHORT_READ).
            case 10 where error.code == 522: .corrupt(error.message)
            default: .unavailable(error.description)
            }
    }
}
