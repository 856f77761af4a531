// Tests: LiveActions.swift, ActionStore.swift, ActionError.swift, SQLiteActionStore.swift
import LiveClient
import LiveState
import TestHarness
import Testing

/// A server that honours idempotency keys: it does nothing twice.
private actor KeyServer {
    private(set) var done: [String] = []
    private(set) var batches: [[DeferredAction]] = []
    private var results: [String: ActionResult] = [:]
    /// What is answered in place of the work, first come first served.
    private var answers: [Result<[ActionResult], RequestError>]

    init(_ answers: [Result<[ActionResult], RequestError>] = []) { self.answers = answers }

    func handle(_ actions: [DeferredAction]) throws(RequestError) -> [ActionResult] {
        batches.append(actions)
        if !answers.isEmpty { return try answers.removeFirst().get() }
        return actions.map { action in
            if let result = results[action.key] { return result }
            done.append("\(action.kind) \(action.id) \(action.value)")
            let result = ActionResult(key: action.key, status: 200)
            results[action.key] = result
            return result
        }
    }
}

/// A store that can be made to refuse.
private struct RefusingStore: ActionStore {
    struct Refused: Error, Equatable {}

    let store: MemoryActionStore
    let isRefusing: Shared<Bool>

    func loadActions() async throws -> [DeferredAction] { try await store.loadActions() }

    func commit(_ changes: [ActionChange]) async throws {
        if isRefusing.value { throw Refused() }
        try await store.commit(changes)
    }
}

struct LiveActionsTests {
    private let server: KeyServer
    private let shown = Shared<[String: String?]>([:])
    private let news = Shared<[ActionNews]>([])
    private let renewals = Shared(0)
    private let isRefusing = Shared(false)

    init() { server = KeyServer() }

    private func open(
        _ server: KeyServer? = nil, maximumRows: Int = 100, store: MemoryActionStore? = nil
    ) async throws -> LiveActions {
        var settings = ActionQueue.Settings()
        settings.coalescing = 0
        settings.maximumRows = maximumRows
        let server = server ?? self.server
        let functions = LiveActions.Functions(
            send: { try await server.handle($0) }, renewToken: { [renewals] in renewals.update { $0 += 1 } },
            report: { [news] one in news.update { $0.append(one) } })
        return try await LiveActions.open(
            store: RefusingStore(store: store ?? memory(), isRefusing: isRefusing), settings: settings,
            functions: functions)
    }

    private func memory() -> MemoryActionStore {
        MemoryActionStore { [shown] kind, id, value in shown.update { $0["\(kind) \(id)"] = .some(value) } }
    }

    private func settle(_ actions: LiveActions) async throws {
        let isSettled = try await eventually { await actions.pending.isEmpty }
        try #require(isSettled)
    }

    @Test(.timeLimit(.minutes(5)))
    func `an action is shown and kept when it is taken, and gone when the server has it`()
        async throws
    {
        let store = memory()
        let actions = try await open(store: store)
        await actions.networkChanged(isReachable: false)
        try await actions.set("read", "1", to: "true", from: "false")
        #expect(shown.value == ["read 1": "true"])
        #expect(try await store.loadActions().map(\.value) == ["true"])
        #expect(await actions.pending("read", "1") == "true")
        #expect(await server.done.isEmpty)
        await actions.networkChanged(isReachable: true)
        try await settle(actions)
        #expect(await server.done == ["read 1 true"])
        #expect(try await store.loadActions().isEmpty)
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `what an earlier process kept is sent with its key`() async throws {
        let store = memory()
        let first = try await open(store: store)
        await first.networkChanged(isReachable: false)
        try await first.set("read", "1", to: "true", from: "false")
        let key = await first.pending.first?.key
        await first.close()
        let second = try await open(store: store)
        try await settle(second)
        #expect(await server.batches.map { $0.map(\.key) } == [[key]])
        await second.close()
    }

    @Test(.timeLimit(.minutes(5))) func `what is pending is followed, from what it is now to the end`() async throws {
        let actions = try await open()
        await actions.networkChanged(isReachable: false)
        try await actions.set("read", "1", to: "true", from: "false")
        var pendings = await actions.pendings.makeAsyncIterator()
        let first = try #require(await pendings.next()?.first)
        #expect((first.kind, first.id, first.value) == ("read", "1", "true"))
        #expect(first.at <= actions.now)
        try await actions.set("read", "1", to: "false")
        #expect(await pendings.next() == [])
        try await actions.set("star", "2", to: "true", from: "false")
        #expect(await pendings.next()?.map(\.kind) == ["star"])
        await actions.networkChanged(isReachable: true)
        #expect(await pendings.next() == [])
        await actions.close()
        #expect(await pendings.next() == nil)
        var late = await actions.pendings.makeAsyncIterator()
        #expect(await late.next() == [])
        #expect(await late.next() == nil)
    }

    @Test(.timeLimit(.minutes(5))) func `what is pending is still shown while the store fails`() async throws {
        let actions = try await open()
        await actions.networkChanged(isReachable: false)
        try await actions.set("read", "1", to: "true", from: "false")
        isRefusing.update { $0 = true }
        await #expect(throws: RefusingStore.Refused.self) { try await actions.set("read", "1", to: "false") }
        await #expect(throws: RefusingStore.Refused.self) {
            try await actions.reloaded("read", "1", value: "unread", askedAt: actions.now)
        }
        #expect(await actions.pending("read", "1") == "true")
        for await pending in await actions.pendings {
            #expect(pending.map(\.value) == ["true"])
            break
        }
        isRefusing.update { $0 = false }
        await actions.networkChanged(isReachable: true)
        try await settle(actions)
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `what is pending lies on top of what is reloaded`() async throws {
        let actions = try await open()
        await actions.networkChanged(isReachable: false)
        try await actions.set("read", "1", to: "true", from: "false")
        shown.update { $0["read 1"] = "false" }
        try await actions.reloaded("read", "1", value: "false", askedAt: actions.now)
        #expect(shown.value == ["read 1": "true"])
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `a store that refuses leaves nothing shown and nothing kept`() async throws {
        let actions = try await open()
        await actions.networkChanged(isReachable: false)
        isRefusing.update { $0 = true }
        await #expect(throws: RefusingStore.Refused.self) {
            try await actions.set("read", "1", to: "true", from: "false")
        }
        #expect(shown.value.isEmpty)
        #expect(await actions.pending.isEmpty)
        isRefusing.update { $0 = false }
        try await actions.set("read", "1", to: "true", from: "false")
        await actions.networkChanged(isReachable: true)
        try await settle(actions)
        #expect(await server.done == ["read 1 true"])
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `a rejection is undone and reported, a 401 renews the token once`() async throws
    {
        let server = KeyServer([.failure(RequestError(status: 401)), .failure(RequestError(status: 422))])
        let actions = try await open(server)
        try await actions.set("read", "1", to: "true", from: "false")
        try await settle(actions)
        #expect(try await eventually { !news.value.isEmpty })
        #expect(renewals.value == 1)
        #expect(shown.value == ["read 1": "false"])
        guard case .rejected(let action, 422, isReplaced: false) = news.value.first else {
            Issue.record("\(news.value)")
            return
        }
        #expect(action.value == "true" && news.value.count == 1)
        #expect(await server.batches.map { $0.map(\.key) } == [[action.key], [action.key]])
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `no more are taken than are kept, and none after the end`() async throws {
        let actions = try await open(maximumRows: 1)
        await actions.networkChanged(isReachable: false)
        try await actions.set("read", "1", to: "true")
        await #expect(throws: DeferrableActionError.full(maximumRows: 1)) {
            try await actions.set("read", "2", to: "true")
        }
        await actions.close()
        await #expect(throws: DeferrableActionError.closed) { try await actions.set("read", "1", to: "false") }
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            (409, ImmediateActionError.rejected(status: 409)), (503, .unavailable(status: 503, retryAfter: 7)),
            (nil, .unknown), (401, .unauthorized),
        ] as [(Int?, ImmediateActionError)]) func `an immediate action that fails says why`(
            _ status: Int?, _ expected: ImmediateActionError
        ) async throws
    {
        let actions = try await open()
        let runs = Shared(0)
        await #expect(throws: expected) {
            try await actions.perform {
                runs.update { $0 += 1 }
                throw RequestError(status: status, retryAfter: 7)
            }
        }
        #expect(runs.value == (status == 401 ? 2 : 1) && renewals.value == (status == 401 ? 1 : 0))
        #expect(await actions.pending.isEmpty)
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `an immediate action is done now, after a 401 with a new token, or not at all`()
        async throws
    {
        let actions = try await open()
        let runs = Shared(0)
        let answer = try await actions.perform {
            runs.update { $0 += 1 }
            if runs.value == 1 { throw RequestError(status: 401) }
            return "done"
        }
        #expect(answer == "done" && renewals.value == 1)
        await actions.networkChanged(isReachable: false)
        await #expect(throws: ImmediateActionError.notReachable) {
            try await actions.perform { runs.update { $0 = 99 } }
        }
        #expect(runs.value == 2)
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `rows and the app's table are written together, one row for each kind and id`()
        async throws
    {
        let folder = TemporaryFolder()
        let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
        let file = try await SQLiteStore.open(path: folder.path("store"), identity: identity) {
            try $0.execute("CREATE TABLE app (id TEXT PRIMARY KEY, status TEXT)")
        }
        let store = try await SQLiteActionStore(file) { _, id, value, transaction in
            try transaction.execute("INSERT INTO app VALUES (?, ?)", [.text(id), value.map { .text($0) } ?? .null])
        }
        let one = DeferredAction(kind: "status", id: "1", value: "open", before: nil, key: "a", at: 5)
        var other = DeferredAction(kind: "status", id: "1", value: "closed", before: "open", key: "b", at: 6)
        try await store.commit([.persist(one), .show(kind: "status", id: "1", value: "open")])
        try await store.commit([.persist(other)])
        #expect(try await store.loadActions() == [other])
        #expect(try await file.transaction { try store.pending("status", "1", in: $0) } == "closed")
        // The app's table refuses, so the row stays as it was.
        other.key = "c"
        let refused = other
        await #expect(throws: StoreError.self) {
            try await store.commit([.persist(refused), .show(kind: "status", id: "1", value: "closed")])
        }
        #expect(try await store.loadActions().map(\.key) == ["b"])
        // Past the SDK, the schema itself holds.
        await #expect(throws: StoreError.self) {
            try await file.transaction {
                try $0.execute("INSERT INTO live_actions VALUES ('status', '1', 'x', NULL, 'd', 7)")
            }
        }
        try await store.commit([.delete(kind: "status", id: "1")])
        #expect(try await store.loadActions().isEmpty)
        // More than one query gives, in the order of the table.
        let many = (0...StoreTransaction.maximumRows).map {
            DeferredAction(kind: "status", id: "\(100_000 + $0)", value: "open", key: "k\($0)", at: 5)
        }
        try await store.commit(many.map(ActionChange.persist))
        #expect(try await store.loadActions() == many)
        try await store.commit(many.map { .delete(kind: $0.kind, id: $0.id) })
        #expect(try await file.transaction { try store.pending("status", "1", in: $0) } == nil)
        await file.close()
    }
}
