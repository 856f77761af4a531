import Foundation
import LiveClient
import Locks

/// An element with what is stored of it. It is encoded when it is fetched: an element that cannot be encoded fails alone, and with
/// it no transaction.
struct CollectionRow<Element: Codable & Identifiable & Sendable>: Sendable
where Element.ID: LosslessStringConvertible & Sendable {
    let element: Element
    let json: String

    var id: String { element.id.description }
    var stored: CollectionRows.Row { (id, json) }

    init(_ element: Element) throws {
        self.element = element
        json = String(decoding: try JSONEncoder().encode(element), as: UTF8.self)
    }

    init(json: String) throws {
        element = try JSONDecoder().decode(Element.self, from: Data(json.utf8))
        self.json = json
    }
}

/// The rows of one collection in the table of all of them, in a transaction of the store.
final class CollectionRows: Sendable {
    typealias Row = (id: String, json: String)

    /// The collection that the rows were of is gone: another one of its name may have the rows now.
    struct Closed: Error {}

    /// What the machine's metadata is stored under: no area of an app has such a name. Another version has no metadata, so
    /// everything is fetched.
    let area: String
    /// What the rows are stored under. Another entity has other rows, whatever the name is.
    private let base: String
    private let entity: String
    private let isClosed = Lock(false)

    init(entity: String, name: String?, version: Int) {
        self.entity = entity
        base = "collection " + (name.map { "\(entity)/\($0)" } ?? entity)
        area = base + Self.versionMark + "\(version)"
    }

    /// No entity and no name contains it.
    private static let versionMark = "\u{1}"

    /// From now on nothing is written.
    func close() { isClosed.withLock { $0 = true } }

    /// In each transaction: a file that was corrupt and has begun again has no table.
    private func prepare(_ transaction: StoreTransaction) throws {
        if isClosed.withLock({ $0 }) { throw Closed() }
        try transaction.execute(
            """
            CREATE TABLE IF NOT EXISTS live_rows (
                area TEXT NOT NULL, entity TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, json TEXT NOT NULL,
                PRIMARY KEY (area, id), UNIQUE (area, position)
            ) STRICT, WITHOUT ROWID
            """)
    }

    /// What is stored of each element, in order.
    func all(in transaction: StoreTransaction) throws -> [String] {
        try prepare(transaction)
        var (found, last): ([String], Int64) = ([], 0)
        // By pieces, for there may be more than one query gives.
        while true {
            let rows = try transaction.rows(
                """
                SELECT json, position FROM live_rows WHERE area = ? AND position > ? ORDER BY position
                LIMIT \(StoreTransaction.maximumRows)
                """, [.text(base), .integer(last)])
            for row in rows {
                guard let json = row[0].text, let position = row[1].integer else { continue }
                found.append(json)
                last = position
            }
            if rows.count < StoreTransaction.maximumRows { return found }
        }
    }

    func replace(_ rows: [Row], in transaction: StoreTransaction) throws {
        try prepare(transaction)
        try transaction.execute("DELETE FROM live_rows WHERE area = ?", [.text(base)])
        // The cursors of other versions belong to the rows that are replaced.
        let versions = base + Self.versionMark
        try transaction.execute(
            "DELETE FROM live_areas WHERE area != ? AND substr(area, 1, ?) = ?",
            [.text(area), .integer(Int64(versions.unicodeScalars.count)), .text(versions)])
        for (index, row) in rows.enumerated() {
            try transaction.execute(
                "INSERT INTO live_rows (area, entity, id, position, json) VALUES (?, ?, ?, ?, ?)",
                [.text(base), .text(entity), .text(row.id), .integer(Int64(index + 1)), .text(row.json)])
        }
    }

    /// A new one is the last.
    func put(_ row: Row, in transaction: StoreTransaction) throws {
        try prepare(transaction)
        try transaction.execute(
            """
            INSERT INTO live_rows (area, entity, id, position, json)
            SELECT ?1, ?2, ?3, ifnull(max(position), 0) + 1, ?4 FROM live_rows WHERE area = ?1
            ON CONFLICT (area, id) DO UPDATE SET json = excluded.json
            """, [.text(base), .text(entity), .text(row.id), .text(row.json)])
    }

    func remove(_ id: String, in transaction: StoreTransaction) throws {
        try prepare(transaction)
        try transaction.execute("DELETE FROM live_rows WHERE area = ? AND id = ?", [.text(base), .text(id)])
    }
}
