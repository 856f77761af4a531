// Tests: LiveMachine.swift, LiveArea.swift, SQLiteStore.swift
import Foundation
import LiveClient
import LiveClientReactor
import TestHarness
import Testing

/// The tutorial's code is what its readers see, and it does what the article says.
@Suite(.timeLimit(.minutes(5))) struct TutorialTests {
    @Test func `the article has the code that is compiled, block by block and nothing else`() throws {
        let blocks = try Article("Tutorial.md").blocks
        #expect(blocks.count == 8)
        try Article.expect(blocks, areCompiledIn: "Tutorial.swift")
    }

    // MARK: - What it does

    /// A server's things as incidents: `A` is number 65, and its title has its version.
    private static func incident(_ id: String, _ version: Int) -> Incident {
        Incident(id: id, number: Int64(id.utf8.first ?? 0), title: "version \(version)")
    }

    private static func api(_ server: ModelServer) -> IncidentAPI {
        IncidentAPI { path in
            if path == "/incidents" {
                return (200, try JSONEncoder().encode(try await server.list().map { incident($0.key, $0.value) }))
            }
            let id = String(path.dropFirst("/incidents/".count))
            guard let version = try await server.version(of: id) else { return (404, Data()) }
            return (200, try JSONEncoder().encode(incident(id, version)))
        }
    }

    /// What a list is to show of a server: the newest first.
    private static func rows(_ server: ModelServer) async -> [Incident] {
        await server.things.map { incident($0.key, $0.value) }.sorted { $0.number > $1.number }
    }

    /// Waits until it holds.
    private static func until(_ about: String, _ holds: @MainActor () async -> Bool) async throws {
        if try await eventually(seconds: 120, { await holds() }) { return }
        Issue.record("it did not come about: \(about)")
    }

    private static let url = "ws://127.0.0.1:1/live/v1"

    /// The tutorial's machine over a server that is a value, in the file that the tutorial's code would open.
    private static func live(
        _ folder: String, _ area: IncidentArea, _ server: ModelServer
    ) async throws -> LiveIncidents {
        let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: url)
        let store = try await LiveIncidents.openStore(folder, identity)
        let settings = LiveIncidents.machineSettings()
        return LiveIncidents(
            client: try LiveClient(LiveClientConfiguration(url: url)) { "t" }, store: store,
            machine: LiveMachine(area, store: store, feed: server, settings: settings))
    }

    @Test func `the list becomes as the server is, and is there again at the next start, with a sign`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tutorial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = ModelServer()
        let list = IncidentList()
        let live = try await Self.live(folder.path, IncidentArea(api: Self.api(server), list: list), server)
        #expect(await list.rows == nil)
        let running = Task { await live.run(on: list) }
        for change in [nil, ModelServer.Change.create, .update, .delete, .resync] {
            if let change { await server.change(change) }
            let expected = await Self.rows(server)
            try await Self.until("\(expected)") { list.rows == expected }
        }
        try await Self.until("no sign") {
            let view = await live.machine.view
            return view.freshness == .connected && list.sign == nil && view.pending == 0
        }
        await live.close()
        await running.value
        // The next start has no network, and an API that does not answer.
        let (later, again) = try await showIncidents(
            of: "PACC1", from: IncidentAPI { _ in throw RequestError(status: nil) }, url: Self.url, folder: folder.path
        ) { "t" }
        let expected = await Self.rows(server)
        try await Self.until("the stored list and a sign") { later.rows == expected && later.sign != nil }
        await again.close()
        // Another account gets nothing of it.
        let (other, others) = try await showIncidents(
            of: "PACC2", from: IncidentAPI { _ in throw RequestError(status: nil) }, url: Self.url, folder: folder.path
        ) { "t" }
        try await Self.until("a sign") { other.sign != nil }
        #expect(await other.rows == nil)
        // Who signs out leaves it for the next time, or has it deleted; the first one's is there all the time.
        try await others.signOut(keep: false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        let (last, same) = try await showIncidents(
            of: "PACC1", from: IncidentAPI { _ in throw RequestError(status: nil) }, url: Self.url, folder: folder.path
        ) { "t" }
        try await Self.until("the first one's list") { last.rows == expected }
        try await same.signOut(keep: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
    }

    @Test func `whoever has to sign in is asked to, and goes on afterwards`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tutorial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = ModelServer()
        let list = IncidentList()
        let area = IncidentArea(api: Self.api(server), list: list)
        let live = try await Self.live(folder.path, area, server)
        let running = Task { await live.run(on: list) }
        let first = await Self.rows(server)
        try await Self.until("\(first)") { list.rows == first }
        await server.fail(2, with: .unauthorized)
        await server.change(.update)
        try await Self.until("a request to sign in") { list.needsSignIn }
        await live.signedIn()
        let second = await Self.rows(server)
        try await Self.until("\(second)") { list.rows == second && !list.needsSignIn }
        await live.close()
        await running.value
    }
}
