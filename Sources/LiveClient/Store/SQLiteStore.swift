import LiveState
import SQLite

/// One file for the metadata of all machines and for the app's tables. It works on a thread of its own.
///
/// Whatever happens to the process, a transaction is in the file whole or not at all, and what was said to be committed is in
/// it. A file of another schema, account or server is not used and not changed: ``open(path:identity:deadline:migrate:prepare:)``
/// says what it found, and whoever wants it gone says so with ``remove(path:)``. A file of an older schema may be migrated. One that
/// SQLite finds corrupt, when it is opened or later, is renamed to `path.corrupt`, and the store begins anew (``setAside``).
public final class SQLiteStore: LiveStore {
    /// What the app's part of a commit reads and writes with.
    public typealias Transaction = StoreTransaction

    /// Whose state a file holds.
    public struct Identity: Equatable, Sendable {
        /// The version of the app's tables; whoever changes them counts it up.
        public var schema: Int64
        /// The account, and the person where it matters, as the app calls them.
        public var account: String
        /// The server's address: the same account on another one is another.
        public var server: String

        /// The identity that a file is to have.
        public init(schema: Int64, account: String, server: String) {
            self.schema = schema
            self.account = account
            self.server = server
        }
    }

    /// Makes newer tables out of older ones: it is given the schema that the file has.
    public typealias Migration = @Sendable (_ from: Int64, _ transaction: StoreTransaction) throws -> Void

    /// In the file's header: the store is this SDK's ("Live").
    private static let applicationID: Int64 = 0x4C69_7665
    /// The version of the SDK's own tables.
    private static let layout: Int64 = 1

    private let file: ThreadBound<StoreFile>
    let path: String

    private init(path: String) throws(SQLiteError) {
        self.path = path
        file = try ThreadBound()
    }

    /// Where the corrupt file is that this one has taken the place of, since it was opened; nil: there was none. What it held, kept
    /// actions included, is in no store any more.
    public var setAside: String? { get async { try? await file.run { $0.setAside } ?? nil } }

    /// Opens the file of this identity, or makes one. A corrupt one is set aside (``setAside``), and `prepare` makes another.
    ///
    /// - Parameters:
    ///   - deadline: so long it may take, in ms. What is opened later is closed again.
    ///   - migrate: makes the tables of this identity's schema out of those of an older one, which it is given, in one transaction;
    ///     what is pending in the file (<doc:Actions>) stays. Nil, or what it throws, leaves the file as it is.
    ///   - prepare: makes the app's tables in the file's first transaction; called for a new file alone, and kept: a file that is
    ///     found corrupt later is begun anew with it.
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
        // What is another's is found before anything is written.
        let found = try check(database, identity, path, mayMigrate: migrate != nil)
        // A commit waits until the disk has it: what users did is not asked for again.
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

    /// What a file is to those who want to use it.
    private enum Found: Equatable {
        case empty
        case good
        /// All but the schema, which is older.
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
        else { throw SQLiteError(code: 11, message: "the store does not say whose it is", statement: nil) }
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

    /// The metadata of an area; nil: nothing is stored of it. It throws a ``StoreError``.
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

    /// Stores metadata and changes in one transaction, which the disk has when this returns. It throws a ``StoreError``,
    /// or what `changes` throws; then nothing of it is stored. After ``StoreError/corrupt(setAside:)`` nothing of the area is.
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

    /// Reads and writes the app's tables: all of it or nothing. ``StoreError/corrupt(setAside:)``: nothing of them is there any more.
    public func transaction<Value: Sendable>(
        _ body: @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await transaction(of: nil, body)
    }

    /// The same for a part of the SDK's own, which is told once that the file was set aside.
    func transaction<Value: Sendable>(
        of part: String?, _ body: @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        let store = ObjectIdentifier(self)
        return try await run { try $0.transaction(of: part, store: store, body) }
    }

    /// Makes tables of the SDK's own, now and in a file that takes the place of a corrupt one.
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

    /// Closes the file; whatever is asked for later throws ``StoreError/closed``.
    public func close() async { await file.close() }

    /// Deletes a store that nobody has open, with the files beside it.
    public static func remove(path: String) async throws {
        do throws(SQLiteError) {
            try Database.remove(path: path)
        } catch {
            throw StoreError(error)
        }
    }
}

extension SQLiteStore.Identity {
    /// File systems take names of 255 bytes, and SQLite and the store put endings behind them.
    private static let maximumNameBytes = 190

    /// A name for the file, which another account, or the same one on another server, has not: what one of them keeps is opened by
    /// no other. It has small letters, digits, `.`, `-`, `_`, `%` and `@`, and at most 214 bytes.
    public var fileName: String {
        let name = "\(Self.encoded(account))@\(Self.encoded(server))"
        guard name.utf8.count > Self.maximumNameBytes else { return name + ".sqlite" }
        // FNV-1a over all of it. Two that came to the same would be told apart by what is in the file.
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
            // Capital letters too: some file systems do not tell them from small ones.
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return encoded
    }
}

extension StoreValue {
    /// The text that it is; nil for anything else.
    public var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The integer that it is; nil for anything else.
    public var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }
}
