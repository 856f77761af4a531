import LiveState

/// What is kept of a list over a restart.
public struct StoredList<Value: Sendable>: Sendable {
    /// An item: what it is, and where it stands.
    public struct Item: Sendable {
        /// The thing's id.
        public var id: String
        /// Where it stands in the list.
        public var key: ListKey
        /// The last that is known; nil: nothing.
        public var value: Value?
        /// It has changed since it was fetched.
        public var isOld: Bool

        /// An item that is kept.
        public init(id: String, key: ListKey, value: Value?, isOld: Bool) {
            (self.id, self.key, self.value, self.isOld) = (id, key, value, isOld)
        }
    }

    /// The list's name.
    public var name: String
    /// The entity of its things.
    public var entity: String
    /// Where nothing is missing, or was missing.
    public var intervals: [ListInterval]
    /// What stands there, in its order.
    public var items: [Item]

    /// A list that is kept.
    public init(name: String, entity: String, intervals: [ListInterval], items: [Item]) {
        (self.name, self.entity, self.intervals, self.items) = (name, entity, intervals, items)
    }
}

/// The lists of an area, and the finger that they were kept with; nil: none, so they are old.
public struct StoredLists<Value: Sendable>: Sendable {
    /// Of the state that they belong to.
    public var finger: String?
    /// One for each name.
    public var lists: [StoredList<Value>]

    /// Lists with their finger.
    public init(finger: String?, lists: [StoredList<Value>]) { (self.finger, self.lists) = (finger, lists) }
}

/// Where lists are kept. Whoever writes another: `commit` does all of it or nothing.
public protocol ListStore<Value>: Sendable {
    /// What things are to the app.
    associatedtype Value: Sendable

    /// What was kept last of an area; nil: nothing ever was.
    func loadLists(area: String) async throws -> StoredLists<Value>?

    /// Keeps the finger of the area's lists, and in the same transaction the lists, in place of all that were there; without lists
    /// those stay.
    func commit(area: String, finger: String?, lists: [StoredList<Value>]?) async throws

    /// Whether lists can be written in a transaction of the machine's store.
    var isInMachineStore: Bool { get }

    /// The same as ``commit(area:finger:lists:)`` in a transaction of the machine's store, with the state: `transaction` is that
    /// store's `Transaction`. False: it is another store's, and ``commit(area:finger:lists:)`` is called later.
    func write(area: String, finger: String?, lists: [StoredList<Value>]?, in transaction: Any) throws -> Bool
}

extension ListStore {
    /// Lists are kept elsewhere than the state.
    public var isInMachineStore: Bool { false }

    /// Lists are kept elsewhere than the state.
    public func write(area: String, finger: String?, lists: [StoredList<Value>]?, in transaction: Any) throws -> Bool {
        false
    }
}

/// Keeps lists in a ``SQLiteStore``, beside the state of their machine.
public final class SQLiteListStore<Value: Sendable>: ListStore {
    private let store: SQLiteStore
    private let encode: @Sendable (Value) throws -> [UInt8]
    private let decode: @Sendable ([UInt8]) throws -> Value

    /// Makes the tables where they are missing.
    ///
    /// - Parameters:
    ///   - encode: a value as bytes, such as JSON.
    ///   - decode: the value of such bytes. What it throws leaves the lists of the area unread: they are fetched.
    ///   - deadline: so long making the tables may take, in ms. It throws ``StoreError/noAnswer`` then; making them again does no
    ///     harm.
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
        // The columns of a key come first: SQLite 3.40's `integrity_check` says of such a table otherwise that it holds NULL.
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

    /// What was kept last of an area. It throws a ``StoreError``, or what `decode` throws.
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

    /// Keeps all of it, or throws and keeps what was there.
    public func commit(area: String, finger: String?, lists: [StoredList<Value>]?) async throws {
        let encode = encode
        try await store.transaction { try Self.write(area, finger, lists, $0, encode) }
    }

    /// They stand in the same file.
    public var isInMachineStore: Bool { true }

    /// Keeps it in a transaction of the same ``SQLiteStore``; false for one of another store.
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
    /// What it is, the rank and the text.
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
