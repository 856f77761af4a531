// Tests: ListKeeper.swift, ListStore.swift, LiveScreens+Stored.swift, LiveMachine+Finger.swift
import Foundation
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// A ``ModelServer``'s things by the page and one by one, each as its id and version; an app that is offline gets no answer.
struct VersionAPI: ScreensAPI {
    let server: ModelServer
    let isOffline: Bool
    let pages = Shared(0)

    /// The same for a thing of a page as for one that was fetched by itself.
    static func key(_ value: String) -> ListKey { ListKey(text: String(value.prefix(1))) }

    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        if isOffline { throw RequestError(status: nil) }
        return try await server.version(of: thing.id).map { .value("\(thing.id)\($0)") } ?? .gone
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        pages.update { $0 += 1 }
        if isOffline { throw RequestError(status: nil) }
        let items = try await server.list().map { id, version in
            ListPage<String>.Item(id: id, key: Self.key("\(id)\(version)"), value: "\(id)\(version)")
        }
        return ListPage(items: items, isLast: true)
    }
}

/// An area whose lists are kept.
struct KeptArea: LiveArea {
    typealias Store = SQLiteStore

    let name = "incidents"
    let screens: LiveScreens<VersionAPI>
    let keeper: ListKeeper<VersionAPI>

    var lists: (any ListKeeping)? { keeper }
    func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }
    func snapshot() async throws { if await screens.api.isOffline { throw RequestError(status: nil) } }
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<String> {
        LiveReload(try await screens.reload(thing, types: types))
    }
    func show(_ change: LiveChange<Void, String>) async {}
}

/// One run of an app that shows a list.
struct Visit {
    let store: SQLiteStore
    let kept: SQLiteListStore<String>
    let api: VersionAPI
    let screens: LiveScreens<VersionAPI>
    let machine: LiveMachine<KeptArea>
    let states: AsyncStream<ListState<String>>

    init(_ path: String, _ server: ModelServer, isOffline: Bool = false, retention: Milliseconds = 86_400_000)
        async throws
    {
        let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
        store = try await SQLiteStore.open(path: path, identity: identity) { _ in }
        kept = try await Self.listStore(store)
        api = VersionAPI(server: server, isOffline: isOffline)
        screens = LiveScreens(api)
        states = await screens.makeList("all", of: "incident") { VersionAPI.key($0) }
        var settings = UpdateMachine.Settings()
        settings.retention = retention
        let area = KeptArea(screens: screens, keeper: ListKeeper(screens, in: kept, area: "incidents"))
        machine = LiveMachine(area, store: store, feed: server, settings: settings)
        await screens.show("all", from: .beginning, .forward, count: 9)
    }

    static func listStore(_ store: SQLiteStore) async throws -> SQLiteListStore<String> {
        try await SQLiteListStore(
            store, encode: { Array($0.utf8) }, decode: { String(decoding: $0, as: UTF8.self) })
    }

    /// The first state that is so.
    func state(_ isSo: (ListState<String>) -> Bool) async throws -> ListState<String> {
        for await state in states where isSo(state) { return state }
        throw CancellationError()
    }

    /// Waits until the lists are kept as the state is.
    func settle(_ ids: [String]) async throws -> Bool {
        try await eventually(seconds: 120) {
            let (lists, state) = (try await kept.loadLists(area: "incidents"), try await store.load(area: "incidents"))
            let isPending = await machine.view.pending > 0
            guard !isPending, let finger = state?.finger, lists?.finger == finger else { return false }
            return lists?.lists.first?.items.map(\.id) == ids
        }
    }

    func end() async {
        await machine.stop()
        await screens.close()
        await store.close()
    }
}

@Suite(.timeLimit(.minutes(5))) struct ListKeeperTests {
    /// A path of its own, and nothing left of it afterwards.
    static func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lists-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "store.sqlite").path)
    }

    /// A first run, whose list is kept.
    private static func visit(_ path: String, _ server: ModelServer) async throws {
        let visit = try await Visit(path, server)
        await visit.machine.start()
        try #require(try await visit.settle(["A", "B"]))
        await visit.end()
    }

    @Test func `the next start shows the list at once, as good as the finger, and goes on from there`() async throws {
        try await Self.withPath { path in
            let server = ModelServer()
            try await Self.visit(path, server)
            // No page and no thing can be fetched.
            let offline = try await Visit(path, server, isOffline: true)
            await offline.machine.start()
            let shown = try await offline.state { $0.knowledge == .known }
            #expect(shown.items.map(\.value) == ["A1", "B1"])
            #expect(shown.items.allSatisfy { $0.knowledge == .known })
            #expect(shown.stretch == ListStretch(ids: ["A", "B"], isComplete: true, isStale: false))
            await offline.end()
            await server.change(.create)
            await server.change(.update)
            let online = try await Visit(path, server)
            await online.machine.start()
            let last = try await online.state { state in
                state.knowledge == .known && state.items.map(\.value) == ["A2", "B1", "C1"]
            }
            #expect(last.items.map(\.id) == ["A", "B", "C"])
            #expect(try await online.settle(["A", "B", "C"]))
            await online.end()
        }
    }

    @Test func `lists of a state that is hopelessly old are shown as old`() async throws {
        try await Self.withPath { path in
            let server = ModelServer()
            try await Self.visit(path, server)
            let offline = try await Visit(path, server, isOffline: true, retention: 1)
            await offline.machine.start()
            let shown = try await offline.state { !$0.items.isEmpty }
            #expect(shown.knowledge == .knownStale && shown.complete.isEmpty)
            #expect(shown.items.map(\.value) == ["A1", "B1"] && shown.items.allSatisfy { $0.knowledge == .knownStale })
            #expect(shown.stretch == ListStretch(ids: ["A", "B"], isComplete: true, isStale: true))
            await offline.end()
        }
    }

    @Test func `lists that were kept with another finger than the state are old, and loaded again`() async throws {
        try await Self.withPath { path in
            let server = ModelServer()
            try await Self.visit(path, server)
            let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
            let store = try await SQLiteStore.open(path: path, identity: identity) { _ in }
            try await Visit.listStore(store).commit(area: "incidents", finger: "elsewhere", lists: nil)
            await store.close()
            let offline = try await Visit(path, server, isOffline: true)
            await offline.machine.start()
            let shown = try await offline.state { !$0.items.isEmpty }
            #expect(shown.knowledge == .knownStale && shown.complete.isEmpty)
            await offline.end()
            let online = try await Visit(path, server)
            await online.machine.start()
            _ = try await online.state { $0.knowledge == .known }
            #expect(online.api.pages.value > 0)
            await online.end()
        }
    }

    // MARK: - Lists that are made later

    private static func kept(_ ids: [String]) -> StoredList<String> {
        let all = ListInterval(lower: .beginning, upper: .end)
        let items = ids.map { id in
            StoredList<String>.Item(id: id, key: VersionAPI.key(id), value: "\(id)1", isOld: id == "old")
        }
        return StoredList(name: "all", entity: "incident", intervals: [all], items: items)
    }

    private static func screens() async -> LiveScreens<VersionAPI> {
        let screens = LiveScreens(VersionAPI(server: ModelServer(), isOffline: true))
        await screens.setFinger(true)
        return screens
    }

    private static func make(_ screens: LiveScreens<VersionAPI>) async throws -> ListState<String> {
        let states = await screens.makeList("all", of: "incident") { VersionAPI.key($0) }
        await screens.show("all", from: .beginning, .forward, count: 9)
        for await state in states where state.knowledge != nil { return state }
        throw CancellationError()
    }

    @Test func `a list that is made later has what was kept, as good as it was while nothing happened to its things`()
        async throws
    {
        let screens = await Self.screens()
        await screens.restore([Self.kept(["A", "old"])])
        _ = try await screens.reload(Thing(entity: "note", id: "N"), types: ["created"])
        let state = try await Self.make(screens)
        #expect(state.knowledge == .known && state.items.map(\.value) == ["A1", "old1"])
        #expect(state.items.map(\.knowledge) == [.known, .knownStale])
        #expect(await screens.toStore().lists.map(\.name) == ["all"])
        await screens.close()
    }

    @Test func `a list that is made when something has happened to its things is old, and kept no longer`() async throws
    {
        for loss in ["event", "finger"] {
            let screens = await Self.screens()
            await screens.restore([Self.kept(["A"])])
            #expect(await screens.toStore().lists.map(\.name) == ["all"], "\(loss)")
            if loss == "event" {
                _ = try await screens.reload(Thing(entity: "incident", id: "N"), types: ["created"])
            } else {
                await screens.setFinger(false)
                await screens.setFinger(true)
            }
            #expect(await screens.toStore().lists.isEmpty, "\(loss)")
            let state = try await Self.make(screens)
            #expect(state.knowledge == .knownStale && state.items.map(\.id) == ["A"], "\(loss)")
            await screens.close()
        }
    }

    @Test func `what a page from before the finger has more than the kept list is fetched`() async throws {
        let server = ModelServer()
        await server.change(.create)
        let screens = LiveScreens(VersionAPI(server: server, isOffline: false))
        let states = await screens.makeList("all", of: "incident") { VersionAPI.key($0) }
        await screens.show("all", from: .beginning, .forward, count: 9)
        for await state in states where state.items.count == 3 { break }
        await screens.setFinger(true)
        await screens.restore([Self.kept(["A", "B"])])
        for await state in states
        where state.knowledge == .known && state.items.allSatisfy({ $0.knowledge == .known }) {
            #expect(state.items.map(\.value) == ["A1", "B1", "C1"])
            break
        }
        await screens.close()
    }

    @Test func `what was old when it was kept is not shown in place of what is on a screen`() async throws {
        let screens = await Self.screens()
        let thing = Thing(entity: "incident", id: "old")
        let details = await screens.showDetails("details", of: thing)
        await screens.restore([Self.kept(["A", "old"])])
        let state = try await Self.make(screens)
        #expect(state.items.map(\.value) == ["A1", nil] && state.items.map(\.knowledge) == [.known, .unknown])
        for await shown in details {
            #expect(shown.value == nil && shown.knowledge == .unknown)
            if shown.failure != nil { break }
        }
        await screens.close()
    }

    // MARK: - What is written

    /// A store that refuses what it is told to.
    private actor RefusingLists: ListStore {
        struct Refused: Error {}

        private(set) var commits: [(finger: String?, lists: [String]?)] = []
        private var refusals: Int
        private let kept: [StoredList<String>]

        init(refusals: Int, kept: [StoredList<String>] = []) { (self.refusals, self.kept) = (refusals, kept) }

        func loadLists(area: String) async throws -> StoredLists<String>? { StoredLists(finger: "F", lists: kept) }

        func commit(area: String, finger: String?, lists: [StoredList<String>]?) async throws {
            commits.append((finger, lists?.map(\.name)))
            guard refusals > 0 else { return }
            refusals -= 1
            throw Refused()
        }

        /// Waits until the last commit is so.
        nonisolated func wait(_ isSo: @Sendable ((finger: String?, lists: [String]?)) -> Bool) async throws {
            let isReached = try await eventually { await commits.last.map(isSo) ?? false }
            try #require(isReached)
        }
    }

    @Test func `a finger is kept alone only beside lists that were kept`() async throws {
        let (screens, store) = (await Self.screens(), RefusingLists(refusals: 1))
        let keeper = ListKeeper(screens, in: store, area: "incidents")
        try await keeper.load(finger: nil)
        _ = try await Self.make(screens)
        await keeper.restore()
        for (index, finger) in ["F", "G", "H"].enumerated() {
            keeper.fingerMoved(to: finger)
            keeper.keep()
            try await store.wait { $0.finger == finger }
            // The first attempt was refused; the page that fails again and again changes the list, too.
            if index == 1 { #expect(await store.commits.filter { $0.lists != nil }.count >= 2) }
        }
        // Without a finger that the screens hold there is none to be kept.
        await screens.setFinger(false)
        keeper.keep()
        try await store.wait { $0.finger == nil }
        keeper.close()
        await screens.close()
    }

    @Test func `a list that nobody makes is not believed with a finger that has gone on without it`() async throws {
        for isRestored in [true, false] {
            let (screens, store) = (await Self.screens(), RefusingLists(refusals: 0, kept: [Self.kept(["A"])]))
            let keeper = ListKeeper(screens, in: store, area: "incidents")
            // What cannot be restored is not read: then nothing of it stays.
            if isRestored { try await keeper.load(finger: "F") }
            await keeper.restore()
            keeper.fingerMoved(to: "F")
            keeper.keep()
            try await store.wait { $0.finger == "F" }
            _ = try await screens.reload(Thing(entity: "incident", id: "A"), types: ["updated"])
            keeper.fingerMoved(to: "G")
            keeper.keep()
            try await store.wait { $0.finger == "G" }
            let commits = await store.commits.compactMap(\.lists)
            #expect(commits.first == (isRestored ? ["all"] : []) && commits.last == [])
            keeper.close()
            await screens.close()
        }
    }

    @Test func `a list that is made when nothing could be read is kept with all that happens to it`() async throws {
        let (screens, store) = (await Self.screens(), RefusingLists(refusals: 0))
        let keeper = ListKeeper(screens, in: store, area: "incidents")
        await keeper.restore()
        keeper.fingerMoved(to: "F")
        keeper.keep()
        try await store.wait { $0.finger == "F" }
        _ = try await Self.make(screens)
        keeper.fingerMoved(to: "G")
        keeper.keep()
        try await store.wait { $0.finger == "G" }
        #expect(await store.commits.compactMap(\.lists).last == ["all"])
        keeper.close()
        await screens.close()
    }

    @Test func `what is kept in a file is read as it was`() async throws {
        try await Self.withPath { path in
            let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
            let store = try await SQLiteStore.open(path: path, identity: identity) { _ in }
            let kept = try await Visit.listStore(store)
            #expect(try await kept.loadLists(area: "incidents") == nil)
            let key = { (rank: Int64, text: String) in ListKey(rank: rank, text: text) }
            let list = StoredList(
                name: "open", entity: "incident",
                intervals: [
                    ListInterval(lower: .beginning, upper: .at(key: key(-5, "x"))),
                    ListInterval(lower: .at(key: key(7, "\u{E9}'")), upper: .end),
                ],
                items: [
                    .init(id: "A", key: key(-5, "x"), value: "A3", isOld: true),
                    .init(id: "B", key: key(7, "\u{E9}'"), value: nil, isOld: false),
                ])
            try await kept.commit(area: "incidents", finger: "F", lists: [list, Self.kept(["A"])])
            try await kept.commit(area: "others", finger: nil, lists: [])
            try await kept.commit(area: "incidents", finger: "G", lists: nil)
            let found = try #require(try await kept.loadLists(area: "incidents"))
            #expect(found.finger == "G" && found.lists.map(\.name) == ["all", "open"])
            let open = try #require(found.lists.last)
            #expect(open.entity == "incident" && open.intervals == list.intervals)
            #expect(open.items.map(\.id) == ["A", "B"] && open.items.map(\.key) == list.items.map(\.key))
            #expect(open.items.map(\.value) == ["A3", nil] && open.items.map(\.isOld) == [true, false])
            #expect(try await kept.loadLists(area: "others")?.lists.isEmpty == true)
            try await kept.commit(area: "incidents", finger: nil, lists: [])
            #expect(try await kept.loadLists(area: "incidents")?.lists.isEmpty == true)
            await store.close()
        }
    }
}
