import SQLite

/// The file of a ``SQLiteStore``, on the store's thread. If SQLite finds it corrupt, it is set aside and recreated.
final class StoreFile {
    /// Tables of the SDK in the file, in addition to those of machines.
    typealias Tables = @Sendable (StoreTransaction) throws -> Void

    /// The ending that is appended to the path of a corrupt file that was set aside.
    static let asideEnding = ".corrupt"

    private let path: String
    /// Checks the opened file, and makes what is missing.
    private let begin: (Database) throws -> Void
    /// Nil: it was set aside, and a new one could not be made yet.
    private var database: Database?
    private var tables: [Tables] = []
    /// Where the last corrupt file is now.
    private(set) var setAside: String?
    /// The parts that were used in the file, and those of them that were lost with a file that was set aside.
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

    /// Makes tables now, and in each file that replaces this one.
    func add(_ make: @escaping Tables, store: ObjectIdentifier) throws {
        tables.append(make)
        do {
            try transaction(store: store) { try make($0) }
        } catch StoreError.corrupt {
            // The file that replaced it has them.
        } catch {
            tables.removeLast()
            throw error
        }
    }

    /// Runs a transaction: all of it or nothing.
    ///
    /// - Parameter part: the name of the part that is read or written.
    /// - Throws: ``StoreError/corrupt(setAside:)`` if the file was set aside, now or since the last request for the part. It is
    ///   thrown once for each part, because a caller that writes needs to know that nothing of the part remains.
    func transaction<Value>(
        of part: String? = nil, store: ObjectIdentifier, _ body: (StoreTransaction) throws -> Value
    ) throws -> Value {
        if database == nil { try open() }
        guard let database else { throw StoreError.closed }
        if let part {
            known.insert(part)
            if lost.remove(part) != nil { throw StoreError.corrupt(setAside: setAside ?? path) }
        }
        do {
            return try database.transaction { try body(StoreTransaction(database: database, store: store)) }
        } catch  where Self.isCorrupt(error) {
            // First: the new file may be made by a later request, whose caller has to know that nothing of its part remains.
            lost = known
            try recreate()
            if let part { lost.remove(part) }
            throw StoreError.corrupt(setAside: setAside ?? path)
        }
    }

    /// Sets the file aside, which replaces an earlier one that was set aside.
    private func recreate() throws {
        let other = path + Self.asideEnding
        try Database.remove(path: other)
        // Closed first: a connection that ends deletes the log next to the file, by its name.
        database = nil
        try Database.rename(path: path, to: other)
        setAside = other
        try open()
    }

    /// Primary codes of SQLite: the file is malformed, or not a database any more.
    private static func isCorrupt(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: [11, 26].contains(error.code & 0xFF)
        case StoreError.failed(let code, _): [11, 26].contains(code & 0xFF)
        default: false
        }
    }
}
