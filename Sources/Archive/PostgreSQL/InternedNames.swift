import LiveUpdates
import PostgreSQL

/// A text that is stored once for its owner.
struct Name: Hashable {
    let owner: Int64
    let text: BytewiseKey

    init(owner: Int64, _ text: String) {
        self.owner = owner
        self.text = BytewiseKey(text: text)
    }
}

/// Finds the numbers of many texts at once, and gives numbers to those that have none. To be used within a transaction in which
/// others cannot delete them.
struct InternedNames {
    enum Table {
        case accounts
        case streams
        case types

        fileprivate var name: String {
            switch self {
            case .accounts: "livegate_accounts"
            case .streams: "livegate_streams"
            case .types: "livegate_types"
            }
        }

        fileprivate var select: String {
            switch self {
            case .accounts:
                """
                SELECT k.ordinal, t.id FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY k(owner, name, ordinal)
                JOIN livegate_accounts t ON t.name = k.name
                """
            case .streams: Self.select("livegate_streams")
            case .types: Self.select("livegate_types")
            }
        }

        fileprivate var insert: String {
            switch self {
            case .accounts:
                """
                INSERT INTO livegate_accounts (name) SELECT k.name FROM unnest($1::bigint[], $2::bytea[]) k(owner, name)
                ORDER BY 1 ON CONFLICT DO NOTHING
                """
            case .streams: Self.insert("livegate_streams")
            case .types: Self.insert("livegate_types")
            }
        }

        private static func select(_ table: String) -> String {
            """
            SELECT k.ordinal, t.id FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY k(owner, name, ordinal)
            JOIN \(table) t ON t.account = k.owner AND t.name = k.name
            """
        }

        private static func insert(_ table: String) -> String {
            """
            INSERT INTO \(table) (account, name) SELECT k.owner, k.name FROM unnest($1::bigint[], $2::bytea[])
            k(owner, name) ORDER BY 1, 2 ON CONFLICT DO NOTHING
            """
        }
    }

    private let connection: Connection

    private let sizes: TableSizes?

    /// - Parameter sizes: of a writer that adds many at once.
    init(_ connection: Connection, _ sizes: TableSizes? = nil) {
        self.connection = connection
        self.sizes = sizes
    }

    private static func values(_ names: [Name]) -> [Parameter] {
        [.integers(names.map(\.owner)), .byteStrings(names.map { Array($0.text.text.utf8) })]
    }

    /// One for each of the names, in their order.
    func numbers(_ table: Table, _ names: [Name]) throws -> [Int64] {
        let unique = Array(Set(names))
        var known: [Name: Int64] = [:]
        func find(_ names: [Name]) throws {
            let rows = try connection.run(table.select, Self.values(names))
            for row in 0..<rows.count { known[names[Int(rows.integer(row, 0)) - 1]] = rows.integer(row, 1) }
        }
        try find(unique)
        let missing = unique.filter { known[$0] == nil }
        if !missing.isEmpty {
            _ = try connection.run(table.insert, Self.values(missing))
            try sizes?.added(missing.count, to: table.name, connection)
            try find(missing)
        }
        return try names.map { name in
            guard let number = known[name] else { throw ArchiveError.corrupt("a name that is not kept") }
            return number
        }
    }

    // MARK: - Things

    /// The account and entity that a waiting mark has for its thing.
    struct Owner {
        let account: Int64
        let entity: String
    }

    struct Things {
        /// One for each of the names.
        let numbers: [Int64]
        /// Those that were not there: their last event has still to be set.
        let made: [Int64]
    }

    /// Locks things, and creates those that are missing. If the last event of a thing lies before the floor, the thing is gone
    /// and its marks are deleted. Such a thing, or one that is created, gets the marks that wait for it.
    func things(_ names: [Name], of owners: [Owner], _ floor: EventKey) throws -> Things {
        var owner: [Name: Owner] = [:]
        for (name, one) in zip(names, owners) { owner[name] = one }
        let unique = Array(owner.keys)
        var (known, gone): ([Name: Int64], [Name]) = ([:], [])
        try lock(unique, floor) { name, number, isGone in
            known[name] = number
            if isGone { gone.append(name) }
        }
        let missing = unique.filter { known[$0] == nil }
        var made: [Int64] = []
        if !missing.isEmpty {
            let rows = try connection.run(Self.make, Self.values(missing))
            for row in 0..<rows.count { made.append(rows.integer(row, 0)) }
            try sizes?.added(made.count, to: "livegate_things", connection)
            try lock(missing, floor) { name, number, isGone in
                known[name] = number
                if isGone { gone.append(name) }
            }
        }
        if !gone.isEmpty {
            let numbers = gone.compactMap { known[$0] }
            _ = try connection.run("DELETE FROM livegate_marks WHERE thing = ANY($1)", [.integers(numbers)])
            try takeWaitingMarks(gone, owner, numbers)
        }
        let numbers = try names.map { name in
            guard let number = known[name] else { throw ArchiveError.corrupt("a thing that is not kept") }
            return number
        }
        return Things(numbers: numbers, made: made)
    }

    private static let make = """
        INSERT INTO livegate_things (stream, name, last, type) SELECT k.owner, k.name, ''::bytea, 0
        FROM unnest($1::bigint[], $2::bytea[]) k(owner, name) ORDER BY 1, 2 ON CONFLICT DO NOTHING RETURNING id
        """

    private func lock(_ names: [Name], _ floor: EventKey, _ each: (Name, Int64, Bool) -> Void) throws {
        let rows = try connection.run(
            """
            SELECT k.ordinal, t.id, t.last <= $3 FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY
            k(owner, name, ordinal) JOIN livegate_things t ON t.stream = k.owner AND t.name = k.name
            ORDER BY t.id FOR UPDATE OF t
            """, Self.values(names) + [.bytes(floor.bytes)])
        for row in 0..<rows.count {
            each(names[Int(rows.integer(row, 0)) - 1], rows.integer(row, 1), rows.bool(row, 2))
        }
    }

    /// Moves marks of people who had read a thing before its first event arrived in this store.
    private func takeWaitingMarks(_ names: [Name], _ owners: [Name: Owner], _ things: [Int64]) throws {
        let owners = names.compactMap { owners[$0] }
        _ = try connection.run(
            """
            WITH deleted AS (DELETE FROM livegate_waiting w
            USING unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) k(account, entity, name, thing)
            WHERE w.account = k.account AND w.entity = k.entity AND w.name = k.name
            RETURNING w.person, k.thing, w.key, w.since)
            INSERT INTO livegate_marks (person, thing, key, since) SELECT person, thing, key, since FROM deleted
            ON CONFLICT (person, thing) DO UPDATE SET key = excluded.key, since = excluded.since
            """,
            [
                .integers(owners.map(\.account)), .byteStrings(owners.map { Array($0.entity.utf8) }),
                .byteStrings(names.map { Array($0.text.text.utf8) }), .integers(things),
            ])
    }
}
