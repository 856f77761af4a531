// Tests: Deadline.swift, LiveMachine+Requests.swift, LiveActions+Functions.swift
import Dispatch
import Foundation
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// Requests that never end of themselves, and take no notice of being cancelled.
final class Hanging: Sendable {
    private struct State {
        /// So many are still to hang.
        var count: Int
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(count: count)) }

    /// So many hang now.
    var held: Int { state.withLock { $0.held.count } }

    func pass() async {
        await withCheckedContinuation { waiting in
            let isFree = state.withLock { state in
                guard state.count > 0 else { return true }
                state.count -= 1
                state.held.append(waiting)
                return false
            }
            if isFree { waiting.resume() }
        }
    }

    /// Lets all go, and none hang any more.
    func release() {
        let held = state.withLock { state in
            defer { state = State(count: 0) }
            return state.held
        }
        for waiting in held { waiting.resume() }
    }
}

/// An area whose first requests hang; each answer says which one it is.
private final class SlowArea: LiveArea {
    typealias Store = HangingStore

    let name = "slow"
    let snapshots: Hanging
    let reloads: Hanging
    let asked = Mutex((snapshots: 0, reloads: 0))
    let shown = Shared<[String]>([])

    init(snapshots: Int = 0, reloads: Int = 0) {
        (self.snapshots, self.reloads) = (Hanging(snapshots), Hanging(reloads))
    }

    func snapshot() async throws -> String {
        let number = asked.withLock { asked in
            asked.snapshots += 1
            return asked.snapshots
        }
        await snapshots.pass()
        return "snapshot \(number)"
    }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<String> {
        let number = asked.withLock { asked in
            asked.reloads += 1
            return asked.reloads
        }
        await reloads.pass()
        return .value("reload \(number)")
    }

    func show(_ change: LiveChange<String, String>) async {
        switch change {
        case .snapshot(let text): shown.update { $0.append(text) }
        case .things(let things):
            for case (_, .value(let text)) in things { shown.update { $0.append(text) } }
        }
    }
}

/// A store whose first readings hang.
private final class HangingStore: LiveStore {
    typealias Transaction = MemoryStore.Transaction

    let store = MemoryStore()
    let loads: Hanging

    init(_ loads: Int = 0) { self.loads = Hanging(loads) }

    func load(area: String) async throws -> UpdateMetadata? {
        await loads.pass()
        return try await store.load(area: area)
    }

    func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        try await store.commit(area: area, metadata: metadata, changes: changes)
    }
}

@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    private static func machine(
        _ area: SlowArea, _ server: ModelServer, _ store: HangingStore = HangingStore(), deadline: Milliseconds = 300
    ) -> LiveMachine<SlowArea> {
        LiveMachine(area, store: store, feed: server, requestDeadline: deadline, storeDeadline: 300)
    }

    @Test func `what comes in time is given, and what is thrown is thrown`() async throws {
        #expect(try await Deadline.run(milliseconds: .max) { 7 } == 7)
        await #expect(throws: StoreError.closed) {
            try await Deadline.run(milliseconds: .max) { throw StoreError.closed }
        }
    }

    @Test func `what takes no notice of its deadline or of its end is waited for no longer`() async throws {
        let work = Hanging(2)
        await #expect(throws: RequestError(status: nil)) {
            try await Deadline.run(milliseconds: 1) { await work.pass() }
        }
        let waiting = Task { try await Deadline.run(milliseconds: .max) { await work.pass() } }
        #expect(try await eventually { work.held == 2 })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        work.release()
    }

    @Test func `a snapshot that never returns is asked for again, and its late answer is dropped`() async throws {
        let (area, server) = (SlowArea(snapshots: 1), ModelServer())
        let machine = Self.machine(area, server)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        let first = area.shown.value
        #expect(first.count == 1 && first != ["snapshot 1"])
        area.snapshots.release()
        await server.change(.update)
        #expect(try await eventually { area.shown.value.contains("reload 1") })
        #expect(!area.shown.value.contains("snapshot 1"))
        await machine.stop()
    }

    @Test func `reloads that never return are asked for again, and their late answers are dropped`() async throws {
        let (area, server) = (SlowArea(reloads: 2), ModelServer())
        let machine = Self.machine(area, server)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        await server.change(.update)
        #expect(try await eventually { area.shown.value.count == 2 })
        let shown = area.shown.value
        #expect(!(1...2).contains { shown.contains("reload \($0)") })
        area.reloads.release()
        await server.change(.update)
        #expect(try await eventually { area.shown.value.count == 3 })
        #expect(!(1...2).contains { area.shown.value.contains("reload \($0)") })
        await machine.stop()
    }

    @Test func `a store that does not answer is told of, and read again`() async throws {
        let (area, server, store) = (SlowArea(), ModelServer(), HangingStore(2))
        let machine = Self.machine(area, server, store)
        await machine.start()
        var isReported = false
        for await view in await machine.views {
            if await machine.storeError == .noAnswer {
                isReported = true
                #expect(view.state == .notLoaded)
                break
            }
        }
        #expect(isReported)
        #expect(try await eventually { await machine.view.freshness == .connected })
        #expect(await machine.storeError == nil)
        store.loads.release()
        await machine.stop()
    }

    @Test func `a file that cannot be opened in time is closed again, and opened by the next attempt`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "deadline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
        let disk = DispatchSemaphore(value: 0)
        await #expect(throws: StoreError.noAnswer) {
            try await SQLiteStore.open(path: path, identity: identity, deadline: 50) { _ in disk.wait() }
        }
        disk.signal()
        // The first attempt may still be about to end.
        let opened = Shared<SQLiteStore?>(nil)
        #expect(
            try await eventually {
                let store = try? await SQLiteStore.open(path: path, identity: identity) { _ in }
                opened.update { $0 = store }
                return store != nil
            })
        #expect(try await opened.value?.load(area: "any") == nil)
        await opened.value?.close()
    }

    @Test func `actions whose batch is not answered are sent again with their keys`() async throws {
        let server = Hanging(2)
        let keys = Shared<[[String]]>([])
        var settings = ActionQueue.Settings()
        settings.coalescing = 0
        let functions = LiveActions.Functions(
            send: { actions in
                keys.update { $0.append(actions.map(\.key)) }
                await server.pass()
                return actions.map { ActionResult(key: $0.key, status: 200) }
            }, renewToken: {}, report: { _ in })
        let actions = try await LiveActions.open(
            store: MemoryActionStore { _, _, _ in }, settings: settings, requestDeadline: 300, functions: functions)
        try await actions.set("read", "1", to: "true")
        #expect(try await eventually { await actions.pending.isEmpty })
        #expect(keys.value.count >= 3 && Set(keys.value).count == 1)
        server.release()
        await actions.close()
    }

    /// Whether the request hangs, and whether the token does that it asks for.
    @Test(arguments: [(true, ImmediateActionError.unknown), (false, .unavailable(status: 401, retryAfter: nil))])
    func `an immediate action that is not answered says so`(
        _ requestHangs: Bool, _ expected: ImmediateActionError
    ) async throws {
        let server = Hanging(1)
        let functions = LiveActions.Functions(
            send: { _ in [] }, renewToken: { await server.pass() }, report: { _ in })
        let actions = try await LiveActions.open(
            store: MemoryActionStore { _, _, _ in }, requestDeadline: 50, functions: functions)
        await #expect(throws: expected) {
            try await actions.perform {
                guard requestHangs else { throw RequestError(status: 401) }
                await server.pass()
            }
        }
        server.release()
        await actions.close()
    }

    @Test func `actions whose store does not answer are not opened, and the error says so`() async throws {
        struct Silent: ActionStore {
            let reading: Hanging

            func loadActions() async throws -> [DeferredAction] {
                await reading.pass()
                return []
            }
            func commit(_ changes: [ActionChange]) async throws {}
        }
        let reading = Hanging(1)
        let functions = LiveActions.Functions(send: { _ in [] }, renewToken: {}, report: { _ in })
        await #expect(throws: StoreError.noAnswer) {
            try await LiveActions.open(store: Silent(reading: reading), storeDeadline: 50, functions: functions)
        }
        // The next attempt is answered.
        await (try await LiveActions.open(store: Silent(reading: reading), functions: functions)).close()
        reading.release()
    }
}

/// An API whose first requests hang; the version says which answer it is.
private struct SlowAPI: ScreensAPI {
    let pages: Hanging
    let fetches: Hanging
    let asked = Shared((pages: 0, fetches: 0))

    private func next(_ member: WritableKeyPath<(pages: Int, fetches: Int), Int> & Sendable) -> Int {
        var number = 0
        asked.update { asked in
            asked[keyPath: member] += 1
            number = asked[keyPath: member]
        }
        return number
    }

    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        let number = next(\.fetches)
        await fetches.pass()
        return .value("fetch \(number)")
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        let number = next(\.pages)
        await pages.pass()
        return ListPage(items: [.init(id: "A", key: ListKey(text: "A"), value: "page \(number)")], isLast: true)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ScreenDeadlineTests {
    @Test func `pages and fetches that never return are asked for again, and their late answers are dropped`()
        async throws
    {
        let api = SlowAPI(pages: Hanging(1), fetches: Hanging(2))
        var settings = LiveScreens<SlowAPI>.Settings()
        settings.requestDeadline = 300
        let screens = LiveScreens(api, settings: settings)
        await screens.setFinger(true)
        let states = await screens.makeList("all", of: "incident") { _ in ListKey(text: "A") }
        await screens.show("all", from: .beginning, .forward, count: 5)
        for await state in states where state.knowledge == .known {
            #expect(state.items.map(\.value) != ["page 1"])
            break
        }
        let thing = Thing(entity: "incident", id: "B")
        let details = await screens.showDetails("details", of: thing)
        var seen: [String] = []
        for await state in details {
            if let value = state.value { seen.append(value) }
            if state.knowledge == .known { break }
        }
        #expect(!(1...2).contains { seen.contains("fetch \($0)") } && !seen.isEmpty)
        api.pages.release()
        api.fetches.release()
        await screens.close()
    }
}
