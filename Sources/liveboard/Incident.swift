import Foundation
import LiveClient

/// An incident from the API of the demo. A list omits the fields that only details have.
struct Incident: Codable, Equatable, Sendable {
    struct Note: Codable, Equatable, Sendable {
        let content: String
        let author: String
    }

    /// The entity of its events.
    static let entity = "incident"

    let id: String
    /// The order of the list: newest is highest.
    let number: Int64
    let title: String
    var status: String
    var urgency: String
    var priority: String?
    var assignee: String?
    /// Milliseconds since 1970. A value older than the shown one changes nothing.
    var updatedAt: Int64
    var notes: [Note]?

    enum CodingKeys: String, CodingKey {
        case id, number, title, status, urgency, priority, assignee, notes
        case updatedAt = "updated_at"
    }

    static func thing(_ id: String) -> Thing { Thing(entity: entity, id: id) }

    /// The newest first.
    var key: ListKey { ListKey(rank: -number, text: id) }
}

/// The incidents in the board's file, as the API last returned them.
///
/// Everything read from it is shown as old until the API has returned it again, so no row needs a mark.
enum IncidentTable {
    static func create(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "CREATE TABLE incidents (id TEXT PRIMARY KEY, number INTEGER NOT NULL, json TEXT NOT NULL) STRICT")
    }

    /// The newest first.
    static func all(in transaction: StoreTransaction) throws -> [Incident] {
        try transaction.rows("SELECT json FROM incidents ORDER BY number DESC").compactMap { row in
            row[0].text.flatMap { try? JSONDecoder().decode(Incident.self, from: Data($0.utf8)) }
        }
    }

    static func put(_ incident: Incident, in transaction: StoreTransaction) throws {
        let json = String(decoding: try JSONEncoder().encode(incident), as: UTF8.self)
        try transaction.execute(
            "INSERT OR REPLACE INTO incidents (id, number, json) VALUES (?, ?, ?)",
            [.text(incident.id), .integer(incident.number), .text(json)])
    }

    static func remove(_ id: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM incidents WHERE id = ?", [.text(id)])
    }

    static func removeAll(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM incidents")
    }
}
