// Tests: ClientFeed.swift, LiveReaders.swift
import Reactor
import Synchronization
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor

/// An area that notes what it is asked for.
private final class NotingArea: LiveArea {
    typealias Store = MemoryStore

    let name: String
    let snapshots = Shared(0)
    let shown = Shared<Set<String>>([])

    init(_ name: String) { self.name = name }

    func snapshot() async throws { snapshots.update { $0 += 1 } }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(0) }

    func show(_ change: LiveChange<Void, Int>) async {
        guard case .things(let things) = change else { return }
        shown.update { $0.formUnion(things.map(\.thing.id)) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct LaterMachineTests {
    private typealias Client = `The client of an application`

    private static func machine(
        _ area: NotingArea, _ store: MemoryStore, _ client: LiveClient, finger: String
    ) async throws -> LiveMachine<NotingArea> {
        let metadata = UpdateMetadata(finger: finger, lastSuccess: WallClock.milliseconds)
        try await store.commit(area: area.name, metadata: metadata) { _ in }
        let machine = LiveMachine(area, store: store, client: client)
        await machine.start()
        return machine
    }

    private static func settle(
        _ machine: LiveMachine<NotingArea>, _ store: MemoryStore, _ area: NotingArea, at finger: String
    ) async throws {
        for await view in await machine.views
        where view.freshness == .connected && view.pending == 0 && view.metadata.finger == finger { break }
        #expect(try await store.load(area: area.name)?.finger == finger)
    }

    /// Between G and y something may have happened that only the first machine was told of.
    @Test func `a machine that comes later with an older finger misses nothing of what came before and comes after`()
        async throws
    {
        let next = Array(#"{"token":"t2"}"#.utf8)
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(#"{"ent":"a","id":"one","type":"updated","at":"x"}"#),
            Client.frame(#"{"live":{"at":"y"}}"#), Client.frame(#"{"expiring":{"exp":5}}"#),
            .awaitBytes(6 + next.count), Client.frame(#"{"ent":"a","id":"two","type":"updated","at":"z"}"#), .silence,
        ])
        let later = AsyncStream<Void>.makeStream()
        let asked = Shared(0)
        let client = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")) {
            asked.update { $0 += 1 }
            guard asked.value > 1 else { return "t1" }
            // The next token, and so the next event, comes once the later machine is there.
            for await _ in later.stream {}
            return "t2"
        }
        let store = MemoryStore()
        let (first, second) = (NotingArea("first"), NotingArea("second"))
        let early = try await Self.machine(first, store, client, finger: "F")
        try await Self.settle(early, store, first, at: "y")
        let late = try await Self.machine(second, store, client, finger: "G")
        try await Self.settle(late, store, second, at: "y")
        // Nobody can say what lies between G and y: all of it was fetched.
        #expect(second.snapshots.value == 1)
        later.continuation.finish()
        try await Self.settle(early, store, first, at: "z")
        try await Self.settle(late, store, second, at: "z")
        #expect(first.shown.value == ["one", "two"] && first.snapshots.value == 0)
        #expect(second.shown.value == ["two"] && second.snapshots.value == 1)
        await early.stop()
        await late.stop()
        await client.close()
    }
}
