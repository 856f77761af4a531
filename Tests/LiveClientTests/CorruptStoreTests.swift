// Tests: StoreFile.swift, SQLiteStore.swift, LiveMachine+Requests.swift, LiveActions.swift
import Foundation
import LiveState
import SQLite
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// An area in a file, with one row.
private final class RowArea: LiveArea {
    typealias Store = SQLiteStore

    let name = "rows"
    let snapshots = Shared(0)
    let shown = Shared(0)

    func snapshot() async throws { snapshots.update { $0 += 1 } }
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func write(_ change: LiveChange<Void, Int>, in transaction: StoreTransaction) throws {
        try transaction.execute("INSERT INTO rows VALUES (?)", [.integer(Int64(shown.value))])
    }
    func show(_ change: LiveChange<Void, Int>) async { shown.update { $0 += 1 } }
}

/// A store that takes so many commits, then refuses so many, and takes all that follow.
private final class RefusingStore: LiveStore {
    typealias Transaction = MemoryStore.Transaction

    let memory = MemoryStore()
    private let refusals: Mutex<(after: Int, count: Int)>
    /// Each commit that it was asked for.
    let asked = Shared(0)

    init(after: Int, count: Int) { refusals = Mutex((after, count)) }

    func load(area: String) async throws -> UpdateMetadata? { try await memory.load(area: area) }

    func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        asked.update { $0 += 1 }
        let isRefused = refusals.withLock { refusals in
            refusals.after -= 1
            if refusals.after < 0 { refusals.count -= 1 }
            return refusals.after < 0 && refusals.count >= 0
        }
        if isRefused { throw StoreError.failed(code: 8, message: "attempt to write a readonly database") }
        try await memory.commit(area: area, metadata: metadata, changes: changes)
    }
}

private final class MemoryArea: LiveArea {
    typealias Store = RefusingStore

    let name = "memory"
    let shown = Shared(0)

    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async { shown.update { $0 += 1 } }
}

@Suite(.timeLimit(.minutes(5))) struct CorruptStoreTests {
    private static let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
    private static let metadata = UpdateMetadata(finger: "0/0", lastSuccess: AppClock().now)
    private static let malformed = StoreError.failed(code: 11 | 1 << 8, message: "database disk image is malformed")

    private static func open(_ path: String) async throws -> SQLiteStore {
        try await SQLiteStore.open(path: path, identity: identity) { try $0.execute("CREATE TABLE rows (id INTEGER)") }
    }

    private static func rows(_ store: SQLiteStore) async throws -> Int {
        try await store.transaction { try $0.rows("SELECT id FROM rows").count }
    }

    /// A store with something in it, of which a part is overwritten behind its back.
    private static func corrupted(_ path: String, _ table: String?) async throws {
        let store = try await open(path)
        try await store.commit(area: "rows", metadata: metadata) { try $0.execute("INSERT INTO rows VALUES (7)") }
        let page = try await store.transaction {
            try $0.rows("SELECT rootpage FROM sqlite_master WHERE name = ?", [.text(table ?? "")]).first?[0].integer
        }
        await store.close()
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64((page ?? 1) - 1) * 4_096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
        try file.close()
    }

    @Test(arguments: [nil, "live_identity"])
    func `a file that is corrupt when it is opened is set aside, told, and begun anew`(
        _ table: String?
    ) async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try await Self.corrupted(path, table)
        let bytes = try Data(contentsOf: URL(filePath: path))
        let store = try await Self.open(path)
        #expect(await store.setAside == path + ".corrupt")
        #expect(try Data(contentsOf: URL(filePath: path + ".corrupt")) == bytes)
        #expect(try await store.load(area: "rows") == nil)
        #expect(try await Self.rows(store) == 0)
        await store.close()
        let again = try await Self.open(path)
        #expect(await again.setAside == nil)
        await again.close()
        #expect(FileManager.default.fileExists(atPath: folder.path + "/store.corrupt"))
    }

    @Test func `a machine whose file is corrupt when it is read says so, and has everything fetched`() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try await Self.corrupted(path, "live_areas")
        let store = try await Self.open(path)
        #expect(await store.setAside == nil)
        let (area, server) = (RowArea(), ModelServer())
        let machine = LiveMachine(area, store: store, feed: server)
        await machine.start()
        var told: [StoreError] = []
        for await view in await machine.views {
            if let error = await machine.storeError, told.last != error { told.append(error) }
            if view.freshness == .connected { break }
        }
        #expect(told == [.corrupt(setAside: path + ".corrupt")])
        #expect(await store.setAside == path + ".corrupt")
        #expect(area.snapshots.value == 1)
        #expect(try await eventually { await machine.storeError == nil })
        #expect(try await store.load(area: "rows")?.finger != nil)
        await machine.stop()
        await store.close()
    }

    @Test func `a store that is found corrupt while it is used tells each of its parts once`() async throws {
        let folder = TemporaryFolder()
        let store = try await Self.open(folder.path + "/store")
        let lost = StoreError.corrupt(setAside: folder.path + "/store.corrupt")
        let lists = try await SQLiteListStore<String>(store) {
            Array($0.utf8)
        } decode: {
            String(decoding: $0, as: UTF8.self)
        }
        for area in ["rows", "others"] {
            try await store.commit(area: area, metadata: Self.metadata) {
                try $0.execute("INSERT INTO rows VALUES (7)")
            }
        }
        await #expect(throws: lost) { try await store.transaction { _ in throw Self.malformed } }
        #expect(try await Self.rows(store) == 0)
        for area in ["rows", "others"] {
            await #expect(throws: lost) { try await store.commit(area: area, metadata: Self.metadata) { _ in } }
            #expect(try await store.load(area: area) == nil)
            try await store.commit(area: area, metadata: Self.metadata) { _ in }
        }
        try await lists.commit(area: "rows", finger: "F", lists: [])
        #expect(try await lists.loadLists(area: "rows")?.finger == "F")
        await store.close()
    }

    @Test func `a machine whose store is found corrupt while it is live fetches everything, and writes all of it`()
        async throws
    {
        let folder = TemporaryFolder()
        let store = try await Self.open(folder.path + "/store")
        let (area, server) = (RowArea(), ModelServer())
        let machine = LiveMachine(area, store: store, feed: server)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        await #expect(throws: StoreError.self) { try await store.transaction { _ in throw Self.malformed } }
        await server.change(.update)
        #expect(try await eventually { area.snapshots.value == 2 })
        #expect(
            try await eventually {
                let (view, stored) = (await machine.view, try await store.load(area: "rows"))
                return view.freshness == .connected && stored?.finger != nil && stored?.finger == view.metadata.finger
            })
        #expect(await machine.view.isInMemory == false)
        #expect(try await Self.rows(store) > 0)
        await machine.stop()
        await store.close()
    }

    @Test func `actions that are pending are kept in the store that has begun anew`() async throws {
        let folder = TemporaryFolder()
        let store = try await Self.open(folder.path + "/store")
        let functions = LiveActions.Functions(
            send: { _ in throw RequestError(status: nil) }, renewToken: {}, report: { _ in })
        let kept = try await SQLiteActionStore(store) { _, _, _, _ in }
        let actions = try await LiveActions.open(store: kept, functions: functions)
        try await actions.set("read", "1", to: "true")
        await #expect(throws: StoreError.self) { try await store.transaction { _ in throw Self.malformed } }
        try await actions.set("read", "2", to: "true")
        await actions.close()
        #expect(try await kept.loadActions().map(\.id) == ["1", "2"])
        await store.close()
    }

    @Test func `a machine whose store takes no commit goes on in memory, says so, and tries it again with a snapshot`()
        async throws
    {
        let (area, server, store) = (MemoryArea(), ModelServer(), RefusingStore(after: 0, count: 3))
        let machine = LiveMachine(area, store: store, feed: server)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        #expect(await machine.view.isInMemory)
        #expect(await machine.storeError == .failed(code: 8, message: "attempt to write a readonly database"))
        #expect(store.asked.value == 3 && area.shown.value == 1)
        await server.change(.update)
        #expect(try await eventually { area.shown.value > 1 })
        #expect(store.asked.value == 3)
        await machine.refresh()
        #expect(try await eventually { await machine.view.freshness == .connected && store.asked.value > 3 })
        #expect(try await eventually { await machine.storeError == nil })
        #expect(try await store.load(area: area.name)?.finger != nil)
        await machine.stop()
    }

    @Test func `a corrupt file that cannot be replaced at once tells each of its parts once, later`() throws {
        let (folder, isFull) = (TemporaryFolder(), Shared(false))
        let file = try StoreFile(path: folder.path + "/store") { _ in
            if isFull.value { throw SQLiteError(code: 13, message: "disk full", statement: nil) }
        }
        let store = ObjectIdentifier(file)
        for part in ["a", "b"] { try file.transaction(of: part, store: store) { _ in } }
        isFull.update { $0 = true }
        #expect(throws: SQLiteError.self) {
            try file.transaction(of: "a", store: store) { _ in
                throw SQLiteError(code: 11, message: "malformed", statement: nil)
            }
        }
        isFull.update { $0 = false }
        for part in ["a", "b"] {
            #expect {
                try file.transaction(of: part, store: store) { _ in }
            } throws: {
                if case StoreError.corrupt = $0 { true } else { false }
            }
            try file.transaction(of: part, store: store) { _ in }
        }
    }
}
