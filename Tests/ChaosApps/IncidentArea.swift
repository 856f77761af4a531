import LiveClient
import LiveState

/// The incidents of one account, as a machine needs them: what the screens do not show is neither fetched nor kept.
struct IncidentArea: LiveArea {
    typealias Store = SQLiteStore

    let api: IncidentAPI
    let screens: LiveScreens<IncidentAPI>

    var name: String { "incidents" }

    func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }

    func snapshot() async throws -> [Incident] { try await api.all() }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Incident> {
        LiveReload(try await screens.reload(thing, types: types))
    }

    func write(_ change: LiveChange<[Incident], Incident>, in transaction: StoreTransaction) throws {
        switch change {
        case .snapshot(let incidents):
            try transaction.execute("DELETE FROM incidents")
            for incident in incidents { try Self.put(incident, in: transaction) }
        case .things(let things):
            for (thing, reload) in things {
                switch reload {
                case .value(let incident): try Self.put(incident, in: transaction)
                case .gone, .notOurs, .unneeded, .knownStale:
                    try transaction.execute("DELETE FROM incidents WHERE id = ?", [.text(thing.id)])
                }
            }
        }
    }

    /// The screens show what they have fetched.
    func show(_ change: LiveChange<[Incident], Incident>) async {}

    static func makeTable(in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            CREATE TABLE incidents (id TEXT PRIMARY KEY, number INTEGER NOT NULL, mark TEXT NOT NULL,
            version INTEGER NOT NULL) STRICT
            """)
    }

    private static func put(_ incident: Incident, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT OR REPLACE INTO incidents VALUES (?, ?, ?, ?)",
            [.text(incident.id), .integer(incident.number), .text(incident.mark), .integer(incident.version)])
    }

    static func stored(in transaction: StoreTransaction) throws -> [Row] {
        try transaction.rows("SELECT id, mark, version FROM incidents").compactMap { row in
            guard let id = row[0].text, let mark = row[1].text, let version = row[2].integer else { return nil }
            return Row(id: id, mark: mark, version: version)
        }
    }
}
