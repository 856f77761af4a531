import LiveClient

/// The incidents for a machine: the screens decide what is fetched, and the file stores it.
struct IncidentArea: LiveArea {
    /// All incidents that the server has; they fit in one answer.
    static let maximumIncidents = 100

    let name = "incidents"
    let service: IncidentService
    let screens: LiveScreens<IncidentService>
    /// Shows the state of the last run, with its time.
    let showStored: @Sendable ([Incident], _ asOf: Milliseconds?) async -> Void

    func restore(from store: SQLiteStore) async throws {
        guard let asOf = try await store.load(area: name)?.lastSuccess else { return }
        await showStored(try await store.transaction { try IncidentTable.all(in: $0) }, asOf)
    }

    func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }

    /// The state that the next run begins with. The list's pages provide what is shown now.
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

/// The board's file. It is opened only for the account that this address signs in.
enum BoardFile {
    /// Increases with each change of the tables.
    static let schema: Int64 = 1
    /// The path if no file is named: SQLite's own name for a store that ends with the process.
    static let inMemory = ":memory:"

    private struct IsNew: Error {}

    /// The account of the file; nil: none yet. With it the last state can be shown while the server does not answer.
    static func account(in path: String, of server: String) async throws -> String? {
        do {
            // No account has this name, and a file that is made for it is dropped again.
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
