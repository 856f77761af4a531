// Tests: LiveCollection.swift, CollectionArea.swift, CollectionRows.swift
import Foundation
import LiveCollections
import LiveState
import Observation
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

@MainActor @Suite(.timeLimit(.minutes(5))) struct LiveCollectionTests {
    private typealias Items = LiveCollection<Item>

    private static func items(
        _ api: ItemAPI, in session: LiveSession, name: String? = nil, sortedBy order: ((Item, Item) -> Bool)? = nil
    ) -> Items {
        Items("incident", in: session, name: name, sortedBy: order) {
            try await api.items()
        } reload: {
            try await api.item($0)
        }
    }

    /// One without an API.
    private static func offline(_ session: LiveSession, name: String? = nil) -> Items {
        Items("incident", in: session, name: name) {
            throw RequestError(status: nil)
        } reload: { _ in
            throw RequestError(status: nil)
        }
    }

    /// Waits until the collection is as the server, and knows it.
    private static func settle(_ items: Items, _ api: ItemAPI, _ place: SourceLocation = #_sourceLocation) async throws
    {
        let expected = await api.expected()
        try await until("\(expected), not \(items.elements)", at: place) {
            items.elements == expected && items.freshness == .connected && !items.isOld
        }
    }

    @Test func `it becomes as the server is, and is there again at the next start, with a sign`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        #expect(!items.isKnown && items.elements.isEmpty)
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        #expect(items.isKnown && items.lastError == nil)
        for change in [ModelServer.Change.create, .update, .delete, .resync] {
            await api.server.change(change)
            try await Self.settle(items, api)
        }
        #expect(await api.server.snapshots == 2)
        #expect(Set(api.asked.value) == ["A", "B", "C"])
        await session.close()
        await running.value
        // The next start has no network, and an API that does not answer.
        let later = try await folder.session(nil)
        let stored = Self.offline(later)
        let again = Task { await later.run() }
        let expected = await api.expected()
        try await until("the stored list and a sign") { stored.elements == expected && stored.isOld }
        #expect(await !stored.refresh())
        again.cancel()
        await again.value
        // Another account gets nothing of it.
        let others = try await folder.session(nil, account: "PACC2")
        let other = Self.offline(others)
        let third = Task { await others.run() }
        try await until("a sign") { other.isOld }
        #expect(!other.isKnown && other.elements.isEmpty)
        await others.close()
        await third.value
    }

    @Test func `one that comes back follows from its cursor, and asks for one element`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        for start in 1...3 {
            let session = try await folder.session(api.server)
            let items = Self.items(api, in: session)
            let running = Task { await session.run() }
            try await Self.settle(items, api)
            await session.close()
            await running.value
            #expect(await api.server.snapshots == 1)
            #expect(api.asked.value == Array(repeating: "A", count: start - 1))
            await api.server.change(.update)
        }
    }

    @Test func `the order is the app's, or the snapshot's with what is new behind it`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let newest = Self.items(api, in: session, name: "newest") { $0.id > $1.id }
        let plain = Items("incident", in: session) {
            try await api.items().reversed()
        } reload: {
            try await api.item($0)
        }
        let running = Task { await session.run() }
        try await until("two each") {
            newest.elements.map(\.id) == ["B", "A"] && plain.elements.map(\.id) == ["B", "A"]
        }
        await api.server.change(.create)
        await api.server.change(.update)
        try await until("three each") {
            newest.elements.map(\.id) == ["C", "B", "A"] && plain.elements.map(\.id) == ["B", "A", "C"]
                && plain["A"]?.version == 2
        }
        await session.close()
        await running.value
        let later = try await folder.session(nil)
        let (stored, empty) = (Self.offline(later), Self.offline(later, name: "another"))
        let again = Task { await later.run() }
        try await until("the same order") { stored.elements.map(\.id) == ["B", "A", "C"] && empty.isOld }
        #expect(!empty.isKnown)
        await later.close()
        await again.value
    }

    @Test(arguments: ["refused", "not encoded"])
    func `a broken element freezes no other one, and is told`(_ how: String) async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        if how == "refused" {
            api.broken.withLock { $0["A"] = RequestError(status: 400) }
        } else {
            api.weightless.withLock { _ = $0.insert("A") }
        }
        await api.server.change(.update)
        await api.server.change(.create)
        await api.server.change(.delete)
        try await until("C instead of B, and A as it was") {
            items.elements == [Item(id: "A", version: 1), Item(id: "C", version: 1)] && items.failures["A"] != nil
        }
        #expect(items.failures == ["A": how == "refused" ? .rejected(status: 400) : .unreadable])
        #expect(items.lastError is RequestError == (how == "refused"))
        #expect(items.lastError is EncodingError == (how != "refused"))
        // The cursor has passed it, and it is asked for again when somebody looks.
        let stored = try await session.store.load(area: SessionFolder.area)
        #expect(stored?.finger == "0/3" && stored?.knownStale?.map(\.thing.id) == ["A"])
        api.broken.withLock { $0 = [:] }
        api.weightless.withLock { $0 = [] }
        await items.check("A")
        try await Self.settle(items, api)
        try await until("no failure") { items.failures.isEmpty && items.lastError == nil }
        await session.close()
        await running.value
    }

    @Test func `an id that is none of the elements is told, and freezes no list`() async throws {
        struct Row: Codable, Identifiable, Sendable { var id: Int }
        let (folder, server) = (SessionFolder(), ModelServer())
        let session = try await folder.session(server)
        let rows = LiveCollection<Row>("incident", in: session) {
            [Row(id: 7), Row(id: 8), Row(id: 7)]
        } reload: { id in
            id == 7 ? Row(id: 7) : nil
        }
        let running = Task { await session.run() }
        try await until("7 and 8") { rows.elements.map(\.id) == [7, 8] && rows.freshness == .connected }
        await server.change(.update)
        try await until("it is told") { rows.lastError as? LiveCollectionError == .unreadableID("A") }
        #expect(rows.elements.map(\.id) == [7, 8])
        await session.close()
        await running.value
    }

    @Test func `two collections in one store keep rows of their own, and a second one of a name is refused`()
        async throws
    {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let all = Self.items(api, in: session)
        let some = Items("incident", in: session, name: "A alone") {
            try await api.items().filter { $0.id == "A" }
        } reload: { id in
            id == "A" ? try await api.item(id) : nil
        }
        let second = Self.items(api, in: session)
        #expect(second.lastError as? LiveCollectionError == .nameIsTaken(entity: "incident", name: nil))
        let running = Task { await session.run() }
        try await Self.settle(all, api)
        await api.server.change(.create)
        await api.server.change(.update)
        try await Self.settle(all, api)
        try await until("A alone") { some.elements == [Item(id: "A", version: 2)] && some.freshness == .connected }
        #expect(!second.isKnown)
        await session.close()
        await running.value
        let later = try await folder.session(nil)
        let (first, other) = (Self.offline(later), Self.offline(later, name: "A alone"))
        let again = Task { await later.run() }
        let expected = await api.expected()
        try await until("both") { first.elements == expected && other.elements == [Item(id: "A", version: 2)] }
        await later.close()
        await again.value
    }

    @Test(arguments: [true, false]) func `who signs out sees nothing any more, and leaves what they want`(
        _ keep: Bool
    ) async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        #expect(try await session.signOut(keep: keep) == SignedOut(isKept: keep, pending: []))
        await running.value
        #expect(items.elements.isEmpty && !items.isKnown)
        #expect(try folder.files == (keep ? [SessionFolder.identity("PACC1").fileName] : []))
        let later = try await folder.session(nil)
        let stored = Self.offline(later)
        let again = Task { await later.run() }
        try await until("a sign") { stored.isOld }
        #expect(stored.elements.count == (keep ? 2 : 0) && stored.isKnown == keep)
        await later.close()
        await again.value
    }

    @Test func `whenever the process ends, the rows are not behind the cursor`() async throws {
        let (folder, copies, api) = (SessionFolder(), TemporaryFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        // What a kill leaves is what the files have at that moment: the file, and then the log that goes with it.
        let name = SessionFolder.identity("PACC1").fileName
        for number in 0..<40 {
            await api.server.change(.update)
            if number % 4 == 0 { try await Self.settle(items, api) }
            try FileManager.default.createDirectory(
                atPath: "\(copies.path)/\(number)", withIntermediateDirectories: false)
            for file in [name, name + "-wal"] {
                try FileManager.default.copyItem(
                    atPath: "\(folder.folder.path)/\(file)", toPath: "\(copies.path)/\(number)/\(file)")
            }
        }
        await session.close()
        await running.value
        var cursors: Set<Int> = []
        for number in 0..<40 {
            let store = try await SQLiteStore.open(
                path: "\(copies.path)/\(number)/\(name)", identity: SessionFolder.identity("PACC1")
            ) { _ in }
            let finger = try #require(try await store.load(area: SessionFolder.area)?.finger)
            let rows = try await store.transaction { transaction in
                try transaction.rows("SELECT id, entity, json FROM live_rows ORDER BY position").map { $0.map(\.text) }
            }
            let items = try rows.map { try JSONDecoder().decode(Item.self, from: Data(($0[2] ?? "").utf8)) }
            #expect(rows.map { $0[0] } == ["A", "B"] && rows.map { $0[1] } == ["incident", "incident"])
            // Each event is another version of A.
            let position = try #require(Int(finger.dropFirst(2)))
            #expect(items[0].version > position, "\(items) at \(finger)")
            cursors.insert(position)
            await store.close()
        }
        #expect(cursors.count >= 10)
    }

    @Test func `rows that a new version cannot read are fetched again, and the others are shown until then`()
        async throws
    {
        struct Newer: Codable, Equatable, Identifiable, Sendable {
            var id: String
            var version: Int
            init(id: String, version: Int) { (self.id, self.version) = (id, version) }
            init(from decoder: any Decoder) throws {
                let item = try Item(from: decoder)
                (id, version) = (item.id, item.version)
                if id == "B" { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no title")) }
            }
        }
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        await session.close()
        await running.value
        let offline = try await folder.session(nil)
        let some = LiveCollection<Newer>("incident", in: offline) {
            throw RequestError(status: nil)
        } reload: { _ in
            throw RequestError(status: nil)
        }
        let second = Task { await offline.run() }
        try await until("what can be read") { some.elements.map(\.id) == ["A"] && some.isOld }
        await offline.close()
        await second.value
        let later = try await folder.session(api.server)
        let all = LiveCollection<Newer>("incident", in: later) {
            try await api.items().map { Newer(id: $0.id, version: $0.version) }
        } reload: { _ in
            nil
        }
        let third = Task { await later.run() }
        try await until("a snapshot") { all.elements.map(\.id) == ["A", "B"] && all.freshness == .connected }
        #expect(await api.server.snapshots == 2)
        await later.close()
        await third.value
    }

    @Test func `one that nobody holds is stopped, and its name is free`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let running = Task { await session.run() }
        weak var dropped: Items?
        do {
            let items = Self.items(api, in: session)
            dropped = items
            try await Self.settle(items, api)
        }
        try await until("it is gone") { dropped == nil }
        let items = Self.items(api, in: session)
        #expect(items.lastError == nil)
        await api.server.change(.update)
        try await Self.settle(items, api)
        #expect(await api.server.snapshots == 1)
        await session.close()
        await running.value
    }

    @Test func `what changes is observed`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session)
        let changed = Shared(0)
        withObservationTracking {
            _ = items.elements
        } onChange: {
            changed.update { $0 += 1 }
        }
        let running = Task { await session.run() }
        try await Self.settle(items, api)
        #expect(changed.value == 1)
        await session.close()
        await running.value
    }
}
