import LiveState
import SQLite

/// One file for the metadata of all machines and for the app's tables. It works on its own thread.
///
/// A transaction is in the file completely or not at all, even if the process ends, and a confirmed commit is in it. A file of
/// another schema, account or server is neither used nor changed: ``open(path:identity:deadline:migrate:prepare:)`` throws what
/// it found. To delete such a file, call ``remove(path:)``. A file of an older schema may be migrated. If SQLite finds the file
/// corrupt, when it is opened or later, the file is renamed to `path.corrupt`, and the store is recreated empty (``setAside``).
public final class SQLiteStore: LiveStore {
    /// What the app's part of a commit reads and writes with.
    public typealias Transaction = StoreTransaction

    /// The account, server and schema that a file belongs to.
    public struct Identity: Equatable, Sendable {
        /// The version of the app's tables. Increase it when you change them.
        public var schema: Int64
        /// The app's name for the account, including the person where that matters.
        public var account: String
        /// The server's address. The same account on another server counts as another account.
        public var server: String

        /// Makes the identity that a file must have.
        public init(schema: Int64, account: String, server: String) {
            self.schema = schema
            self.account = account
            self.server = server
        }
    }

    /// Turns older tables into newer ones. `from` is the schema of the file.
    public typealias Migration = @Sendable (_ from: Int64, _ transaction: StoreTransaction) throws -> Void

    /// In the file's header: marks a store of this SDK ("Live").
    private static let applicationID: Int64 = 0x4C69_7665
    /// The version of the SDK's own tables.
    private static let layout: Int64 = 1

    private let file: ThreadBound<StoreFile>
    let path: String

    private init(path: String) throws(SQLiteError) {
        self.path = path
        file = try ThreadBound()
    }

    /// The path of the corrupt file that this one has replaced since it was opened; nil if there was none. What it contained,
    /// including stored actions, is in no store any more.
    public var setAside: String? { get async { try? await file.run { $0.setAside } ?? nil } }

    /// Opens the file of this identity, or makes one. A corrupt one is set aside (``setAside``), and `prepare` makes another.
    ///
    /// - Parameters:
    ///   - deadline: the time limit, in ms. A store that opens later is closed again.
    ///   - migrate: changes the tables from an older schema, which it receives, to this identity's, in one transaction. Pending
    ///     actions in the file (<doc:Actions>) remain. If it is nil or throws, the file does not change.
    ///   - prepare: makes the app's tables in the file's first transaction. It is called only for a new file. The store keeps it,
    ///     and calls it again to recreate a file that is found corrupt later.
    /// - Throws: ``StoreError``, which is ``StoreError/noAnswer`` after the deadline, or what `prepare` throws.
    public static func open(
        path: String, identity: Identity, deadline: Milliseconds = 10_000, migrate: Migration? = nil,
        prepare: @escaping @Sendable (StoreTransaction) throws -> Void
    ) async throws -> SQLiteStore {
        do {
            return try await Deadline.run(milliseconds: deadline, late: StoreError.noAnswer) {
                let store = try SQLiteStore(path: path)
                try await store.file.open {
                    try StoreFile(path: path) { try begin($0, path, identity, migrate, prepare) }
                }
                return store
            }
        } catch let error as SQLiteError {
            throw StoreError(error)
        }
    }

    private static func begin(
        _ database: Database, _ path: String, _ identity: Identity, _ migrate: Migration?,
        _ prepare: (StoreTransaction) throws -> Void
    ) throws {
        // Detects a foreign file before anything is written.
        let found = try check(database, identity, path, mayMigrate: migrate != nil)
        // A commit waits until the disk has it, because users are not asked again for what they did.
        _ = try database.rows("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = FULL")
        try database.execute("PRAGMA foreign_keys = ON")
        guard found != .good else { return try StaleTable.make(database) }
        try database.transaction {
            // Another process may have made or migrated it meanwhile.
            switch try check(database, identity, path, mayMigrate: migrate != nil) {
            case .good: break
            case .empty:
                try makeTables(database, identity)
                try prepare(StoreTransaction(database: database))
            case .older(let schema):
                try migrate?(schema, StoreTransaction(database: database))
                try database.execute("UPDATE live_identity SET app_schema = ?", [.integer(identity.schema)])
            }
            try StaleTable.make(database)
        }
    }

    /// The state of a file for a caller that wants to open it.
    private enum Found: Equatable {
        case empty
        case good
        /// A match except for the schema, which is older.
        case older(schema: Int64)
    }

    private static func check(
        _ database: Database, _ identity: Identity, _ path: String, mayMigrate: Bool
    ) throws -> Found {
        let application = try database.rows("PRAGMA application_id").first?.first
        if application == .integer(0), try database.rows("SELECT 1 FROM sqlite_master LIMIT 1").isEmpty {
            return .empty
        }
        guard application == .integer(applicationID) else { throw StoreError.notAStore(path: path) }
        if case .integer(let found) = try database.rows("PRAGMA user_version").first?.first, found != layout {
            throw StoreError.otherSchema(found: found, wanted: layout)
        }
        let row = (try? database.rows("SELECT app_schema, account, server FROM live_identity").first) ?? []
        guard row.count == 3, case .integer(let schema) = row[0], case .text(let account) = row[1],
            case .text(let server) = row[2]
        else { throw SQLiteError(code: 11, message: "the store does not name its account and server", statement: nil) }
        if server != identity.server { throw StoreError.otherServer(found: server, wanted: identity.server) }
        if account != identity.account { throw StoreError.otherAccount(found: account, wanted: identity.account) }
        if schema == identity.schema { return .good }
        guard mayMigrate, schema < identity.schema else {
            throw StoreError.otherSchema(found: schema, wanted: identity.schema)
        }
        return .older(schema: schema)
    }

    private static func makeTables(_ database: Database, _ identity: Identity) throws(SQLiteError) {
        try database.execute("PRAGMA application_id = \(applicationID)")
        try database.execute("PRAGMA user_version = \(layout)")
        try database.execute(
            "CREATE TABLE live_identity (app_schema INTEGER NOT NULL, account TEXT NOT NULL, server TEXT NOT NULL) STRICT"
        )
        try database.execute(
            "INSERT INTO live_identity VALUES (?, ?, ?)",
            [.integer(identity.schema), .text(identity.account), .text(identity.server)])
        try database.execute(
            """
            CREATE TABLE live_areas (area TEXT PRIMARY KEY, finger TEXT, last_success INTEGER, last_attempt INTEGER)
            STRICT, WITHOUT ROWID
            """)
    }

    /// Returns the metadata of an area; nil if nothing is stored for it. It throws a ``StoreError``.
    public func load(area: String) async throws -> UpdateMetadata? {
        try await transaction(of: Self.part(area)) { transaction in
            let rows = try transaction.rows(
                "SELECT finger, last_success, last_attempt FROM live_areas WHERE area = ?", [.text(area)])
            return try rows.first.map { row in
                UpdateMetadata(
                    finger: row[0].text, lastSuccess: row[1].integer, lastAttempt: row[2].integer,
                    knownStale: try StaleTable.read(area, in: transaction))
            }
        }
    }

    /// Stores metadata and changes in one transaction, which is on the disk when this returns. It throws a ``StoreError``, or
    /// what `changes` throws; then nothing is stored. After ``StoreError/corrupt(setAside:)`` the area is empty.
    public func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (StoreTransaction) throws -> Void
    ) async throws {
        try await transaction(of: Self.part(area)) { transaction in
            try changes(transaction)
            try transaction.execute(
                "INSERT OR REPLACE INTO live_areas (area, finger, last_success, last_attempt) VALUES (?, ?, ?, ?)",
                [
                    .text(area), metadata.finger.map { .text($0) } ?? .null,
                    metadata.lastSuccess.map { .integer($0) } ?? .null,
                    metadata.lastAttempt.map { .integer($0) } ?? .null,
                ])
            try StaleTable.write(metadata.knownStale ?? [], area, in: transaction)
        }
    }

    private static func part(_ area: String) -> String { "area \(area)" }

    /// Reads and writes the app's tables: all of it or nothing. After ``StoreError/corrupt(setAside:)`` the tables are empty.
    public func transaction<Value: Sendable>(
        _ body: @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await transaction(of: nil, body)
    }

    /// The same for a part of the SDK's own data, which gets one error after the file was set aside.
    func transaction<Value: Sendable>(
        of part: String?, _ body: @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        let store = ObjectIdentifier(self)
        return try await run { try $0.transaction(of: part, store: store, body) }
    }

    /// Makes tables for the SDK itself, now and in a file that replaces a corrupt one.
    func add(_ tables: @escaping StoreFile.Tables) async throws {
        let store = ObjectIdentifier(self)
        try await run { try $0.add(tables, store: store) }
    }

    private func run<Value: Sendable>(_ body: @Sendable (StoreFile) throws -> Value) async throws -> Value {
        do {
            let value = try await file.run(body)
            guard let value else { throw StoreError.closed }
            return value
        } catch let error as SQLiteError {
            throw StoreError(error)
        }
    }

    /// Closes the file. Any later request throws ``StoreError/closed``.
    public func close() async { await file.close() }

    /// Deletes a store that is not open anywhere, with its additional files.
    public static func remove(path: String) async throws {
        do throws(SQLiteError) {
            try Database.remove(path: path)
        } catch {
            throw StoreError(error)
        }
    }
}

extension SQLiteStore.Identity {
    /// File systems accept names of 255 bytes, and SQLite and the store append endings to them.
    private static let maximumNameBytes = 190

    /// A file name that differs for another account, and for the same one on another server, so that none opens the file of
    /// another. It contains small letters, digits, `.`, `-`, `_`, `%` and `@`, and at most 214 bytes.
    public var fileName: String {
        let name = "\(Self.encoded(account))@\(Self.encoded(server))"
        guard name.utf8.count > Self.maximumNameBytes else { return name + ".sqlite" }
        // FNV-1a over all of it. If two names had the same hash, the content of the file would still distinguish them.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return name.prefix(Self.maximumNameBytes) + "-" + String(hash, radix: 16) + ".sqlite"
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            // Capital letters too: some file systems treat them like small ones.
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return encoded
    }
}

extension StoreValue {
    /// The text, if the value is one; nil for anything else.
    public var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The integer, if the value is one; nil for anything else.
    public var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }
}
