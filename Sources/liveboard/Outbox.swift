import LiveClient

/// What people did and the server does not have yet: the actions of the client library.
struct Outbox: Sendable {
    static let kind = "status"
    /// The request that gives an incident this status.
    static let verbs = ["acknowledged": "acknowledge", "resolved": "resolve"]
    /// From a key to its request, in ms: who presses two sends one.
    static let coalescing: Milliseconds = 400
    /// Requests at once.
    static let maximumBatch = 4

    /// What the board is given.
    struct Reports: Sendable {
        /// Rows that were written, or were there at the start. Awaited before anything else is done.
        var changed: @Sendable ([ActionChange]) async -> Void
        /// What the API answered to an action.
        var done: @Sendable (Incident) async -> Void
        /// What became of an action without anybody having asked.
        var news: @Sendable (ActionNews) -> Void
    }

    private let actions: LiveActions
    private let service: IncidentService
    private let reports: Reports

    /// Reads what an earlier run left in the store, and sends it.
    static func open(_ store: SQLiteStore, _ service: IncidentService, _ reports: Reports) async throws -> Outbox {
        // What is pending is shown on top of what the API says: there is no other local state.
        let kept = try await SQLiteActionStore(store) { _, _, _, _ in }
        var settings = ActionQueue.Settings()
        (settings.coalescing, settings.maximumBatch) = (coalescing, maximumBatch)
        let actions = try await LiveActions.open(
            store: ReportedActionStore(kept: kept, changed: reports.changed), settings: settings,
            functions: LiveActions.Functions(
                send: { try await send($0, service, reports) }, renewToken: { _ = try await service.enter() },
                report: reports.news))
        return Outbox(actions: actions, service: service, reports: reports)
    }

    /// Gives an incident a status: shown and kept when this returns.
    ///
    /// - Parameter before: what people see until now.
    func set(_ id: String, to status: String, from before: String) async throws {
        try await actions.set(Self.kind, id, to: status, from: before)
    }

    /// Adds a note now or not at all. The same key again adds nothing again.
    func addNote(_ id: String, _ content: String, key: String) async throws(ImmediateActionError) {
        let service = service
        await reports.done(
            try await actions.perform {
                try await service.act(id, verb: "notes", key: key, content: content)
            })
    }

    /// What could not be sent is tried at once.
    func networkIsBack() async {
        await actions.networkChanged(isReachable: false)
        await actions.networkChanged(isReachable: true)
    }

    func tokenChanged() async { await actions.tokenChanged() }

    /// Sends now what waits for others.
    func flush() async { await actions.flush() }

    private static func send(
        _ actions: [DeferredAction], _ service: IncidentService, _ reports: Reports
    ) async throws -> [ActionResult] {
        let results = await withTaskGroup(of: ActionResult?.self) { group in
            for action in actions { group.addTask { await send(action, service, reports) } }
            var results: [ActionResult] = []
            for await case let result? in group { results.append(result) }
            return results
        }
        guard !results.isEmpty else { throw RequestError(status: nil) }
        return results
    }

    /// Nil: there was no answer.
    private static func send(
        _ action: DeferredAction, _ service: IncidentService, _ reports: Reports
    ) async -> ActionResult? {
        do {
            let verb = verbs[action.value] ?? action.value
            await reports.done(try await service.act(action.id, verb: verb, key: action.key))
            return ActionResult(key: action.key, status: 200)
        } catch {
            let error = error as? RequestError
            return error?.status.map { ActionResult(key: action.key, status: $0, retryAfter: error?.retryAfter) }
        }
    }
}

/// Says what was written.
private struct ReportedActionStore: ActionStore {
    let kept: SQLiteActionStore
    let changed: @Sendable ([ActionChange]) async -> Void

    func loadActions() async throws -> [DeferredAction] {
        let actions = try await kept.loadActions()
        await changed(actions.map { .persist($0) })
        return actions
    }

    func commit(_ changes: [ActionChange]) async throws {
        try await kept.commit(changes)
        await changed(changes)
    }
}

extension ImmediateActionError {
    /// For people: why a note is not there.
    var explanation: String {
        switch self {
        case .notReachable: "there is no network"
        case .unauthorized: "the token is refused"
        case .rejected(let status): RequestError(status: status).explanation
        case .unavailable(let status, _): "the server cannot do it now (status \(status))"
        case .unknown, .cancelled: "no answer came, so it may be there"
        }
    }
}
