// The Swift code of the articles in LiveClient.docc but Tutorial.md and Collections.md, each block between two comments with its
// article's name and its number there, among what an app would have around it. ArticleTests.swift compares and runs it.
// swift-format-ignore-file

import Foundation
import LiveClient

/// What an app has of its own, as far as the articles mention it.
enum ArticleApp {
    struct Session: Sendable {
        let account = "PACC1"
        func accessToken() async throws -> String { "t" }
        func forget(_ token: String) async {}
    }

    struct Screen: Sendable {
        let seen = ArticleNews<String>()
        func show(_ sign: Freshness?) { seen.add("\(String(describing: sign))") }
        func show(_ value: Incident?, _ knowledge: Knowledge) { seen.add("\(value?.title ?? "nothing") \(knowledge)") }
    }

    struct API: Sendable {
        let applied = ArticleNews<DeferredAction>()

        func apply(_ actions: [DeferredAction]) async throws -> [ActionResult] {
            actions.forEach(applied.add)
            return actions.map { ActionResult(key: $0.key, status: 200) }
        }

        func createIncident(title: String) async throws -> Incident { Incident(id: "P1", number: 1, title: title) }
    }

    struct Model: Sendable {
        let news = ArticleNews<ActionNews>()
        func show(_ one: ActionNews) { news.add(one) }
    }

    struct Response {
        let status: Int
        let retryAfter: Milliseconds?
    }

    struct HTTP {
        let response: Response
        func get(_ path: String) async throws -> (String, Response) { (path, response) }
    }

    struct Path {
        enum Status { case satisfied, unsatisfied }
        let status: Status
    }

    final class Monitor {
        var pathUpdateHandler: ((Path) -> Void)?
    }
}

enum ActionsArticle {
    static func run(
        path: String, identity: SQLiteStore.Identity, api: ArticleApp.API, client: LiveClient, model: ArticleApp.Model
    ) async throws -> (LiveActions, Incident) {
        // Actions.md 1
        let file = try await SQLiteStore.open(path: path, identity: identity) { transaction in
            try transaction.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, is_read TEXT NOT NULL)")
        }
        let store = try await SQLiteActionStore(file) { kind, id, value, transaction in
            // Called in the transaction that keeps the action. No value: nobody knows what the server has, so the row goes.
            guard let value else { return try transaction.execute("DELETE FROM incidents WHERE id = ?", [.text(id)]) }
            try transaction.execute("UPDATE incidents SET is_read = ? WHERE id = ?", [.text(value), .text(id)])
        }
        let actions = try await LiveActions.open(
            store: store, gate: client.gate, tokens: client.tokens,
            functions: LiveActions.Functions(
                send: { try await api.apply($0) }, report: { model.show($0) }))

        try await actions.set("incident.read", "PAM4FGS", to: "true", from: "false")
        let incident = try await actions.perform { try await api.createIncident(title: "No heartbeat") }
        // Actions.md 1
        return (actions, incident)
    }

    static func migrate(path: String, identity: SQLiteStore.Identity) async throws -> SQLiteStore {
        // Actions.md 2
        let newIdentity = SQLiteStore.Identity(schema: 2, account: identity.account, server: identity.server)
        let newFile = try await SQLiteStore.open(path: path, identity: newIdentity) { schema, transaction in
            // One step for each schema that was ever released, so that a device may come from any of them.
            if schema < 2 { try transaction.execute("ALTER TABLE incidents ADD COLUMN title TEXT NOT NULL DEFAULT ''") }
        } prepare: { transaction in
            try transaction.execute(
                "CREATE TABLE incidents (id TEXT PRIMARY KEY, is_read TEXT NOT NULL, title TEXT NOT NULL DEFAULT '')")
        }
        // Actions.md 2
        return newFile
    }
}

enum ConnectionArticle {
    static func follow(_ monitor: ArticleApp.Monitor, _ client: LiveClient, wlanName: @escaping (ArticleApp.Path) -> String) {
        // Connection.md 1
        monitor.pathUpdateHandler = { path in
            client.pathChanged(isSatisfied: path.status == .satisfied, network: wlanName(path))
        }
        // Connection.md 1
    }
}

enum CountingArticle {
    static func run(incident: (id: String, changedAt: Milliseconds), now: Milliseconds) -> ([RefreshCount], [RefreshCount]) {
        // Counting.md 1
        var counts = RefreshCounts(RefreshCounts.Settings())
        _ = counts.handle(.refreshed(screen: "incidents", isManual: true), at: now)
        _ = counts.handle(.shown(screen: "incidents", ts: incident.changedAt), at: now)
        _ = counts.handle(.fetches(screen: "incidents", made: 1, merged: 4, avoided: 0), at: now)

        let values = counts.view.counts            // [RefreshCount], Codable: send them where you like
        _ = counts.handle(.sent(through: "2026-11-22"), at: now)
        // Counting.md 1
        return (values, counts.view.counts)
    }

    actor Counts {
        private var counts = RefreshCounts(RefreshCounts.Settings())
        func note(_ input: RefreshCounts.Input) { _ = counts.handle(input, at: 0) }
    }

    /// Of an area, what it is told when its screens show something.
    struct Area {
        let counts: Counts
        // Counting.md 2
        func shown(_ times: [LiveTime]) async {
            for time in times { await counts.note(.shown(screen: "incidents", ts: time.ts)) }
        }
        // Counting.md 2
    }
}

enum ErrorsArticle {
    static func run(_ http: ArticleApp.HTTP, id: String) async throws -> String {
        // Errors.md 1
        let (body, response) = try await http.get("/incidents/\(id)")
        guard response.status == 200 else { throw RequestError(status: response.status, retryAfter: response.retryAfter) }
        // Errors.md 1
        return body
    }

    static func open(
        _ api: RelevanceArticle.Incidents, _ client: LiveClient, _ store: any ActionStore, _ functions: LiveActions.Functions
    ) async throws -> (LiveScreens<RelevanceArticle.Incidents>, LiveActions) {
        // Errors.md 2
        let screens = LiveScreens(api, gate: client.gate)
        let actions = try await LiveActions.open(store: store, gate: client.gate, functions: functions)
        // Errors.md 2
        return (screens, actions)
    }

    static func sign(
        _ configuration: LiveClientConfiguration, _ session: ArticleApp.Session, _ api: RelevanceArticle.Incidents
    ) throws -> (LiveClient, LiveScreens<RelevanceArticle.Incidents>) {
        // Errors.md 3
        let client = try LiveClient(configuration) { question in
            if let refused = question.replacing { await session.forget(refused) }
            return try await session.accessToken()
        }
        let screens = LiveScreens(api, gate: client.gate, tokens: client.tokens)
        // Errors.md 3
        return (client, screens)
    }
}

enum PartialKnowledgeArticle {
    static func keeper(
        _ screens: LiveScreens<RelevanceArticle.Incidents>, _ store: SQLiteStore
    ) async throws -> ListKeeper<RelevanceArticle.Incidents> {
        // PartialKnowledge.md 1
        let kept = try await SQLiteListStore<Incident>(
            store, encode: { Array(try JSONEncoder().encode($0)) },
            decode: { try JSONDecoder().decode(Incident.self, from: Data($0)) })
        let keeper = ListKeeper(screens, in: kept, area: "incidents")
        // PartialKnowledge.md 1
        return keeper
    }
}

enum RelevanceArticle {
    struct Incidents: ScreensAPI {
        let title: String
        func reload(_ thing: Thing) async throws -> FoundThing<Incident> {
            .value(Incident(id: thing.id, number: 1, title: title))
        }
        func page(of list: String, _ request: PageRequest) async throws -> ListPage<Incident> {
            ListPage(items: [], isLast: true)
        }
    }

    /// Until the task that runs it is cancelled.
    static func run(_ api: Incidents, _ details: ArticleApp.Screen) async {
        // WhatIsShown.md 1
        let screens = LiveScreens(api)
        let states = await screens.showDetails("details", of: Thing(entity: "incident", id: "P1"))
        for await state in states {
            // The value as far as it is known, and whether it may be believed.
            details.show(state.value, state.knowledge)
        }
        // WhatIsShown.md 1
    }

    static func settings() -> LiveScreens<Incidents>.Settings {
        // WhatIsShown.md 2
        var settings = LiveScreens<Incidents>.Settings()
        settings.relevance.rules = [RelevanceRule(entity: "incident", type: "updated", screen: .list, action: .fetch)]
        // WhatIsShown.md 2
        return settings
    }

    struct Area: LiveArea {
        let screens: LiveScreens<Incidents>
        let name = "incidents"
        typealias Store = MemoryStore
        func snapshot() async throws -> [Incident] { [] }
        func show(_ change: LiveChange<[Incident], Incident>) async {}

        // WhatIsShown.md 3
        func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Incident> {
            LiveReload(try await screens.reload(thing, types: types))
        }
        // WhatIsShown.md 3

        // WhatIsShown.md 4
        func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }
        // WhatIsShown.md 4
    }
}

enum UpdateMachineArticle {
    struct API: Sendable {}

    struct IncidentArea: LiveArea {
        let api: API
        let name = "incidents"
        typealias Store = SQLiteStore
        init(_ api: API) { self.api = api }
        func snapshot() async throws -> [Incident] { [] }
        func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Incident> { .unneeded }
        func show(_ change: LiveChange<[Incident], Incident>) async {}
        func put(_ incident: Incident, in transaction: StoreTransaction) throws {
            try transaction.execute(
                "INSERT OR REPLACE INTO incidents VALUES (?, ?)", [.text(incident.id), .text(incident.title)])
        }
        func writeAll(_ change: LiveChange<[Incident], Incident>, in transaction: StoreTransaction) throws {
            guard case .snapshot(let incidents) = change else { return }
            for incident in incidents { try put(incident, in: transaction) }
        }

        // KeepingState.md 2
        func write(_ change: LiveChange<[Incident], Incident>, in transaction: StoreTransaction) throws {
            guard case .things(let things) = change else { return try writeAll(change, in: transaction) }
            for (thing, reload) in things {
                switch reload {
                case .value(let incident): try put(incident, in: transaction)
                case .unneeded, .gone, .notOurs:
                    try transaction.execute("DELETE FROM incidents WHERE id = ?", [.text(thing.id)])
                // It stays as it was: the machine keeps that it is old.
                case .knownStale: break
                }
            }
        }
        // KeepingState.md 2
    }

    /// Compiled only: it would ask for an address that is not there.
    static func run(path: String, api: API, session: ArticleApp.Session, screen: ArticleApp.Screen) async throws {
        // KeepingState.md 1
        let client = try LiveClient(LiveClientConfiguration(url: "wss://live.example.com/live/v1")) {
            try await session.accessToken()
        }
        let identity = SQLiteStore.Identity(schema: 1, account: session.account, server: "https://live.example.com")
        let store = try await SQLiteStore.open(path: path, identity: identity) { transaction in
            try transaction.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, title TEXT NOT NULL) STRICT")
        }
        var settings = UpdateMachine.Settings()
        settings.entities = ["incident"]
        let machine = LiveMachine(IncidentArea(api), store: store, client: client, settings: settings)
        await machine.start()
        for await view in await machine.views { screen.show(view.sign) }
        // KeepingState.md 1
    }
}
