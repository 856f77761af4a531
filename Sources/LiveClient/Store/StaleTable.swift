import LiveState
import SQLite

/// The things of an area that could not be reloaded, stored with its metadata.
enum StaleTable {
    /// Creates the table if it is missing, as in files from an earlier release of the SDK.
    static func make(_ database: Database) throws(SQLiteError) {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS live_known_stale (area TEXT, position INTEGER, entity TEXT NOT NULL, id TEXT NOT NULL,
                types TEXT NOT NULL, failure TEXT NOT NULL, status INTEGER, PRIMARY KEY (area, position)) STRICT, WITHOUT ROWID
            """)
    }

    static func read(_ area: String, in transaction: StoreTransaction) throws -> [StaleThing]? {
        let rows = try transaction.rows(
            "SELECT entity, id, types, failure, status FROM live_known_stale WHERE area = ? ORDER BY position",
            [.text(area)])
        let things = rows.compactMap { row -> StaleThing? in
            guard let entity = row[0].text, let id = row[1].text, let types = row[2].text else { return nil }
            return StaleThing(
                thing: Thing(entity: entity, id: id), types: types.split(separator: "\n").map(String.init),
                failure: failure(row[3].text ?? "", row[4].integer))
        }
        return things.isEmpty ? nil : things
    }

    static func write(_ things: [StaleThing], _ area: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM live_known_stale WHERE area = ?", [.text(area)])
        for (position, stale) in things.enumerated() {
            let (name, status) = text(stale.failure)
            try transaction.execute(
                "INSERT INTO live_known_stale VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    .text(area), .integer(Int64(position)), .text(stale.thing.entity), .text(stale.thing.id),
                    .text(stale.types.joined(separator: "\n")), .text(name), status.map { .integer($0) } ?? .null,
                ])
        }
    }

    private static func text(_ failure: RequestFailure) -> (String, Int64?) {
        switch failure {
        case .rejected(let status): ("rejected", Int64(status))
        case .unreadable: ("unreadable", nil)
        // A retry has had a new token since, and the wait that the server asked for is over.
        case .retry, .unauthorized: ("retry", nil)
        }
    }

    private static func failure(_ name: String, _ status: Int64?) -> RequestFailure {
        switch name {
        case "rejected": .rejected(status: status.map(Int.init) ?? 400)
        case "unreadable": .unreadable
        default: .retry(after: nil)
        }
    }
}
