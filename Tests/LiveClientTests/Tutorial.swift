// The code of Tutorial.md in LiveClient.docc, block by block; TutorialTests.swift compares the two and runs it.

import Foundation
import LiveClient

/// A row of the list.
struct Incident: Codable, Equatable, Sendable {
    var id: String
    /// Counts up: the newest has the highest.
    var number: Int64
    var title: String
}

/// The app's ordinary API.
struct IncidentAPI: Sendable {
    /// The app's HTTP client: sends a GET for the path, with the access token. It throws when there is no answer.
    var get: @Sendable (_ path: String) async throws -> (status: Int, body: Data)

    func list() async throws -> [Incident] { try await answer("/incidents") }

    func incident(_ id: String) async throws -> Incident { try await answer("/incidents/\(id)") }

    private func answer<Value: Decodable>(_ path: String) async throws -> Value {
        let (status, body) = try await get(path)
        guard status == 200 else { throw RequestError(status: status) }
        return try JSONDecoder().decode(Value.self, from: body)
    }
}

/// What the screen shows. In SwiftUI make it `@Observable`, and leave `changed` out.
@MainActor final class IncidentList {
    /// The newest first; nil: nothing is known yet.
    private(set) var rows: [Incident]?
    /// What to say of how old the rows may be; nil: nothing.
    private(set) var sign: String?
    private(set) var needsSignIn = false
    /// Called after each change: draw.
    var changed: @MainActor () -> Void = {}

    func replace(_ incidents: [Incident]) {
        rows = incidents.sorted { $0.number > $1.number }
        changed()
    }

    func apply(_ change: LiveChange<[Incident], Incident>) {
        switch change {
        case .snapshot(let incidents): replace(incidents)
        case .things(let things):
            var incidents = rows ?? []
            for (thing, reload) in things {
                incidents.removeAll { $0.id == thing.id }
                if case .value(let incident) = reload { incidents.append(incident) }
            }
            replace(incidents)
        }
    }
}

/// The table of the incidents, in a transaction of the store.
enum IncidentTable {
    static func create(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "CREATE TABLE incidents (id TEXT PRIMARY KEY, number INTEGER NOT NULL, title TEXT NOT NULL) STRICT")
    }

    static func all(in transaction: StoreTransaction) throws -> [Incident] {
        try transaction.rows("SELECT id, number, title FROM incidents").compactMap { row in
            guard let id = row[0].text, let number = row[1].integer, let title = row[2].text else { return nil }
            return Incident(id: id, number: number, title: title)
        }
    }

    static func put(_ incident: Incident, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT OR REPLACE INTO incidents (id, number, title) VALUES (?, ?, ?)",
            [.text(incident.id), .integer(incident.number), .text(incident.title)])
    }

    static func remove(_ id: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM incidents WHERE id = ?", [.text(id)])
    }

    static func removeAll(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM incidents")
    }
}

/// The incidents, as a machine needs them.
struct IncidentArea: LiveArea {
    let api: IncidentAPI
    let list: IncidentList

    var name: String { "incidents" }

    /// At the start: what was stored, if anything ever was.
    func restore(from store: SQLiteStore) async throws {
        guard try await store.load(area: name)?.lastSuccess != nil else { return }
        await list.replace(try await store.transaction { try IncidentTable.all(in: $0) })
    }

    /// At the first start, and whenever too much was missed to catch up.
    func snapshot() async throws -> [Incident] { try await api.list() }

    /// Whenever an event names an incident. A 404 is thrown on: the machine knows what it means.
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Incident> {
        .value(try await api.incident(thing.id))
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
                case .gone, .notOurs, .unneeded: try IncidentTable.remove(thing.id, in: transaction)
                case .knownStale: break
                }
            }
        }
    }

    /// Behind each commit.
    func show(_ change: LiveChange<[Incident], Incident>) async { await list.apply(change) }
}

/// The live list of one account.
struct LiveIncidents: Sendable {
    let client: LiveClient
    let store: SQLiteStore
    let machine: LiveMachine<IncidentArea>

    /// - Parameters:
    ///   - url: the stream's, such as `wss://live.example.com/live/v1`.
    ///   - folder: has the files; it has to be there.
    ///   - token: gives an access token that is good for 90 seconds at least.
    static func open(
        _ area: IncidentArea, url: String, account: String, folder: String,
        token: @escaping @Sendable () async throws -> String
    ) async throws -> LiveIncidents {
        var configuration = LiveClientConfiguration(url: url)
        configuration.entities = ["incident"]
        let client = try LiveClient(configuration, token: token)
        let identity = SQLiteStore.Identity(schema: 1, account: account, server: url)
        let store = try await openStore(folder, identity)
        let machine = LiveMachine(area, store: store, client: client, settings: machineSettings())
        return LiveIncidents(client: client, store: store, machine: machine)
    }

    static func machineSettings() -> UpdateMachine.Settings {
        var settings = UpdateMachine.Settings()
        settings.entities = ["incident"]
        return settings
    }

    /// A file for each account and server: who signs in here later has another one.
    static func openStore(_ folder: String, _ identity: SQLiteStore.Identity) async throws -> SQLiteStore {
        let path = "\(folder)/\(identity.fileName)"
        do {
            return try await SQLiteStore.open(path: path, identity: identity) { try IncidentTable.create(in: $0) }
        } catch StoreError.otherSchema {
            try await SQLiteStore.remove(path: path)
            return try await SQLiteStore.open(path: path, identity: identity) { try IncidentTable.create(in: $0) }
        }
    }
}

extension IncidentList {
    func show(_ view: UpdateMachine.View) {
        needsSignIn = view.isUnauthorized
        switch view.sign {
        case nil, .connected: sign = nil
        case .connecting: sign = "Connecting …"
        case .cannotConnect: sign = "No connection: this may be old."
        case .refused: sign = "The server does not let this app in."
        case .sourceStalled: sign = "The server gets no news: this may be old."
        }
        changed()
    }
}

extension LiveIncidents {
    /// Shows what is stored, then keeps it live. It returns after ``close()``.
    func run(on list: IncidentList) async {
        await machine.start()
        for await view in await machine.views { await list.show(view) }
    }
}

extension LiveIncidents {
    func enterBackground() async {
        client.enterBackground()
        await machine.enterBackground()
    }

    func enterForeground() async {
        client.enterForeground()
        await machine.enterForeground()
    }

    /// From `NWPathMonitor` or its like.
    func pathChanged(isSatisfied: Bool) async {
        client.pathChanged(isSatisfied: isSatisfied)
        await machine.pathChanged(isSatisfied: isSatisfied)
    }

    /// Somebody pulls the screen.
    func refresh() async { await machine.refresh() }

    /// Somebody has signed in again.
    func signedIn() async { await machine.tokenChanged(isValid: true) }

    /// The list is not needed any more.
    func close() async {
        await machine.stop()
        await client.close()
        await store.close()
    }

    /// Somebody signs out. What is stored stays for the next time, or is deleted.
    func signOut(keep: Bool) async throws {
        await machine.stop()
        await client.close()
        try await store.signOut(keep: keep)
    }
}

/// Opens the list of an account, and begins to keep it live.
@MainActor func showIncidents(
    of account: String, from api: IncidentAPI, url: String, folder: String,
    token: @escaping @Sendable () async throws -> String
) async throws -> (list: IncidentList, live: LiveIncidents) {
    let list = IncidentList()
    let area = IncidentArea(api: api, list: list)
    let live = try await LiveIncidents.open(area, url: url, account: account, folder: folder, token: token)
    Task { await live.run(on: list) }
    return (list, live)
}
