// Tests: LiveMachine+Requests.swift, LiveStore.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// A store whose first readings fail.
private final class FailingStore: LiveStore {
    typealias Transaction = MemoryStore.Transaction

    let store = MemoryStore()
    let failures: Mutex<[any Error]>
    let commits = Shared<[UpdateMetadata]>([])

    init(_ failures: [any Error]) { self.failures = Mutex(failures) }

    func load(area: String) async throws -> UpdateMetadata? {
        if let failure = failures.withLock({ $0.popLast() }) { throw failure }
        return try await store.load(area: area)
    }

    func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        commits.update { $0.append(metadata) }
        try await store.commit(area: area, metadata: metadata, changes: changes)
    }
}

/// An area that fails as often as it is told to read what it has stored.
private final class StoredArea: LiveArea {
    typealias Store = FailingStore

    let name = "stored"
    let failures: Mutex<[any Error]>
    let restored = Shared(0)
    let snapshots = Shared(0)

    init(_ failures: [any Error] = []) { self.failures = Mutex(failures) }

    func restore(from store: FailingStore) async throws {
        if let failure = failures.withLock({ $0.popLast() }) { throw failure }
        restored.update { $0 += 1 }
    }
    func snapshot() async throws { snapshots.update { $0 += 1 } }
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async {}
}

private struct Undecodable: Error {}

@Suite(.timeLimit(.minutes(5))) struct StoreErrorTests {
    private static let busy = StoreError.failed(code: 5, message: "database is locked")
    private static let broken = StoreError.failed(code: 10 | 1 << 8, message: "disk I/O error")

    /// Runs a machine on a state that is stored, until it is as the server has it.
    ///
    /// - Returns: what was told of the store while nothing was loaded.
    private static func run(_ area: StoredArea, _ store: FailingStore) async throws -> [StoreError] {
        let (server, metadata) = (ModelServer(), UpdateMetadata(finger: "0/0", lastSuccess: AppClock().now))
        try await store.store.commit(area: area.name, metadata: metadata) { _ in }
        let machine = LiveMachine(area, store: store, feed: server)
        await machine.start()
        var told: [StoreError] = []
        for await view in await machine.views {
            if view.state == .notLoaded, let error = await machine.storeError, told.last != error { told.append(error) }
            if view.freshness == .connected { break }
        }
        #expect(await machine.storeError == nil)
        await machine.stop()
        return told
    }

    @Test(arguments: [busy, broken]) func `a store that cannot be read now is told of, read again, and not overwritten`(
        _ error: StoreError
    ) async throws {
        let (area, store) = (StoredArea(), FailingStore([error, error]))
        #expect(try await Self.run(area, store) == [error])
        #expect(area.snapshots.value == 0 && area.restored.value == 1)
        #expect(store.commits.value.allSatisfy { $0.finger == "0/0" })
    }

    @Test(arguments: [busy, broken]) func `an app's tables that cannot be read now are read again, too`(
        _ error: StoreError
    ) async throws {
        let (area, store) = (StoredArea([error]), FailingStore([]))
        #expect(try await Self.run(area, store) == [error])
        #expect(area.snapshots.value == 0 && area.restored.value == 1)
    }

    private struct NoAPI: ScreensAPI {
        func reload(_ thing: Thing) async throws -> FoundThing<String> { .gone }
        func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
            ListPage(items: [], isLast: true)
        }
    }

    private struct FailingLists: ListStore {
        let error: any Error

        func loadLists(area: String) async throws -> StoredLists<String>? { throw error }
        func commit(area: String, finger: String?, lists: [StoredList<String>]?) async throws {}
    }

    @Test func `lists that cannot be read now are not passed over, and those that never can be are`() async throws {
        let screens = LiveScreens(NoAPI())
        await #expect(throws: Self.busy) {
            try await ListKeeper(screens, in: FailingLists(error: Self.busy), area: "stored").load(finger: nil)
        }
        try await ListKeeper(screens, in: FailingLists(error: Undecodable()), area: "stored").load(finger: nil)
        await screens.close()
    }

    @Test func `what may pass is what says nothing of the file`() {
        for code in [5, 6, 7, 9, 10, 13, 14, 15, 10 | 3 << 8] {
            #expect(StoreError.failed(code: code, message: "").mayPass)
        }
        #expect(StoreError.noAnswer.mayPass)
        for code in [0, 1, 11, 18, 26, 11 | 1 << 8] { #expect(!StoreError.failed(code: code, message: "").mayPass) }
        #expect(!StoreError.closed.mayPass && !StoreError.otherSchema(found: 1, wanted: 2).mayPass)
        #expect("\(StoreError.failed(code: 0, message: "why"))" == "the store has failed: why")
    }

    @Test func `the errors of another store are told as they are`() async throws {
        let (area, store) = (StoredArea(), FailingStore([Undecodable()]))
        #expect(try await Self.run(area, store) == [.failed(code: 0, message: "Undecodable()")])
        #expect(area.snapshots.value == 0)
    }

    @Test(arguments: [Undecodable(), StoreError.failed(code: 1, message: "no such column")] as [any Error])
    func `what the app cannot read of its own is fetched anew`(_ error: any Error) async throws {
        let (area, store) = (StoredArea([error]), FailingStore([]))
        #expect(try await Self.run(area, store) == [])
        #expect(area.snapshots.value == 1)
    }
}
