import LiveState

/// What is stored of a list for the next start.
public struct StoredList<Value: Sendable>: Sendable {
    /// An item, with its position in the list.
    public struct Item: Sendable {
        /// The thing's id.
        public var id: String
        /// Its position in the list.
        public var key: ListKey
        /// The last known value; nil if there is none.
        public var value: Value?
        /// Whether it has changed since it was fetched.
        public var isOld: Bool

        /// Makes a stored item.
        public init(id: String, key: ListKey, value: Value?, isOld: Bool) {
            (self.id, self.key, self.value, self.isOld) = (id, key, value, isOld)
        }
    }

    /// The list's name.
    public var name: String
    /// The entity of its things.
    public var entity: String
    /// The intervals in which nothing is missing, or was missing.
    public var intervals: [ListInterval]
    /// The items in these intervals, in order.
    public var items: [Item]

    /// Makes a stored list.
    public init(name: String, entity: String, intervals: [ListInterval], items: [Item]) {
        (self.name, self.entity, self.intervals, self.items) = (name, entity, intervals, items)
    }
}

/// The lists of an area, and the cursor with which they were stored. Nil: there is none, so they are old.
public struct StoredLists<Value: Sendable>: Sendable {
    /// The cursor of the state that they belong to.
    public var finger: String?
    /// One for each name.
    public var lists: [StoredList<Value>]

    /// Makes lists with their cursor.
    public init(finger: String?, lists: [StoredList<Value>]) { (self.finger, self.lists) = (finger, lists) }
}

/// Stores lists. In an implementation of your own, `commit` writes all of it or nothing.
public protocol ListStore<Value>: Sendable {
    /// The app's type of a thing.
    associatedtype Value: Sendable

    /// Returns what was last stored for an area; nil if there never was anything.
    func loadLists(area: String) async throws -> StoredLists<Value>?

    /// Stores the cursor of the area's lists, and in the same transaction the lists, which replace all stored ones. If `lists` is
    /// nil, the stored ones remain.
    func commit(area: String, finger: String?, lists: [StoredList<Value>]?) async throws

    /// Whether lists can be written in a transaction of the machine's store.
    var isInMachineStore: Bool { get }

    /// Does the same as ``commit(area:finger:lists:)`` in a transaction of the machine's store, with the state: `transaction` is
    /// that store's `Transaction`. False: it belongs to another store, and ``commit(area:finger:lists:)`` is called later.
    func write(area: String, finger: String?, lists: [StoredList<Value>]?, in transaction: Any) throws -> Bool
}

extension ListStore {
    /// The default: lists are not in the machine's store.
    public var isInMachineStore: Bool { false }

    /// The default: lists are not in the machine's store.
    public func write(area: String, finger: String?, lists: [StoredList<Value>]?, in transaction: Any) throws -> Bool {
        false
    }
}

/// Stores lists in a ``SQLiteStore``, together with the state of their machine.
public final class SQLiteListStore<Value: Sendable>: ListStore {
    private let store: SQLiteStore
    private let encode: @Sendable (Value) throws -> [UInt8]
    private let decode: @Sendable ([UInt8]) throws -> Value

    /// Creates the tables if they are missing.
    ///
    /// - Parameters:
    ///   - encode: turns a value into bytes, such as JSON.
    ///   - decode: turns such bytes into the value. If it throws, the lists of the area are not restored but fetched.
    ///   - deadline: the time limit for creating the tables, in ms. After it this throws ``StoreError/noAnswer``; a second
    ///     attempt does no harm.
    public init(
        _ store: SQLiteStore, deadline: Milliseconds = 10_000, encode: @escaping @Sendable (Value) throws -> [UInt8],
        decode: @escaping @Sendable ([UInt8]) throws -> Value
    ) async throws {
        (self.store, self.encode, self.decode) = (store, encode, decode)
        try await Deadline.run(milliseconds: deadline, late: StoreError.noAnswer) {
            try await store.add { try Self.makeTables($0) }
        }
    }

    private static func makeTables(_ transaction: StoreTransaction) throws {
        // The columns of a key come first: otherwise SQLite 3.40's `integrity_check` reports NULL values in such a table.
        for table in [
            "live_list_areas (area TEXT PRIMARY KEY, finger TEXT)",
            "live_lists (area TEXT, name TEXT, entity TEXT NOT NULL, PRIMARY KEY (area, name))",
            """
            live_list_intervals (area TEXT, name TEXT, position INTEGER, lower TEXT NOT NULL,
                lower_rank INTEGER NOT NULL, lower_text TEXT NOT NULL, upper TEXT NOT NULL,
                upper_rank INTEGER NOT NULL, upper_text TEXT NOT NULL, PRIMARY KEY (area, name, position))
            """,
            """
            live_list_items (area TEXT, name TEXT, position INTEGER, id TEXT NOT NULL, rank INTEGER NOT NULL,
                text TEXT NOT NULL, value BLOB, is_old INTEGER NOT NULL, PRIMARY KEY (area, name, position))
            """,
        ] { try transaction.execute("CREATE TABLE IF NOT EXISTS \(table) STRICT, WITHOUT ROWID") }
    }

    /// Returns what was last stored for an area. It throws a ``StoreError``, or what `decode` throws.
    public func loadLists(area: String) async throws -> StoredLists<Value>? {
        let decode = decode
        return try await store.transaction { transaction in
            let found = try transaction.rows("SELECT finger FROM live_list_areas WHERE area = ?", [.text(area)]).first
            guard let found else { return nil }
            let lists = try transaction.rows(
                "SELECT name, entity FROM live_lists WHERE area = ? ORDER BY name", [.text(area)])
            return StoredLists(
                finger: found[0].text,
                lists: try lists.map { row in
                    let list: [StoreValue] = [.text(area), row[0]]
                    return StoredList(
                        name: row[0].text ?? "", entity: row[1].text ?? "",
                        intervals: try Self.intervals(list, transaction),
                        items: try Self.items(list, transaction, decode))
                })
        }
    }

    private static func intervals(
        _ list: [StoreValue], _ transaction: StoreTransaction
    ) throws -> [ListInterval] {
        try transaction.rows(
            """
            SELECT lower, lower_rank, lower_text, upper, upper_rank, upper_text FROM live_list_intervals
            WHERE area = ? AND name = ? ORDER BY position
            """, list
        ).map { row in
            ListInterval(lower: ListEnd(row[0], row[1], row[2]), upper: ListEnd(row[3], row[4], row[5]))
        }
    }

    private static func items(
        _ list: [StoreValue], _ transaction: StoreTransaction, _ decode: ([UInt8]) throws -> Value
    ) throws -> [StoredList<Value>.Item] {
        try transaction.rows(
            """
            SELECT id, rank, text, value, is_old FROM live_list_items WHERE area = ? AND name = ? ORDER BY position
            """, list
        ).map { row in
            var value: Value?
            if case .blob(let bytes) = row[3] { value = try decode(bytes) }
            return StoredList<Value>.Item(
                id: row[0].text ?? "", key: ListKey(rank: row[1].integer ?? 0, text: row[2].text ?? ""), value: value,
                isOld: row[4].integer != 0)
        }
    }

    /// Stores all of it, or throws and leaves the stored lists unchanged.
    public func commit(area: String, finger: String?, lists: [StoredList<Value>]?) async throws {
        let encode = encode
        try await store.transaction { try Self.write(area, finger, lists, $0, encode) }
    }

    /// The lists are in the same file.
    public var isInMachineStore: Bool { true }

    /// Writes the lists in a transaction of the same ``SQLiteStore``; false for one of another store.
    public func write(area: String, finger: String?, lists: [StoredList<Value>]?, in transaction: Any) throws -> Bool {
        guard let transaction = transaction as? StoreTransaction, transaction.store == ObjectIdentifier(store) else {
            return false
        }
        try Self.write(area, finger, lists, transaction, encode)
        return true
    }

    private static func write(
        _ area: String, _ finger: String?, _ lists: [StoredList<Value>]?, _ transaction: StoreTransaction,
        _ encode: (Value) throws -> [UInt8]
    ) throws {
        try transaction.execute(
            "INSERT OR REPLACE INTO live_list_areas (area, finger) VALUES (?, ?)",
            [.text(area), finger.map { .text($0) } ?? .null])
        guard let lists else { return }
        for table in ["live_lists", "live_list_intervals", "live_list_items"] {
            try transaction.execute("DELETE FROM \(table) WHERE area = ?", [.text(area)])
        }
        for list in lists { try insert(list, area, transaction, encode) }
    }

    private static func insert(
        _ list: StoredList<Value>, _ area: String, _ transaction: StoreTransaction, _ encode: (Value) throws -> [UInt8]
    ) throws {
        let name: [StoreValue] = [.text(area), .text(list.name)]
        try transaction.execute(
            "INSERT INTO live_lists (area, name, entity) VALUES (?, ?, ?)", name + [.text(list.entity)])
        for (position, interval) in list.intervals.enumerated() {
            try transaction.execute(
                """
                INSERT INTO live_list_intervals
                    (area, name, position, lower, lower_rank, lower_text, upper, upper_rank, upper_text)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """, name + [.integer(Int64(position))] + interval.lower.stored + interval.upper.stored)
        }
        for (position, item) in list.items.enumerated() {
            let value = try item.value.map { StoreValue.blob(try encode($0)) } ?? .null
            try transaction.execute(
                """
                INSERT INTO live_list_items (area, name, position, id, rank, text, value, is_old)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                name + [
                    .integer(Int64(position)), .text(item.id), .integer(item.key.rank), .text(item.key.text), value,
                    .integer(item.isOld ? 1 : 0),
                ])
        }
    }
}

extension ListEnd {
    /// The kind of the end, its rank and its text.
    fileprivate var stored: [StoreValue] {
        switch self {
        case .beginning: [.text("beginning"), .integer(0), .text("")]
        case .at(let key): [.text("at"), .integer(key.rank), .text(key.text)]
        case .end: [.text("end"), .integer(0), .text("")]
        }
    }

    fileprivate init(_ end: StoreValue, _ rank: StoreValue, _ text: StoreValue) {
        switch end.text {
        case "beginning": self = .beginning
        case "end": self = .end
        default: self = .at(key: ListKey(rank: rank.integer ?? 0, text: text.text ?? ""))
        }
    }
}
