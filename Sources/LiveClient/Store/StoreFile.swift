import SQLite

/// The file of a ``SQLiteStore``, on the store's thread. Where SQLite finds it corrupt, it is set aside and begun anew.
final class StoreFile {
    /// Tables of the SDK that the file has beside those of machines.
    typealias Tables = @Sendable (StoreTransaction) throws -> Void

    /// Behind the path, of a corrupt file that was set aside.
    static let asideEnding = ".corrupt"

    private let path: String
    /// Checks what is open, and makes what is missing.
    private let begin: (Database) throws -> Void
    /// Nil: it was set aside, and another one could not be made yet.
    private var database: Database?
    private var tables: [Tables] = []
    /// Where the last corrupt file is now.
    private(set) var setAside: String?
    /// Parts that the file has been asked of, and those of them that a file which was set aside had.
    private var known: Set<String> = []
    private var lost: Set<String> = []

    /// Opens the file, or makes one.
    init(path: String, begin: @escaping (Database) throws -> Void) throws {
        (self.path, self.begin) = (path, begin)
        do {
            try open()
        } catch  where Self.isCorrupt(error) {
            try recreate()
        }
    }

    private func open() throws {
        let opened = try Database(path: path)
        try begin(opened)
        for make in tables { try opened.transaction { try make(StoreTransaction(database: opened)) } }
        database = opened
    }

    /// Makes tables now, and in each file that takes the place of this one.
    func add(_ make: @escaping Tables, store: ObjectIdentifier) throws {
        tables.append(make)
        do {
            try transaction(store: store) { try make($0) }
        } catch StoreError.corrupt {
            // The file that took its place has them.
        } catch {
            tables.removeLast()
            throw error
        }
    }

    /// All of it or nothing.
    ///
    /// - Parameter part: what is read or written, by its name.
    /// - Throws: ``StoreError/corrupt(setAside:)`` where the file was set aside, now or since the part was asked for last: once for
    ///   each part, for whoever writes on needs to know that nothing of it is there.
    func transaction<Value>(
        of part: String? = nil, store: ObjectIdentifier, _ body: (StoreTransaction) throws -> Value
    ) throws -> Value {
        if database == nil { try open() }
        guard let database else { throw StoreError.closed }
        if let part {
            known.insert(part)
            if lost.remove(part) != nil, let setAside { throw StoreError.corrupt(setAside: setAside) }
        }
        do {
            return try database.transaction { try body(StoreTransaction(database: database, store: store)) }
        } catch  where Self.isCorrupt(error) {
            try recreate()
            lost = known
            if let part { lost.remove(part) }
            throw StoreError.corrupt(setAside: setAside ?? path)
        }
    }

    /// The one that is set aside takes the place of an earlier one.
    private func recreate() throws {
        let other = path + Self.asideEnding
        try Database.remove(path: other)
        // Closed first: a connection that ends deletes the log beside the file, by its name.
        database = nil
        try Database.rename(path: path, to: other)
        setAside = other
        try open()
    }

    /// Primary codes of SQLite: the file is malformed, or no database any more.
    private static func isCorrupt(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: [11, 26].contains(error.code & 0xFF)
        case StoreError.failed(let code, _): [11, 26].contains(code & 0xFF)
        default: false
        }
    }
}
