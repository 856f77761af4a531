// Tests: LiveScreens+Token.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// Ten incidents behind a token, which a test takes away.
private final class Guarded: ScreensAPI {
    struct State {
        var isTokenGood = true
        /// Requests with a token, good or not, and calls for another one.
        var asked = 0
        var renewals = 0
        /// What the next calls for another token come to; none: a good one.
        var failures: [any Error & Sendable] = []
        /// Whether another token is a good one.
        var isNextGood = true
    }

    let state = Mutex(State())

    private func ask() throws {
        let isGood = state.withLock { state in
            state.asked += 1
            return state.isTokenGood
        }
        if !isGood { throw RequestError(status: 401) }
    }

    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        try ask()
        return .value("title of \(thing.id)")
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        try ask()
        let items = (0..<10).map {
            ListPage<String>.Item(id: "I\($0)", key: ListKey(rank: Int64($0), text: ""), value: "")
        }
        return ListPage(items: items, isLast: true)
    }

    func renewToken() async throws {
        let failure = state.withLock { state in
            state.renewals += 1
            if !state.failures.isEmpty { return state.failures.removeFirst() as (any Error & Sendable)? }
            state.isTokenGood = state.isNextGood
            return nil
        }
        if let failure { throw failure }
    }
}

@Suite(.timeLimit(.minutes(5))) struct ScreenTokenTests {
    private func screens(_ api: Guarded) async -> LiveScreens<Guarded> {
        var settings = LiveScreens<Guarded>.Settings()
        settings.requestDeadline = 77_777
        // Waits are over at once, and no deadline ever is.
        let screens = LiveScreens(
            api, settings: settings, now: { 0 },
            sleep: { if $0 == 77_777 { try await waitUntilCancelled() } })
        await screens.setFinger(true)
        return screens
    }

    private func list(_ screens: LiveScreens<Guarded>) async -> AsyncStream<ListState<String>> {
        let states = await screens.makeList("open", of: "incident") { _ in nil }
        await screens.show("open", from: .beginning, .forward, count: 10)
        return states
    }

    private func state<State: Sendable>(_ states: AsyncStream<State>, _ isSo: (State) -> Bool) async -> State? {
        for await state in states where isSo(state) { return state }
        return nil
    }

    @Test func `a page that is refused for its token is asked for again with another one`() async throws {
        let api = Guarded()
        api.state.withLock { $0.isTokenGood = false }
        let screens = await screens(api)
        let shown = try #require(await state(list(screens)) { $0.knowledge == .known })
        #expect(shown.items.count == 10 && !shown.isUnauthorized)
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [2, 1])
        // Something has succeeded: the next 401 asks for another one again.
        api.state.withLock { $0.isTokenGood = false }
        let details = await screens.showDetails("details", of: Thing(entity: "note", id: "N"))
        #expect(await state(details) { $0.value != nil }?.value == "title of N")
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [4, 2])
        await screens.close()
    }

    @Test func `a token that is refused like the one before stops everything until there is another`() async throws {
        let api = Guarded()
        api.state.withLock { ($0.isTokenGood, $0.isNextGood) = (false, false) }
        let screens = await screens(api)
        let states = await list(screens)
        _ = try #require(await state(states) { $0.isUnauthorized })
        #expect(await screens.isUnauthorized)
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [2, 1])
        // Whoever asks is told without a request.
        let details = await screens.showDetails("details", of: Thing(entity: "incident", id: "I1"))
        #expect(await state(details) { $0.failure != nil }?.failure == .unauthorized)
        await #expect(throws: RequestFailure.unauthorized) {
            try await screens.reload(Thing(entity: "incident", id: "I1"), types: ["updated"])
        }
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [2, 1])
        api.state.withLock { $0.isTokenGood = true }
        await screens.tokenChanged()
        _ = try #require(await state(states) { $0.knowledge == .known && !$0.isUnauthorized })
        // A list has given its summary before.
        #expect(await state(details) { $0.isWhole }?.failure == nil)
        #expect(await !screens.isUnauthorized)
        #expect(api.state.withLock { $0.renewals } == 1)
        await screens.close()
    }

    @Test func `nobody is signed in: nothing is asked any more`() async throws {
        let api = Guarded()
        api.state.withLock { ($0.isTokenGood, $0.failures) = (false, [LiveClientError.unauthorized]) }
        let screens = await screens(api)
        _ = try #require(await state(list(screens)) { $0.isUnauthorized })
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [1, 1])
        await screens.close()
    }

    @Test func `a call for a token that has no answer is made again`() async throws {
        let api = Guarded()
        api.state.withLock {
            ($0.isTokenGood, $0.failures) = (false, [RequestError(status: 503), RequestError(status: nil)])
        }
        let screens = await screens(api)
        _ = try #require(await state(list(screens)) { $0.knowledge == .known })
        #expect(api.state.withLock { [$0.asked, $0.renewals] } == [2, 3])
        await screens.close()
    }
}
