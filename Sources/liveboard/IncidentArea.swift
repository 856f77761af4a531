import LiveClient

/// What a machine has to know of the incidents: the screens decide what is fetched, the file keeps it.
struct IncidentArea: LiveArea {
    /// All that the server keeps: one answer has room for it.
    static let maximumIncidents = 100

    let name = "incidents"
    let service: IncidentService
    let screens: LiveScreens<IncidentService>
    /// Shows what the last run knew, and of when that is.
    let showStored: @Sendable ([Incident], _ asOf: Milliseconds?) async -> Void

    func restore(from store: SQLiteStore) async throws {
        guard let asOf = try await store.load(area: name)?.lastSuccess else { return }
        await showStored(try await store.transaction { try IncidentTable.all(in: $0) }, asOf)
    }

    func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }

    /// What the next run begins with. What is shown now comes by the pages of the list.
    func snapshot() async throws -> [Incident] { try await service.list(limit: Self.maximumIncidents).incidents }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Incident> {
        LiveReload(try await screens.reload(thing, types: types))
    }

    func write(_ change: LiveChange<[Incident], Incident>, in transaction: StoreTransaction) throws {
        switch change {
        case .snapshot(let incidents):
            try IncidentTable.removeAll(in: transaction)
            for incident in incidents { try IncidentTable.put(incident, in: transaction) }
        case .things(let things):
            for (thing, reload) in things {
                switch reload {
                case .value(let incident): try IncidentTable.put(incident, in: transaction)
                case .gone, .notOurs: try IncidentTable.remove(thing.id, in: transaction)
                case .unneeded, .knownStale: break
                }
            }
        }
    }

    /// The screens have it already.
    func show(_ change: LiveChange<[Incident], Incident>) async {}

    func renewToken() async throws { _ = try await service.enter() }
}

/// The board's file: opened as that of the account that is let in at this address, and of no other.
enum BoardFile {
    /// Counts up with the tables.
    static let schema: Int64 = 1
    /// Where no file is named: SQLite's own name for what ends with the process.
    static let inMemory = ":memory:"

    private struct IsNew: Error {}

    /// Whose state the file holds; nil: nobody's yet. So the last state can be shown while nobody answers.
    static func account(in path: String, of server: String) async throws -> String? {
        do {
            // No account has this name, and a file that is made for it is given up again.
            let identity = SQLiteStore.Identity(schema: schema, account: "", server: server)
            await (try SQLiteStore.open(path: path, identity: identity) { _ in throw IsNew() }).close()
            return nil
        } catch StoreError.otherAccount(let found, _) {
            return found
        } catch is IsNew {
            return nil
        }
    }

    static func open(_ path: String, account: String, server: String) async throws -> SQLiteStore {
        let identity = SQLiteStore.Identity(schema: schema, account: account, server: server)
        return try await SQLiteStore.open(path: path, identity: identity) { try IncidentTable.create(in: $0) }
    }
}
