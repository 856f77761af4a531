// Tests: AppFailure.swift, LiveGate.swift, LiveScreens+Lists.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// What an app throws that cannot read an answer.
private let unreadable = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no title"))

private struct Faulty: ScreensAPI {
    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        if thing.id == "gone" { throw RequestError(status: 404) }
        throw unreadable
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> { throw unreadable }
}

@Suite(.timeLimit(.minutes(5))) struct AppFailureTests {
    @Test func `what an app's own function throws reaches it, with what it was asked for`() async throws {
        let told = Mutex<[String]>([])
        let gate = LiveGate { failure in
            let isUnreadable = failure.error is DecodingError
            told.withLock { $0.append("\(failure.call.name) of \(failure.call.subject) \(isUnreadable)") }
        }
        let screens = LiveScreens(Faulty(), gate: gate)
        await screens.setFinger(true)
        let states = await screens.makeList("open", of: "incident") { ListKey(rank: 0, text: $0) }
        await screens.show("open", from: .beginning, .forward, count: 10)
        for await state in states where state.failure == .unreadable { break }
        #expect(gate.lastError?.call == .page(list: "open"))
        let details = await screens.showDetails("details", of: Thing(entity: "incident", id: "A"))
        for await state in details where state.failure == .unreadable { break }
        #expect(gate.lastError?.call == .reload(Thing(entity: "incident", id: "A")))
        // An answer is no failure.
        let gone = await screens.showDetails("details", of: Thing(entity: "incident", id: "gone"))
        for await state in gone where state.absence == .gone { break }
        #expect(told.withLock { $0 } == ["page of list open true", "reload of incident/A true"])
        await screens.close()
    }

    @Test func `a token function that fails is told, and one that is cancelled is not`() async throws {
        let told = Mutex<[AppFailure.Call]>([])
        let onError: OnError = { failure in told.withLock { $0.append(failure.call) } }
        let tokens = LiveTokens({ _ in throw unreadable }, onError: onError)
        await #expect(throws: DecodingError.self) { try await tokens.ask() }
        #expect(told.withLock { $0 } == [.token])
        #expect(AppFailure(.token, CancellationError()) == nil)
    }
}
