// Tests: LiveBoard.swift, IncidentArea.swift, Incident.swift, Outbox.swift

import Foundation
import LiveState
import Synchronization
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor
@testable import liveboard

private final class Shown: BoardDisplay {
    private let lines = Mutex<[String]>([])

    var size: (columns: Int, rows: Int) { (80, 24) }
    func show(_ drawn: (_ columns: Int, _ rows: Int) -> [BoardLine]) {
        let text = drawn(80, 24).map(\.text)
        lines.withLock { $0 = text }
    }
    func forget() {}
    subscript(index: Int) -> String { lines.withLock { index < $0.count ? $0[index] : "" } }
}

/// Boards over one file, of a demo that cannot be reached.
@Suite(.timeLimit(.minutes(5))) struct LiveBoardTests {
    /// Nobody listens there, and nobody may: it is below the ports that need no rights.
    private static let base = "http://127.0.0.1:1"

    private let folder = FileManager.default.temporaryDirectory.appending(path: "liveboard-\(UUID())")
    private var path: String { folder.appending(path: "store").path }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func board(_ store: SQLiteStore, on shown: Shown) async throws -> LiveBoard {
        let board = LiveBoard(
            of: "ONE", from: try IncidentService(base: Self.base), in: store, on: shown, now: { 9_000 },
            clock: { "at \($0)" }, storeDeadline: 50)
        try await board.begin()
        return board
    }

    private func until(_ condition: () async -> Bool) async throws {
        let holds = try await eventually(condition)
        try #require(holds)
    }

    /// As a machine writes it.
    private func commit(_ change: LiveChange<[Incident], Incident>, to store: SQLiteStore) async throws {
        let area = IncidentArea(
            service: try IncidentService(base: Self.base), screens: LiveScreens(try IncidentService(base: Self.base)),
            showStored: { _, _ in })
        try await store.commit(area: area.name, metadata: UpdateMetadata(finger: "C", lastSuccess: 5_000)) {
            try area.write(change, in: $0)
        }
    }

    @Test func `the last state is shown at once as old, with what was done and is not sent`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await BoardFile.open(path, account: "ONE", server: Self.base)
        try await commit(.snapshot([BoardTests.incident("A", 1), BoardTests.incident("B", 2)]), to: store)
        try await commit(
            .things([
                (Incident.thing("A"), .gone), (Incident.thing("B"), .unneeded),
                (Incident.thing("C"), .value(BoardTests.incident("C", 3))),
            ]), to: store)
        let first = Shown()
        let board = try await board(store, on: first)
        #expect(first[0].hasPrefix("Incidents of ONE (old state of at 5000)"))
        #expect(first[0].hasSuffix("connecting since at 9000"))
        #expect(first[2] == "> C        triggered~    high Disk of C")
        #expect(first[3] == "  B        triggered~    high Disk of B" && first[4] == "")
        #expect(await board.type(Array("ja".utf8)))
        #expect(first[3] == "> B        acknowledged* high Disk of B")
        await board.wait(failures: 2)
        #expect(first[0].hasSuffix("cannot connect since at 9000"))
        #expect(await !board.type(Array("q".utf8)))
        // As if it was killed: another one opens the file.
        let second = Shown()
        let again = try await self.board(store, on: second)
        #expect(second[3] == "  B        acknowledged* high Disk of B")
        await again.end(why: "nobody is signed in")
        #expect(second[0].hasSuffix(" no more news: nobody is signed in"))
    }

    @Test func `a note that cannot be sent is given back, and details that cannot be fetched say so`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await BoardFile.open(path, account: "ONE", server: Self.base)
        try await commit(.snapshot([BoardTests.incident("A", 1)]), to: store)
        let shown = Shown()
        let board = try await board(store, on: shown)
        #expect(await board.type(Array("\r".utf8)))
        try await until { await board.board.details?.failure != nil }
        #expect(shown[2] == "Disk of A" && shown[4] == "It cannot be loaded now: it is tried again.")
        #expect(await board.type(Array("nhello\r".utf8)))
        try await until { await board.board.note == "hello" }
        #expect(await board.type([3]))
        #expect(await board.type(Array("b".utf8)))
        try await until { shown[2] == "> A        triggered~    high Disk of A" }
    }

    @Test func `once there is an answer it connects, also while its file does not, and says so`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await BoardFile.open(path, account: "ONE", server: Self.base)
        let shown = Shown()
        let board = try await board(store, on: shown)
        await board.wait(failures: 2)
        #expect(shown[0].hasSuffix("cannot connect since at 9000"))
        let disk = DispatchSemaphore(value: 0)
        let hanging = Task { try await store.transaction { _ in disk.wait() } }
        let client = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")) { "token" }
        let following = Task { await board.follow(client) }
        try await until { shown[0].hasSuffix(" connecting since at 9000") }
        try await until { shown[22].hasPrefix("The file cannot be used now: the store does not answer.") }
        disk.signal()
        try await hanging.value
        following.cancel()
        await following.value
        await client.close()
    }

    @Test func `a page that lets in as another account ends the board, which says what to do`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await BoardFile.open(path, account: "ONE", server: Self.base)
        let shown = Shown()
        let board = try await board(store, on: shown)
        let session = IncidentService.Session(account: "ONE", token: "t", gateway: "g")
        #expect(try await board.token(for: "g") { session } == "t")
        #expect(shown[0].hasSuffix(" connecting since at 9000"))
        // Without an answer nothing has ended.
        await #expect(throws: RequestError(status: nil)) {
            try await board.token(for: "g") { throw RequestError(status: nil) }
        }
        #expect(shown[0].hasSuffix(" connecting since at 9000") && !shown[22].contains("Quit"))
        await #expect(throws: LiveClientError.unauthorized) {
            try await board.token(for: "g") { throw RequestError(status: 401) }
        }
        #expect(shown[0].hasSuffix(" no more news: the page lets in as another account"))
        #expect(shown[22].hasPrefix("Quit and start again; a file of --store is ONE's: name another."))
    }

    @Test func `a file is used by its own account and server alone`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try await BoardFile.account(in: path, of: Self.base) == nil)
        await (try BoardFile.open(path, account: "ONE", server: Self.base)).close()
        #expect(try await BoardFile.account(in: path, of: Self.base) == "ONE")
        await #expect(throws: StoreError.otherServer(found: Self.base, wanted: "http://elsewhere")) {
            try await BoardFile.account(in: path, of: "http://elsewhere")
        }
        await #expect(throws: StoreError.otherAccount(found: "ONE", wanted: "TWO")) {
            try await BoardFile.open(path, account: "TWO", server: Self.base)
        }
        await (try BoardFile.open(BoardFile.inMemory, account: "TWO", server: Self.base)).close()
    }

    @Test(
        arguments: [
            (nil, "the server cannot be reached"), (401, "the token is refused"), (404, "it is gone"),
            (409, "somebody has resolved it"), (418, "status 418"),
        ] as [(Int?, String)]) func `a failure has words`(_ status: Int?, _ words: String)
    {
        #expect(RequestError(status: status).explanation == words)
        if let status { #expect(ImmediateActionError.rejected(status: status).explanation == words) }
    }
}
