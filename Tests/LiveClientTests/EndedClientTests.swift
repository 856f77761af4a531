// Tests: LiveMachine.swift, ClientFeed.swift
import Reactor
import Synchronization
import Testing

@testable import LiveClient
@testable import LiveClientReactor

/// An area that needs nothing: it is live as soon as its stream is.
struct EmptyArea: LiveArea {
    typealias Store = MemoryStore

    let name = "empty"

    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .gone }
    func show(_ change: LiveChange<Void, Int>) async {}
}

/// A machine over a client that does not come back.
@Suite(.timeLimit(.minutes(5))) struct EndedClientTests {
    private typealias Client = `The client of an application`

    private static func client(
        _ server: ScriptedServer, _ token: @escaping @Sendable () async throws -> String = { "t" }
    ) throws -> LiveClient {
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")
        configuration.ways = [.webSocket]
        return try LiveClient(configuration, token: token)
    }

    /// A machine that has a finger, or none.
    private static func machine(_ client: LiveClient, finger: String?) async throws -> LiveMachine<EmptyArea> {
        let store = MemoryStore()
        if let finger {
            let metadata = UpdateMetadata(finger: finger, lastSuccess: WallClock.milliseconds)
            try await store.commit(area: "empty", metadata: metadata) { _ in }
        }
        let machine = LiveMachine(EmptyArea(), store: store, client: client)
        await machine.start()
        return machine
    }

    /// The first view of which this holds.
    private static func view(
        _ machine: LiveMachine<EmptyArea>, _ holds: (UpdateMachine.View) -> Bool
    ) async throws -> UpdateMachine.View {
        for await view in await machine.views where holds(view) { return view }
        throw CancellationError()
    }

    private static func refusal(_ status: String, _ code: String) -> [Step] {
        [
            .awaitHead,
            `The connection of an application`.answer(status, "application/problem+json", #"{"code":"\#(code)"}"#),
            .close,
        ]
    }

    @Test func `a stream that is closed with 4403 ends its machines, which say so`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.close(4403, "revoked"), .awaitBytes(8), .close])
        let client = try Self.client(server)
        let machine = try await Self.machine(client, finger: "F")
        let view = try await Self.view(machine) { $0.end != nil }
        #expect(view.end == .revoked)
        // Who comes later is told at once, and sends nothing.
        let late = try await Self.machine(client, finger: nil)
        #expect(try await Self.view(late) { $0.end != nil && $0.state == .stale }.end == .revoked)
        #expect(server.received.filter { $0.starts(with: Array("GET".utf8)) }.count == 1)
        await machine.stop()
        await late.stop()
    }

    @Test(arguments: [
        (400, "400 Bad Request", "bad_parameter"), (403, "403 Forbidden", "forbidden"),
        (404, "404 Not Found", "not_found"),
        (426, "426 Upgrade Required", "upgrade_required"),
    ])
    func `a stream or a finger that is refused for good ends the machine, which says so`(
        _ status: Int, _ line: String, _ code: String
    ) async throws {
        for finger in ["F", nil] {
            let server = try ScriptedServer(Self.refusal(line, code))
            let client = try Self.client(server)
            let machine = try await Self.machine(client, finger: finger)
            let view = try await Self.view(machine) { $0.end != nil }
            #expect(view.end == .refused(status: status, code: code))
            await machine.stop()
            await client.close()
        }
    }

    @Test func `a client that the app has closed ends its machines, which say so`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"y"}}"#), .silence])
        let client = try Self.client(server)
        let machine = try await Self.machine(client, finger: "F")
        _ = try await Self.view(machine) { $0.freshness == .connected }
        await client.close()
        #expect(try await Self.view(machine) { $0.end != nil }.end == .stopped)
        await machine.stop()
    }

    @Test(arguments: [LiveClientError.unauthorized, RequestError(status: 401)] as [any Error])
    func `a machine for which nobody is signed in says so, and goes on with a token`(_ error: any Error) async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"y"}}"#), .silence])
        let isSignedIn = Mutex(false)
        let client = try Self.client(server) {
            guard isSignedIn.withLock({ $0 }) else { throw error }
            return "t"
        }
        for finger in ["F", nil] {
            isSignedIn.withLock { $0 = false }
            let machine = try await Self.machine(client, finger: finger)
            let view = try await Self.view(machine) { $0.isUnauthorized }
            #expect(view.end == nil)
            isSignedIn.withLock { $0 = true }
            if finger != nil {
                await machine.tokenChanged(isValid: true)
                _ = try await Self.view(machine) { $0.freshness == .connected }
            }
            await machine.stop()
        }
        await client.close()
    }
}
