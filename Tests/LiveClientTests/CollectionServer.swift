import Foundation
import LiveState
import Synchronization
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor

/// A server's thing, as an app has it.
struct Item: Codable, Equatable, Identifiable, Sendable {
    var id: String
    var version: Int
    /// JSON has no word for a number that is none.
    var weight = 0.0
}

/// An app's API over a ``ModelServer``.
final class ItemAPI: Sendable {
    let server: ModelServer
    /// What requests for these things end with.
    let broken = Mutex<[String: RequestError]>([:])
    /// Things whose weight is no number.
    let weightless = Mutex<Set<String>>([])
    /// Called when a thing was read, before its answer comes.
    let answering = Mutex<(@Sendable (Item) async -> Void)?>(nil)
    let asked = Shared<[String]>([])

    init(_ server: ModelServer = ModelServer()) { self.server = server }

    func items() async throws -> [Item] {
        try await server.list().sorted { $0.key < $1.key }.map { item($0.key, $0.value) }
    }

    func item(_ id: String) async throws -> Item? {
        asked.update { $0.append(id) }
        if let error = broken.withLock({ $0[id] }) { throw error }
        guard let version = try await server.version(of: id) else { return nil }
        let found = item(id, version)
        await answering.withLock { $0 }?(found)
        return found
    }

    private func item(_ id: String, _ version: Int) -> Item {
        Item(id: id, version: version, weight: weightless.withLock { $0.contains(id) } ? .nan : 0)
    }

    /// What a list is to show.
    func expected() async -> [Item] {
        await server.things.sorted { $0.key < $1.key }.map { Item(id: $0.key, version: $0.value) }
    }
}

/// Sessions whose files are in one folder.
struct SessionFolder {
    static let url = "ws://127.0.0.1:1/live/v1"
    /// What the metadata of a collection of incidents is stored under.
    static let area = "collection incident\u{1}1"
    let folder = TemporaryFolder()

    static func identity(_ account: String) -> SQLiteStore.Identity {
        SQLiteStore.Identity(schema: 1, account: account, server: url)
    }

    /// Nil: there is no network, and no API.
    func session(_ server: ModelServer?, account: String = "PACC1") async throws -> LiveSession {
        guard let server else {
            return try await LiveSession.open(
                LiveClientConfiguration(url: Self.url), account: account, folder: folder.path
            ) { _ in "t" }
        }
        let identity = Self.identity(account)
        return LiveSession(
            client: try LiveClient(LiveClientConfiguration(url: Self.url)) { "t" },
            store: try await SQLiteStore.open(path: "\(folder.path)/\(identity.fileName)", identity: identity) { _ in },
            feed: server)
    }

    var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } }
}

/// Waits until it holds.
func until(
    _ about: String, at place: SourceLocation = #_sourceLocation, _ holds: @MainActor () async -> Bool
) async throws {
    if try await eventually(seconds: 120, { await holds() }) { return }
    Issue.record("it did not come about: \(about)", sourceLocation: place)
}
