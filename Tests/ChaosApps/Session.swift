import LiveClientReactor
import LiveState
import Synchronization

/// One start of an app: everything of the SDK, on a file that outlives it.
struct Session: Sendable {
    /// What is shown now.
    struct Shown: Sendable {
        var list: ListState<Incident>?
        var details: DetailsState<Incident>?
    }

    /// As many as fit a screen.
    static let listed = 20
    static let kind = "incident.mark"

    let client: LiveClient
    let store: SQLiteStore
    let screens: LiveScreens<IncidentAPI>
    let machine: LiveMachine<IncidentArea>
    let actions: LiveActions
    private let shown = ShownBox()

    static func open(
        _ api: IncidentAPI, live: String, file: String, report: @escaping @Sendable (ActionNews) -> Void
    ) async throws -> Session {
        var configuration = LiveClientConfiguration(url: live)
        configuration.entities = ["incident"]
        // A network where nothing but polling works is found out by mistake, when everything is in trouble.
        configuration.pollInterval = .seconds(2)
        let token = "token-\(api.account)"
        let client = try LiveClient(configuration) { token }
        let identity = SQLiteStore.Identity(schema: 1, account: api.account, server: live)
        let store = try await SQLiteStore.open(path: file, identity: identity) { try IncidentArea.makeTable(in: $0) }
        var lists = LiveScreens<IncidentAPI>.Settings()
        lists.lists.pageLimit = 12
        let screens = LiveScreens(api, settings: lists)
        var settings = UpdateMachine.Settings()
        settings.entities = ["incident"]
        settings.seed = .random(in: 0 ... .max)
        let area = IncidentArea(api: api, screens: screens)
        let machine = LiveMachine(area, store: store, client: client, settings: settings)
        var sending = ActionQueue.Settings()
        sending.coalescing = 500
        // What is pending is shown on top of what the API says: there is no other local state.
        let actions = try await LiveActions.open(
            store: SQLiteActionStore(store) { _, _, _, _ in }, settings: sending,
            functions: LiveActions.Functions(send: { try await api.apply($0) }, renewToken: {}, report: report))
        let session = Session(client: client, store: store, screens: screens, machine: machine, actions: actions)
        await session.begin()
        return session
    }

    private func begin() async {
        let states = await screens.makeList("list", of: "incident") { $0.key }
        Task { [shown] in for await state in states { shown.value.withLock { $0.list = state } } }
        await screens.show("list", from: .beginning, .forward, count: Self.listed)
        await machine.start()
        Task { [machine, screens] in
            for await view in await machine.views { await screens.setLive(view.freshness == .connected) }
        }
    }

    func open(_ id: String) async {
        let states = await screens.showDetails("details", of: Thing(entity: "incident", id: id))
        Task { [shown] in for await state in states { shown.value.withLock { $0.details = state } } }
    }

    var now: Shown { shown.value.withLock { $0 } }

    /// What is pending on top of what is known.
    func row(_ incident: Incident) async -> Row {
        let mark = await actions.pending(Self.kind, incident.id) ?? incident.mark
        return Row(id: incident.id, mark: mark, version: incident.version)
    }

    func setForeground(_ isForeground: Bool) async {
        await screens.setVisible(isForeground)
        isForeground ? client.enterForeground() : client.enterBackground()
        if isForeground { await machine.enterForeground() } else { await machine.enterBackground() }
    }

    func setNetwork(_ isThere: Bool) async {
        client.pathChanged(isSatisfied: isThere)
        await machine.pathChanged(isSatisfied: isThere)
        await actions.networkChanged(isReachable: isThere)
    }

    func close() async {
        await machine.stop()
        await screens.close()
        await actions.close()
        await client.close()
        await store.close()
    }
}

private final class ShownBox: Sendable {
    let value = Mutex(Session.Shown())
}
