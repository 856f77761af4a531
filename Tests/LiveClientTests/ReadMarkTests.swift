// Tests: LiveArchive+Marks.swift
import Foundation
import LiveState
import TestHarness
import Testing

@testable import LiveClient

/// Read marks, at once and as deferrable actions.
struct ReadMarkTests {
    private static let incident = Thing(entity: "incident", id: "a\"é")
    private static let body = #"{"ent":"incident","id":"a\"é","aid":"m"}"#

    private static func post(_ body: String, _ answer: String = "204 No Content") -> [Step] {
        [.awaitHead, .awaitBytes(body.utf8.count), .send("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\n\r\n"), .close]
    }

    private static func action(_ thing: Thing?, _ key: String) -> DeferredAction {
        DeferredAction(kind: LiveActions.readKind, id: ReadMark.actionID(of: thing), value: "m", key: key, at: 0)
    }

    private static func bodies(_ server: ScriptedServer) -> [String] {
        server.received.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("{") }
    }

    private static func open(_ store: any ActionStore, _ archive: LiveArchive) async throws -> LiveActions {
        var settings = ActionQueue.Settings()
        settings.coalescing = 0
        let functions = LiveActions.Functions(
            send: { try await archive.sendReadMarks($0) }, renewToken: {}, report: { _ in })
        return try await LiveActions.open(store: store, settings: settings, functions: functions)
    }

    @Test(arguments: [nil, incident, Thing(entity: "", id: "]")])
    func `an action of a mark is that mark again`(_ thing: Thing?) {
        #expect(ReadMark(actionID: ReadMark.actionID(of: thing), value: "m") == ReadMark(of: thing, upTo: EventID("m")))
    }

    @Test(arguments: ["", "{}", "[1,2]", #"["a"]"#, #"["a","b","c"]"#, "incident"])
    func `what is no mark is taken for none`(_ id: String) { #expect(ReadMark(actionID: id, value: "m") == nil) }

    @Test(.timeLimit(.minutes(5))) func `a mark is posted, and sent again after a 401 with another token`() async throws
    {
        let server = try LiveArchiveTests.serve([Self.post(Self.body, "401 No"), Self.post(Self.body)])
        try await LiveArchiveTests.client(server).archive.markRead(Self.incident, upTo: EventID("m"))
        #expect(Self.bodies(server) == [Self.body, Self.body])
        let heads = server.received.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("POST") }
        #expect(heads.allSatisfy { $0.hasPrefix("POST /inbox/v1/read") })
        #expect(heads.map { $0.contains("Bearer t2\r\n") } == [false, true])
    }

    @Test(.timeLimit(.minutes(5))) func `a mark that is refused says why`() async throws {
        let server = try LiveArchiveTests.serve([Self.post(Self.body, "403 No")])
        let archive = try LiveArchiveTests.client(server).archive
        await #expect(throws: ArchiveError.forbidden) { try await archive.markRead(Self.incident, upTo: EventID("m")) }
    }

    @Test(.timeLimit(.minutes(5))) func `whoever answers 200 has no mark, so it is sent again`() async throws {
        let server = try LiveArchiveTests.serve([Self.post(Self.body, "200 OK"), Self.post(Self.body)])
        let archive = try LiveArchiveTests.client(server).archive
        let none = ArchiveError.unreachable("the answer is none of a Livegate")
        await #expect(throws: none) { try await archive.markRead(Self.incident, upTo: EventID("m")) }
        let results = try await archive.sendReadMarks([Self.action(Self.incident, "1")])
        #expect(results == [ActionResult(key: "1", status: 204)])
        let between = try LiveArchiveTests.serve([Self.post(Self.body, "200 OK")])
        await #expect(throws: RequestError(status: nil)) {
            try await LiveArchiveTests.client(between).archive.sendReadMarks([Self.action(Self.incident, "1")])
        }
    }

    @Test(.timeLimit(.minutes(5))) func `each action has its own result, until the server cannot answer`() async throws
    {
        let everything = #"{"aid":"m"}"#
        let server = try LiveArchiveTests.serve([
            Self.post(Self.body), Self.post(everything, "400 No"),
            Self.post(everything, "503 No\r\nRetry-After: 7"), Self.post(everything),
        ])
        var foreign = Self.action(nil, "2")
        foreign.id = "incident"
        let results = try await LiveArchiveTests.client(server).archive.sendReadMarks([
            Self.action(Self.incident, "1"), foreign, Self.action(nil, "3"), Self.action(nil, "4"),
            Self.action(nil, "5"),
        ])
        #expect(
            results == [
                ActionResult(key: "1", status: 204), ActionResult(key: "2", status: 400),
                ActionResult(key: "3", status: 400), ActionResult(key: "4", status: 503, retryAfter: 7_000),
            ])
        let refusing = try LiveArchiveTests.serve([Self.post(everything, "401 No")])
        await #expect(throws: RequestError(status: 401)) {
            try await LiveArchiveTests.client(refusing).archive.sendReadMarks([Self.action(nil, "1")])
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `on a slow network a batch gives the results that there are, before it is given up as a whole`() async throws {
        let server = try LiveArchiveTests.serve([Self.post(#"{"aid":"m"}"#)])
        var archive = try LiveArchiveTests.client(server).archive
        let clock = Shared<Milliseconds>(0)
        archive.now = {
            clock.update { $0 += 7_000 }
            return clock.value
        }
        let results = try await archive.sendReadMarks((1...5).map { Self.action(nil, "\($0)") })
        #expect(results.map(\.key) == ["1", "2", "3"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `a mark never goes back on the device, in whatever order marks reach the store`() async throws {
        let shown = Shared<[String]>([])
        let server = try LiveArchiveTests.serve([[.silence]])
        let store = MemoryActionStore { _, _, value in shown.update { $0.append(value ?? "") } }
        let actions = try await Self.open(store, LiveArchiveTests.client(server).archive)
        await actions.networkChanged(isReachable: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in (10..<60).reversed() {
                group.addTask { try await actions.markRead(Self.incident, upTo: EventID("m\(number)")) }
            }
            try await group.waitForAll()
        }
        #expect(await actions.pending.map(\.value) == ["m59"])
        #expect(shown.value == shown.value.sorted() && shown.value.last == "m59")
        // Nor behind what the app knows to be read.
        try await actions.markRead(nil, upTo: EventID("a"), from: EventID("b"))
        #expect(await actions.pending.count == 1)
        await actions.close()
    }

    @Test(.timeLimit(.minutes(5))) func `a mark survives a restart, and is gone once the server has it`() async throws {
        let path = NSTemporaryDirectory() + "marks-\(UUID().uuidString)"
        let identity = SQLiteStore.Identity(schema: 1, account: "A", server: "https://live.example.com")
        func store() async throws -> (SQLiteStore, SQLiteActionStore) {
            let store = try await SQLiteStore.open(path: path, identity: identity) { _ in }
            return (store, try await SQLiteActionStore(store) { _, _, _, _ in })
        }
        let server = try LiveArchiveTests.serve([Self.post(Self.body)])
        let archive = try LiveArchiveTests.client(server).archive
        let (file, first) = try await store()
        let actions = try await Self.open(first, archive)
        await actions.networkChanged(isReachable: false)
        try await actions.markRead(Self.incident, upTo: EventID("m"))
        try await actions.markRead(Self.incident, upTo: EventID("m"))
        await actions.close()
        await file.close()
        #expect(server.received.isEmpty)
        let (again, second) = try await store()
        let later = try await Self.open(second, archive)
        for await pending in await later.pendings where pending.isEmpty { break }
        #expect(try await second.loadActions().isEmpty)
        #expect(Self.bodies(server) == [Self.body])
        await later.close()
        await again.close()
        try await SQLiteStore.remove(path: path)
    }
}
