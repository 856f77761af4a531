import LiveClient

/// The user's actions that the server does not have yet: the actions of the client library.
struct Outbox: Sendable {
    static let kind = "status"
    /// The request that sets this status of an incident.
    static let verbs = ["acknowledged": "acknowledge", "resolved": "resolve"]
    /// From a key to its request, in ms: a user who presses two keys sends one request.
    static let coalescing: Milliseconds = 400
    /// The number of requests at once.
    static let maximumBatch = 4

    /// The functions that report to the board.
    struct Reports: Sendable {
        /// Rows that were written, or were present at the start. Awaited before anything else is done.
        var changed: @Sendable ([ActionChange]) async -> Void
        /// The API's answer to an action.
        var done: @Sendable (Incident) async -> Void
        /// What happened to an action without a request of the user.
        var news: @Sendable (ActionNews) -> Void
    }

    private let actions: LiveActions
    private let service: IncidentService
    private let reports: Reports

    /// Reads what an earlier run left in the store, and sends it.
    static func open(_ store: SQLiteStore, _ service: IncidentService, _ reports: Reports) async throws -> Outbox {
        // Pending actions are shown on top of the API's answers: there is no other local state.
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

    /// Sets the status of an incident. When this returns, it is shown and stored.
    ///
    /// - Parameter before: the status that people have seen until now.
    func set(_ id: String, to status: String, from before: String) async throws {
        try await actions.set(Self.kind, id, to: status, from: before)
    }

    /// Adds a note now or not at all. A second call with the same key adds nothing.
    func addNote(_ id: String, _ content: String, key: String) async throws(ImmediateActionError) {
        let service = service
        await reports.done(
            try await actions.perform {
                try await service.act(id, verb: "notes", key: key, content: content)
            })
    }

    /// Tries at once what could not be sent.
    func networkIsBack() async {
        await actions.networkChanged(isReachable: false)
        await actions.networkChanged(isReachable: true)
    }

    func tokenChanged() async { await actions.tokenChanged() }

    /// Sends now what waits to be sent in a batch.
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

/// Stores actions, and reports what was written.
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
    /// Why a note was not added, as text for people.
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
