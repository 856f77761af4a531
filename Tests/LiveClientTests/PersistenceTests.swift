// Tests: LiveStore.swift, ClientFeed.swift
import Foundation
import Reactor
import Synchronization
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor

/// An area in a file, with a table of the ids that it was given.
private struct FileArea: LiveArea {
    typealias Store = SQLiteStore

    let name = "incidents"

    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func write(_ change: LiveChange<Void, Int>, in transaction: StoreTransaction) throws {
        guard case .things(let things) = change else { return }
        for (thing, _) in things { try transaction.execute("INSERT INTO ids VALUES (?)", [.text(thing.id)]) }
    }
    func show(_ change: LiveChange<Void, Int>) async {}
}

/// One in memory.
private final class TypingArea: LiveArea {
    typealias Store = MemoryStore

    let name = "typing"
    let shown = Shared<[String]>([])

    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async {
        guard case .things(let things) = change else { return }
        shown.update { $0 += things.map(\.thing.id) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct PersistenceTests {
    private typealias Client = `The client of an application`

    private static func open(_ path: String) async throws -> SQLiteStore {
        let identity = SQLiteStore.Identity(schema: 1, account: "a", server: "s")
        return try await SQLiteStore.open(path: path, identity: identity) {
            try $0.execute("CREATE TABLE ids (id TEXT)")
        }
    }

    private static func settings(_ entity: String) -> UpdateMachine.Settings {
        var settings = UpdateMachine.Settings()
        settings.entities = [entity]
        return settings
    }

    /// Waits until the machine has everything up to this cursor.
    private static func settle<Area: LiveArea>(_ machine: LiveMachine<Area>, at finger: String) async {
        for await view in await machine.views
        where view.freshness == .connected && view.pending == 0 && view.metadata.finger == finger { break }
    }

    @Test func `a machine in a file and one in memory share a connection, and the file alone outlives the process`()
        async throws
    {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let token = Array(#"{"token":"t2"}"#.utf8)
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"w"}}"#), Client.frame(#"{"expiring":{"exp":5}}"#),
            .awaitBytes(6 + token.count), Client.frame(#"{"ent":"incident","id":"A","type":"updated","at":"x"}"#),
            Client.frame(#"{"ent":"typing","id":"B","type":"updated","at":"y"}"#), .silence,
        ])
        let both = AsyncStream<Void>.makeStream()
        let asked = Shared(0)
        let client = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")) {
            asked.update { $0 += 1 }
            guard asked.value > 1 else { return "t1" }
            // The events come once both are there.
            for await _ in both.stream {}
            return "t2"
        }
        let file = try await Self.open(path)
        try await file.commit(
            area: "incidents", metadata: UpdateMetadata(finger: "F", lastSuccess: WallClock.milliseconds)
        ) { _ in }
        let incidents = LiveMachine(FileArea(), store: file, client: client, settings: Self.settings("incident"))
        await incidents.start()
        await Self.settle(incidents, at: "w")
        let (area, memory) = (TypingArea(), MemoryStore())
        let typing = LiveMachine(area, store: memory, client: client, settings: Self.settings("typing"))
        await typing.start()
        await Self.settle(typing, at: "w")
        both.continuation.finish()
        await Self.settle(incidents, at: "y")
        await Self.settle(typing, at: "y")
        // One request on one connection, then its next token.
        #expect(server.received.map { $0.starts(with: "GET ".utf8) } == [true, false])
        #expect(area.shown.value == ["B"])
        #expect(try await memory.load(area: "typing")?.finger == "y")
        await incidents.stop()
        await typing.stop()
        await client.close()
        await file.close()
        let again = try await Self.open(path)
        #expect(try await again.load(area: "incidents")?.finger == "y")
        #expect(try await again.load(area: "typing") == nil)
        #expect(try await again.transaction { try $0.rows("SELECT id FROM ids").map { $0[0].text } } == ["A"])
        await again.close()
    }
}
