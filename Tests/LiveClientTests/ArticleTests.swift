// Tests: RequestError.swift, LiveActions.swift, LiveScreens.swift, RefreshCounts.swift
import Foundation
import LiveClient
import LiveClientReactor
import Synchronization
import TestHarness
import Testing

/// What happened in an article's code, for a test that waits for it.
final class ArticleNews<Value: Sendable>: Sendable {
    private let all = Mutex<[Value]>([])
    func add(_ value: Value) { all.withLock { $0.append(value) } }
    var values: [Value] { all.withLock { $0 } }
}

/// The code of the articles compiles as it stands there, and does what it is shown for.
@Suite(.timeLimit(.minutes(5))) struct ArticleTests {
    /// What stands between two comments with this text, less their indentation, in ArticleCode.swift; what runs on a real server, in
    /// its program.
    private static func compiled(_ name: String) throws -> [Substring]? {
        let place = name.hasPrefix("Archive.md") ? "../PastDevices/Past.swift" : "ArticleCode.swift"
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: place)
        let lines = try Article.lines(file)
        let marks = lines.indices.filter { lines[$0].drop { $0 == " " } == "// \(name)" }
        guard marks.count == 2 else { return nil }
        let indentation = lines[marks[0]].prefix { $0 == " " }.count
        return lines[(marks[0] + 1)..<marks[1]].map { $0.dropFirst(indentation) }
    }

    @Test func `each Swift block of the articles is code that is compiled`() throws {
        var count = 0
        for name in try Article.names where !["Collections.md", "Tutorial.md"].contains(name) {
            let blocks = try Article(name).blocks.filter { $0.language == "swift" }
            for (number, block) in blocks.enumerated() {
                #expect(
                    try Self.compiled("\(name) \(number + 1)") == block.code,
                    "the block at \(name):\(block.line) is another one in the code")
            }
            #expect(try Self.compiled("\(name) \(blocks.count + 1)") == nil, "the code has more than \(name)")
            count += blocks.count
        }
        #expect(count == 19)
    }

    @Test func `each block says in which language it is`() throws {
        for name in try Article.names {
            let article = try Article(name)
            for block in article.blocks {
                let isNamed = ["swift", "js", "jsx", "html", "json", "bash"].contains(block.language)
                #expect(isNamed, "\(name):\(block.line): \(block.language)")
            }
            // The two examples of messages, which another test reads.
            #expect(article.indented.count == (name == "Protocol.md" ? 2 : 0), "\(name): \(article.indented)")
        }
    }

    // MARK: - What it does

    private static func until(_ about: String, _ holds: () async -> Bool) async throws {
        if try await eventually(seconds: 120, { await holds() }) { return }
        Issue.record("it did not come about: \(about)")
    }

    private static func file() throws -> (folder: URL, path: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "article-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return (folder, folder.appending(path: "app.sqlite").path)
    }

    @Test func `an action is kept and sent, and an immediate one gives its result`() async throws {
        let (folder, path) = try Self.file()
        defer { try? FileManager.default.removeItem(at: folder) }
        let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
        let (api, model) = (ArticleApp.API(), ArticleApp.Model())
        let client = try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")) { "t" }
        let (actions, incident) = try await ActionsArticle.run(
            path: path, identity: identity, api: api, client: client, model: model)
        #expect(incident.title == "No heartbeat")
        await actions.flush()
        try await Self.until("what was set is sent") {
            let isEmpty = await actions.pending.isEmpty
            return isEmpty && api.applied.values.map(\.value) == ["true"]
        }
        #expect(model.news.values.isEmpty)
        await actions.close()
    }

    @Test func `the values of a day are counted and sent`() {
        let day: Milliseconds = 1_795_240_000_000
        let (values, rest) = CountingArticle.run(incident: (id: "P1", changedAt: day - 50), now: day)
        #expect(values.map(\.manual) == [1] && values.map(\.merged) == [4] && values[0].latency[0] == 1)
        #expect(rest == values.filter { $0.day > "2026-11-22" })
    }

    @Test func `a status that is no success is thrown with what it asks for`() async throws {
        let answer = ArticleApp.HTTP(response: ArticleApp.Response(status: 200, retryAfter: nil))
        #expect(try await ErrorsArticle.run(answer, id: "P1") == "/incidents/P1")
        let refusal = ArticleApp.HTTP(response: ArticleApp.Response(status: 503, retryAfter: 2_000))
        await #expect(throws: RequestError(status: 503, retryAfter: 2_000)) {
            try await ErrorsArticle.run(refusal, id: "P1")
        }
    }

    @Test func `a screen of details shows what is fetched for it`() async throws {
        let screen = ArticleApp.Screen()
        let task = Task { await RelevanceArticle.run(RelevanceArticle.Incidents(title: "fetched"), screen) }
        try await Self.until("the value") { screen.seen.values.contains { $0.hasPrefix("fetched") } }
        task.cancel()
        await task.value
        #expect(RelevanceArticle.settings().relevance.rules.count == 1)
    }

    @Test func `an area hands reloads and its finger on to its screens`() async throws {
        let screens = LiveScreens(RelevanceArticle.Incidents(title: "fetched"))
        let area = RelevanceArticle.Area(screens: screens)
        let thing = Thing(entity: "incident", id: "P1")
        await area.fingerChanged(isHeld: true)
        guard case .unneeded = try await area.reload(thing, types: ["updated"]) else {
            Issue.record("nobody looks")
            return
        }
        let states = await screens.showDetails("details", of: thing)
        guard case .value(let incident) = try await area.reload(thing, types: ["updated"]) else {
            Issue.record("somebody looks")
            return
        }
        #expect(incident.title == "fetched")
        await screens.close()
        _ = states
    }

    @Test func `a store keeps what a change brings, and nothing that is old`() async throws {
        let (folder, path) = try Self.file()
        defer { try? FileManager.default.removeItem(at: folder) }
        let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
        let store = try await SQLiteStore.open(path: path, identity: identity) { transaction in
            try transaction.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, title TEXT NOT NULL) STRICT")
        }
        let area = UpdateMachineArticle.IncidentArea(UpdateMachineArticle.API())
        let all = ["P1", "P2"].map { Incident(id: $0, number: 1, title: "old") }
        let things: [(thing: Thing, reload: LiveReload<Incident>)] = [
            (Thing(entity: "incident", id: "P1"), .value(Incident(id: "P1", number: 1, title: "new"))),
            (Thing(entity: "incident", id: "P2"), .unneeded),
        ]
        try await store.transaction { transaction in
            try area.write(.snapshot(all), in: transaction)
            try area.write(.things(things), in: transaction)
        }
        let kept = try await store.transaction { try $0.rows("SELECT id, title FROM incidents").map { $0.map(\.text) } }
        #expect(kept == [["P1", "new"]])
    }
}
