// Tests: LiveCollection.swift, CollectionArea.swift
import Foundation
import LiveCollections
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// A collection that has a server's things, for actions of its user.
@MainActor private struct Acting {
    let folder = SessionFolder()
    let api = ItemAPI()
    let session: LiveSession
    let items: LiveCollection<Item>
    let running: Task<Void, Never>

    init() async throws {
        let (api, session) = (api, try await folder.session(api.server))
        self.session = session
        items = LiveCollection("incident", in: session) {
            try await api.items()
        } reload: {
            try await api.item($0)
        }
        running = Task { await session.run() }
        let items = items
        try await until("two things") { items.elements.count == 2 && items.freshness == .connected }
    }

    func close() async {
        await session.close()
        await running.value
    }

    /// What is stored of an item.
    func stored(_ id: String) async throws -> Item? {
        let json = try await session.store.transaction { transaction in
            try transaction.rows("SELECT json FROM live_rows WHERE id = ?", [.text(id)]).first?[0].text
        }
        return try json.map { try JSONDecoder().decode(Item.self, from: Data($0.utf8)) }
    }
}

@MainActor @Suite(.timeLimit(.minutes(5))) struct CollectionActionTests {
    @Test func `the answer to an action is shown and stored at once`() async throws {
        let acting = try await Acting()
        let answer = try await acting.items.perform { Item(id: "A", version: 5) }
        #expect(answer.version == 5 && acting.items["A"] == answer)
        #expect(try await acting.stored("A") == answer)
        // A new one, too.
        try await acting.items.perform { Item(id: "N", version: 1) }
        #expect(acting.items.elements.map(\.id) == ["A", "B", "N"])
        await #expect(throws: RequestError(status: 503)) {
            try await acting.items.perform { throw RequestError(status: 503) }
        }
        #expect(acting.items.elements.count == 3 && acting.api.asked.value.isEmpty)
        // What the server says afterwards counts.
        await acting.api.server.change(.update)
        try await until("the server's version") { acting.items["A"]?.version == 2 }
        await acting.close()
    }

    @Test func `what was asked for before an action does not take its answer back`() async throws {
        let acting = try await Acting()
        let (items, api) = (acting.items, acting.api)
        // The action is done on the server, and answered, while an older answer is on its way.
        api.answering.withLock { answering in
            answering = { item in
                guard item.version == 2 else { return }
                await api.server.change(.update)
                _ = try? await items.perform { Item(id: "A", version: 3) }
            }
        }
        let shown = Shared<[Int]>([])
        let watching = Task { @MainActor in
            while !Task.isCancelled {
                if let version = items["A"]?.version, shown.value.last != version {
                    shown.update { $0.append(version) }
                }
                await Task.yield()
            }
        }
        await api.server.change(.update)
        // Until both events are in the state, and not only the answer.
        try await until("the cursor") {
            (try? await acting.session.store.load(area: SessionFolder.area))?.finger == "0/2"
        }
        #expect(items["A"]?.version == 3 && api.asked.value.count >= 2)
        watching.cancel()
        await watching.value
        #expect(shown.value.sorted() == shown.value && !shown.value.contains(2), "\(shown.value)")
        await acting.close()
    }

    @Test func `a fetch that fails while an action runs drops no answer`() async throws {
        let acting = try await Acting()
        let items = acting.items
        try await items.perform {
            acting.api.broken.withLock { $0["A"] = RequestError(status: 400) }
            await acting.api.server.change(.update)
            try await until("the failure") { items.failures["A"] != nil }
            return Item(id: "A", version: 2)
        }
        #expect(items["A"]?.version == 2)
        #expect(try await acting.stored("A")?.version == 2)
        await acting.close()
    }

    @Test(arguments: [false, true]) func `what was fetched while an action ran may be newer, and stays`(
        _ isAll: Bool
    ) async throws {
        let acting = try await Acting()
        let items = acting.items
        let change = isAll ? ModelServer.Change.resync : .update
        for version in 2...3 {
            // Its answer is late: the server has gone on.
            try await items.perform {
                await acting.api.server.change(change)
                try await until("version \(version)") { items["A"]?.version == version }
                return Item(id: "A", version: 1)
            }
            #expect(items["A"]?.version == version)
            #expect(try await acting.stored("A")?.version == version)
        }
        await acting.close()
    }
}
