// Tests: LiveTokens.swift, LiveScreens+Token.swift, LiveActions+Immediate.swift, LiveActions+Functions.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// An app that keeps its token until it is told that it was refused, and what its API is asked with.
private final class Session: ScreensAPI {
    struct State {
        var token = "T1"
        var questions: [TokenQuestion] = []
        /// Calls for another token that are not answered.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var sent: [String] = []
    }

    let state = Mutex(State())

    func give(_ question: TokenQuestion) async -> String {
        state.withLock { $0.questions.append(question) }
        if question.isFresh {
            await withCheckedContinuation { waiting in state.withLock { $0.waiting.append(waiting) } }
            state.withLock { $0.token = "T2" }
        }
        return state.withLock { $0.token }
    }

    func answer() { for waiting in state.withLock({ $0.waiting.take() }) { waiting.resume() } }

    func ask() throws { if state.withLock({ $0.token }) == "T1" { throw RequestError(status: 401) } }

    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        try ask()
        return .value("title")
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        fatalError("no list is shown")
    }

    func send(_ actions: [DeferredAction]) -> [ActionResult] {
        let token = state.withLock { state in
            state.sent.append(state.token)
            return state.token
        }
        return actions.map { ActionResult(key: $0.key, status: token == "T1" ? 401 : 200) }
    }
}

extension [CheckedContinuation<Void, Never>] {
    fileprivate mutating func take() -> Self {
        defer { self = [] }
        return self
    }
}

@Suite(.timeLimit(.minutes(5))) struct LiveTokensTests {
    @Test func `what is refused together has one token fetched, which says what was refused`()
        async throws
    {
        let session = Session()
        let tokens = LiveTokens { await session.give($0) }
        #expect(try await tokens.ask() == "T1")
        let screens = LiveScreens(session, tokens: tokens)
        await screens.setFinger(true)
        let states = await screens.showDetails("details", of: Thing(entity: "incident", id: "A"))
        let functions = LiveActions.Functions(send: { session.send($0) }, report: { _ in })
        let store = MemoryActionStore { _, _, _ in }
        let actions = try await LiveActions.open(store: store, tokens: tokens, functions: functions)
        async let performed: Void = actions.perform { try session.ask() }
        async let refused = tokens.ask(fresh: true, replacing: "T1")
        try await actions.set("read", "A", to: "true")
        await actions.flush()
        #expect(try await eventually { session.state.withLock { $0.sent == ["T1"] && !$0.waiting.isEmpty } })
        session.answer()
        try await performed
        #expect(try await refused == "T2")
        for await state in states where state.value == "title" { break }
        #expect(try await eventually { session.state.withLock { $0.sent == ["T1", "T2"] } })
        // What began with the old token and is refused late is given the new one.
        #expect(try await tokens.ask(fresh: true, replacing: "T1") == "T2")
        let questions = session.state.withLock { $0.questions }
        #expect(
            questions == [
                TokenQuestion(isFresh: false, replacing: nil), TokenQuestion(isFresh: true, replacing: "T1"),
            ])
        await actions.close()
        await screens.close()
    }

    @Test func `who waits no longer takes the token from nobody`() async throws {
        let session = Session()
        let tokens = LiveTokens { await session.give($0) }
        let given = Task { try await tokens.ask(fresh: true) }
        let other = Task { try await tokens.ask(fresh: true) }
        #expect(try await eventually { !session.state.withLock { $0.waiting.isEmpty } })
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        session.answer()
        #expect(try await other.value == "T2")
    }
}
