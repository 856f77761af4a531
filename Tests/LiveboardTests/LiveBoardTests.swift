// Tests: LiveBoard.swift, PendingFetches.swift, IncidentService.swift

import LiveClient
import LiveState
import Testing

@testable import liveboard

struct PendingFetchesTests {
    typealias Fetch = PendingFetches.Fetch

    /// All that is fetched, each answered.
    static func drain(_ pending: inout PendingFetches) -> [Fetch] {
        var fetches: [Fetch] = []
        while let next = pending.begin({ _ in true }) {
            fetches.append(next)
            pending.succeed()
        }
        return fetches
    }

    @Test func `what is named often is fetched once, and once more where it was named meanwhile`() {
        var pending = PendingFetches()
        for time in 1...3 { pending.add("A", isCreated: false, at: Milliseconds(time)) }
        pending.add("B", isCreated: true, at: 4)
        #expect(pending.since == 1 && pending.begin { _ in true } == .incident("A"))
        #expect(pending.begin { _ in true } == nil)
        for time in 5...7 { pending.add("A", isCreated: false, at: Milliseconds(time)) }
        pending.succeed()
        #expect(pending.since == 4)
        #expect(Self.drain(&pending) == [.incident("B"), .incident("A")] && pending.since == nil)
    }

    @Test func `what nobody wants is passed over`() {
        var pending = PendingFetches()
        pending.add("A", isCreated: false, at: 1)
        pending.add("B", isCreated: true, at: 2)
        #expect(pending.begin(\.isCreated) == .incident("B"))
        pending.succeed()
        #expect(pending.begin { _ in true } == nil && pending.since == nil)
    }

    @Test func `a list covers what was named before it begins, and nothing behind that`() {
        var pending = PendingFetches()
        pending.add("A", isCreated: false, at: 1)
        pending.addList(at: 2)
        pending.add("B", isCreated: false, at: 3)
        #expect(pending.needsList && pending.since == 1 && pending.begin { _ in true } == .list)
        pending.add("C", isCreated: false, at: 4)
        #expect(pending.needsList)
        pending.succeed()
        #expect(!pending.needsList && Self.drain(&pending) == [.incident("C")])
        pending.addList(at: 5)
        #expect(pending.begin { _ in true } == .list)
        pending.addList(at: 6)
        pending.succeed()
        #expect(pending.needsList && Self.drain(&pending) == [.list])
    }

    @Test func `more than the list shows is fetched as a list`() {
        var pending = PendingFetches()
        for number in 1...PendingFetches.maximumIncidents { pending.add("I\(number)", isCreated: true, at: 1) }
        #expect(pending.waiting.count == PendingFetches.maximumIncidents && !pending.needsList)
        pending.add("NEW", isCreated: true, at: 2)
        #expect(Self.drain(&pending) == [.list])
    }

    @Test func `what fails waits while the rest goes on`() {
        var pending = PendingFetches()
        for id in ["A", "B"] { pending.add(id, isCreated: false, at: 1) }
        #expect(pending.begin { _ in true } == .incident("A"))
        pending.add("A", isCreated: false, at: 2)
        pending.fail()
        pending.add("A", isCreated: true, at: 3)
        #expect(pending.hasFailed && Self.drain(&pending) == [.incident("B")] && pending.since == 1)
        pending.retry()
        #expect(!pending.hasFailed && Self.drain(&pending) == [.incident("A")] && pending.since == nil)
    }

    @Test func `a list that fails covers what was named meanwhile`() {
        var pending = PendingFetches()
        pending.addList(at: 1)
        #expect(pending.begin { _ in true } == .list)
        pending.add("A", isCreated: false, at: 2)
        pending.fail()
        pending.add("B", isCreated: false, at: 3)
        #expect(pending.hasFailed && pending.needsList && pending.begin { _ in true } == nil)
        pending.retry()
        #expect(Self.drain(&pending) == [.list] && pending.since == nil)
    }
}

/// An API that answers when the test says so.
private actor ScriptedSource: IncidentSource {
    private var asked: [(id: String, answer: CheckedContinuation<Result<Incident, ServiceFault>, Never>)] = []

    func list() async throws(ServiceFault) -> [Incident] { [BoardTests.incident("A", 1), BoardTests.incident("B", 2)] }

    func details(_ id: String) async throws(ServiceFault) -> Incident {
        let result: Result<Incident, ServiceFault> = await withCheckedContinuation { asked.append((id, $0)) }
        return try result.get()
    }

    func act(_ id: String, verb: String, key: String) async throws(ServiceFault) -> Incident { throw .status(409) }

    /// Waits until it is asked for this incident.
    func answer(_ id: String, _ result: Result<Incident, ServiceFault>) async throws {
        while asked.first?.id != id { try await Task.sleep(for: .milliseconds(2)) }
        asked.removeFirst().answer.resume(returning: result)
    }
}

private struct NoDisplay: BoardDisplay {
    func show(_ lines: (_ columns: Int, _ rows: Int) -> [String]) { _ = lines(80, 24) }
    func forget() {}
}

@Suite(.timeLimit(.minutes(2))) struct LiveBoardTests {
    private let source = ScriptedSource()
    private let cursor = LiveCursor("C")

    private static func updated(_ id: String) -> LiveUpdate {
        .event(LiveEvent(entity: "incident", id: id, type: "updated"))
    }

    /// Within the time limit of the suite.
    private func until(_ board: LiveBoard, _ condition: (Board) -> Bool) async throws {
        while !condition(await board.board) { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// With a list of A and B, caught up.
    private func begun() async throws -> LiveBoard {
        let board = LiveBoard(of: "ONE", from: source, on: NoDisplay())
        await board.take(.resync(.start, cursor))
        #expect(await !board.board.facts.isCaughtUp)
        await board.take(.live(cursor))
        try await until(board) { $0.isKnown && $0.facts.isCaughtUp && !$0.isOld }
        return board
    }

    @Test func `what is fetched slowly is told as old, and hides no loss behind it`() async throws {
        let board = try await begun()
        await board.take(Self.updated("A"))
        #expect(await board.board.facts.unappliedSince != nil)
        await board.take(.disconnected(reason: "gone", retry: .zero))
        #expect(await !board.board.facts.isCaughtUp)
        #expect(await board.board.facts.failures == 1)
        await board.take(.live(cursor))
        #expect(await board.board.facts.isCaughtUp)
        #expect(await board.board["A"]?.updatedAt == 1)
        try await source.answer("A", .success(BoardTests.incident("A", 1, updatedAt: 2)))
        try await until(board) { $0["A"]?.updatedAt == 2 && $0.facts.unappliedSince == nil }
    }

    @Test(arguments: [403, 404, 410])
    func `an incident that is gone or not ours holds up nothing`(_ status: Int) async throws {
        let board = try await begun()
        await board.take(Self.updated("A"))
        await board.take(Self.updated("B"))
        try await source.answer("A", .failure(.status(status)))
        try await source.answer("B", .success(BoardTests.incident("B", 2, updatedAt: 2)))
        try await until(board) { $0["A"] == nil && $0["B"]?.updatedAt == 2 && $0.facts.unappliedSince == nil }
        #expect(await !board.board.facts.hasFailedToApply)
    }

    @Test func `one that fails holds back no other, and is asked for again`() async throws {
        let board = try await begun()
        await board.take(Self.updated("A"))
        await board.take(Self.updated("B"))
        try await source.answer("A", .failure(.status(400)))
        try await until(board) { $0.facts.hasFailedToApply && $0.message == "It cannot be fetched: status 400." }
        try await source.answer("B", .success(BoardTests.incident("B", 2, updatedAt: 2)))
        try await until(board) { $0["B"]?.updatedAt == 2 }
        try await source.answer("A", .success(BoardTests.incident("A", 1, updatedAt: 3)))
        try await until(board) { $0["A"]?.updatedAt == 3 && !$0.facts.hasFailedToApply && $0.message.isEmpty }
    }

    @Test func `a client that gives up leaves no connected board`() async throws {
        let board = try await begun()
        let client = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")) {
            throw LiveClientError.unauthorized
        }
        await board.follow(client)
        #expect(await board.board.ending == LiveClientError.unauthorized.description)
        #expect(await !board.board.facts.isCaughtUp)
        let other = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")) { "token" }
        await other.close()
        let closed = try await begun()
        await closed.follow(other)
        #expect(await closed.board.ending == "the client was closed")
    }

    @Test(arguments: [(403, true), (404, true), (410, true), (400, false), (401, false), (409, false), (503, false)])
    func `some statuses are answers`(_ status: Int, _ isAbsent: Bool) {
        #expect((ServiceFault.status(status).absence != nil) == isAbsent)
    }
}
