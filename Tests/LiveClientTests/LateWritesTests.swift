// Tests: LiveMachine+Requests.swift, LiveActions.swift, ListKeeper.swift, SQLiteActionStore.swift
import Dispatch
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// A store whose writings hang as often as it is told, and count before they do.
private final class HangingWrites: LiveStore, ActionStore, ListStore {
    typealias Transaction = MemoryStore.Transaction
    typealias Value = String

    let writes: Hanging
    let begun = Shared(0)
    let ended = Shared(0)
    /// What the next commits throw.
    let failures = Shared<[StoreError]>([])
    private let store = MemoryStore()

    init(_ count: Int) { writes = Hanging(count) }

    private func write() async throws {
        begun.update { $0 += 1 }
        await writes.pass()
        ended.update { $0 += 1 }
        var failure: StoreError?
        failures.update { failure = $0.popLast() }
        if let failure { throw failure }
    }

    func load(area: String) async throws -> UpdateMetadata? { try await store.load(area: area) }
    func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        try await write()
        try await store.commit(area: area, metadata: metadata, changes: changes)
    }

    func loadActions() async throws -> [DeferredAction] { [] }
    func commit(_ changes: [ActionChange]) async throws { try await write() }

    func loadLists(area: String) async throws -> StoredLists<String>? { nil }
    func commit(area: String, finger: String?, lists: [StoredList<String>]?) async throws { try await write() }
}

private struct PlainArea: LiveArea {
    typealias Store = HangingWrites

    let name = "plain"
    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async {}
}

private struct NoAPI: ScreensAPI {
    func reload(_ thing: Thing) async throws -> FoundThing<String> { .gone }
    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        ListPage(items: [], isLast: true)
    }
}

@Suite(.timeLimit(.minutes(5))) struct LateWritesTests {
    private static func wait(
        _ machine: LiveMachine<PlainArea>, for condition: (StoreError?, UpdateMachine.View) -> Bool
    ) async {
        for await view in await machine.views where condition(await machine.storeError, view) { return }
    }

    @Test func `a store that does not write is told of, is not asked twice, and goes on when it has written`()
        async throws
    {
        let (store, server) = (HangingWrites(1), ModelServer())
        let machine = LiveMachine(PlainArea(), store: store, feed: server, storeDeadline: 50)
        await machine.start()
        await Self.wait(machine) { error, view in error == .noAnswer && view.freshness != .connected }
        // It may still be written: once more would be twice.
        #expect(store.begun.value == 1 && store.ended.value == 0)
        store.writes.release()
        await Self.wait(machine) { error, view in error == nil && view.freshness == .connected }
        #expect(await server.snapshots == 0)
        // A later write, of the next cursor, may be under way.
        #expect(try await eventually { store.begun.value == store.ended.value })
        await machine.stop()
    }

    @Test func `a store that refuses what is written is told of until it takes it`() async throws {
        let (store, server) = (HangingWrites(0), ModelServer())
        let full = StoreError.failed(code: 13, message: "full")
        store.failures.update { $0 = [full] }
        let machine = LiveMachine(PlainArea(), store: store, feed: server)
        await machine.start()
        await Self.wait(machine) { error, _ in error == full }
        await Self.wait(machine) { error, view in error == nil && view.freshness == .connected }
        await machine.stop()
    }

    private static func actions(_ store: HangingWrites) async throws -> LiveActions {
        let functions = LiveActions.Functions(send: { _ in [] }, renewToken: {}, report: { _ in })
        let actions = try await LiveActions.open(store: store, storeDeadline: 200, functions: functions)
        await actions.networkChanged(isReachable: false)
        return actions
    }

    @Test func `an action that is not written in time is not known to be kept, and is not written twice`()
        async throws
    {
        let store = HangingWrites(1)
        let actions = try await Self.actions(store)
        await #expect(throws: StoreError.noAnswer) { try await actions.set("read", "1", to: "true") }
        #expect(await actions.pending.isEmpty)
        // What waits behind it is given up, and so are both once the disk is back.
        await #expect(throws: StoreError.noAnswer) { try await actions.set("read", "2", to: "true") }
        store.writes.release()
        for await pending in await actions.pendings where !pending.isEmpty { break }
        try await actions.set("read", "3", to: "true")
        #expect(await actions.pending.map(\.id) == ["1", "3"])
        #expect(store.begun.value == 2)
        await actions.close()
    }

    @Test func `tables that are not made in time are made by the next attempt`() async throws {
        let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
        let store = try await SQLiteStore.open(path: ":memory:", identity: identity) { _ in }
        let disk = DispatchSemaphore(value: 0)
        let hanging = Task { try await store.transaction { _ in disk.wait() } }
        await #expect(throws: StoreError.noAnswer) {
            try await SQLiteActionStore(store, deadline: 50) { _, _, _, _ in }
        }
        await #expect(throws: StoreError.noAnswer) {
            try await SQLiteListStore<String>(store, deadline: 50, encode: { Array($0.utf8) }, decode: { "\($0)" })
        }
        disk.signal()
        try await hanging.value
        #expect(try await SQLiteActionStore(store) { _, _, _, _ in }.loadActions() == [])
        await store.close()
    }

    @Test func `of the writings of lists behind one that hangs only the last is done`() async throws {
        let (store, screens) = (HangingWrites(1), LiveScreens(NoAPI()))
        let keeper = ListKeeper(screens, in: store, area: "plain")
        await keeper.restore()
        keeper.keep()
        #expect(try await eventually { store.begun.value == 1 })
        for number in 0..<20 {
            keeper.fingerMoved(to: "\(number)")
            keeper.keep()
        }
        store.writes.release()
        keeper.keep()
        #expect(try await eventually { store.ended.value == 2 })
        // One more, behind those that were there.
        keeper.keep()
        #expect(try await eventually { store.ended.value == 3 })
        #expect(store.begun.value == 3)
        keeper.close()
        await screens.close()
    }
}
