// Tests: LiveArea.swift, LiveScreens+Things.swift, LiveMachine.swift, RequestError.swift
import LiveState
import TestHarness
import Testing

@testable import LiveClient

/// Incidents of a ``ModelServer``: a page has summaries, a reload has all of a thing.
private struct Summaries: ScreensAPI {
    let server: ModelServer
    let isDown = Shared(false)

    func reload(_ thing: Thing) async throws -> FoundThing<String> {
        if isDown.value { throw RequestError(status: 503) }
        guard let version = try await server.version(of: thing.id) else { return .gone }
        return .value("all of \(thing.id) \(version)")
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
        if isDown.value { throw RequestError(status: 503) }
        let items = try await server.list().map { id, version in
            ListPage<String>.Item(id: id, key: ListKey(text: id), value: "\(id) \(version)")
        }
        return ListPage(items: items, isLast: true)
    }
}

private final class ShownArea: LiveArea {
    typealias Store = MemoryStore

    let name = "shown"
    let screens: LiveScreens<Summaries>
    var onScreen: (any ShownThings)? { screens }

    init(_ screens: LiveScreens<Summaries>) { self.screens = screens }

    func fingerChanged(isHeld: Bool) async { await screens.setFinger(isHeld) }
    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<String> {
        LiveReload(try await screens.reload(thing, types: types))
    }
    func show(_ change: LiveChange<Void, String>) async {}
}

@Suite(.timeLimit(.minutes(5))) struct ShownThingsTests {
    private static let thing = Thing(entity: "incident", id: "A")

    private static func key(_ value: String) -> ListKey? {
        ListKey(text: value.hasPrefix("all of ") ? "A" : String(value.prefix(1)))
    }

    @Test func `details of what a list has a summary of are fetched, and say until then that it is one`() async throws {
        let screens = LiveScreens(Summaries(server: ModelServer()))
        await screens.setFinger(true)
        let lists = await screens.makeList("all", of: "incident", key: Self.key)
        await screens.show("all", from: .beginning, .forward, count: 9)
        for await state in lists where state.knowledge == .known { break }
        var seen: [String] = []
        for await state in await screens.showDetails("details", of: Self.thing) {
            seen.append("\(state.value ?? "nothing") \(state.knowledge) \(state.isWhole)")
            if state.isWhole { break }
        }
        #expect(seen == ["A 1 knownStale false", "all of A 1 known true"])
        await screens.close()
    }

    @Test
    func `an action's own answer is shown at once, in lists too, and what was asked for before does not replace it`()
        async throws
    {
        let server = ModelServer()
        let api = Summaries(server: server)
        let screens = LiveScreens(api)
        await screens.setFinger(true)
        let lists = await screens.makeList("all", of: "incident", key: Self.key)
        await screens.show("all", from: .beginning, .forward, count: 9)
        for await state in lists where state.knowledge == .known { break }
        await screens.put("A acknowledged", for: Self.thing)
        let states = await screens.makeList("all", of: "incident", key: Self.key)
        for await state in states {
            #expect(state.items.map(\.value) == ["A acknowledged", "B 1"])
            #expect(state.items.allSatisfy { $0.knowledge == .known })
            break
        }
        for await state in await screens.showDetails("details", of: Self.thing) {
            #expect(state.value == "A acknowledged" && state.isWhole && state.knowledge == .known)
            break
        }
        await screens.close()
    }

    @Test func `a machine's sign covers the lists and details on the screens, and a refresh waits for them`()
        async throws
    {
        let server = ModelServer()
        let api = Summaries(server: server)
        let screens = LiveScreens(api)
        let machine = LiveMachine(ShownArea(screens), store: MemoryStore(), feed: server)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        api.isDown.update { $0 = true }
        let lists = await screens.makeList("all", of: "incident", key: Self.key)
        await screens.show("all", from: .beginning, .forward, count: 9)
        #expect(try await eventually { await machine.view.sign != nil })
        api.isDown.update { $0 = false }
        #expect(await machine.refresh())
        #expect(await machine.view.sign == nil)
        for await state in lists {
            #expect(state.items.count == 2 && state.knowledge == .known)
            break
        }
        await machine.stop()
        await screens.close()
    }

    @Test(
        arguments: [
            (404, ["Content-Type": "application/json"], RequestError.Sign.noHTML, Reloaded.gone, nil),
            (403, [:], .noHTML, .notOurs, nil), (410, [:], .noHTML, .gone, nil),
            (404, ["Content-Type": "text/html; charset=utf-8"], .noHTML, nil, .retry(after: nil)),
            (403, ["Content-Type": "Text/HTML"], .noHTML, nil, .retry(after: nil)),
            (200, ["Content-Type": "text/html"], .noHTML, nil, .retry(after: nil)),
            (401, ["Content-Type": "text/html"], .noHTML, nil, .retry(after: nil)),
            (503, ["Content-Type": "text/html", "Retry-After": "7"], .noHTML, nil, .retry(after: 7_000)),
            (404, ["X-API": "2"], .header("X-API"), .gone, nil), (404, [:], .header("X-API"), nil, .retry(after: nil)),
            (404, ["Content-Type": "application/json"], .contentType("application/json"), .gone, nil),
            (404, ["Content-Type": "text/plain"], .contentType("application/json"), nil, .retry(after: nil)),
            (422, [:], .noHTML, nil, .rejected(status: 422)), (401, [:], .noHTML, nil, .unauthorized),
            (204, [:], .noHTML, nil, nil),
        ] as [(Int, [String: String], RequestError.Sign, Reloaded?, RequestFailure?)])
    func `only the API itself says that a thing is gone, or not ours`(
        _ status: Int, _ headers: [String: String], _ sign: RequestError.Sign, _ outcome: Reloaded?,
        _ failure: RequestFailure?
    ) {
        var thrown: RequestError?
        do { try RequestError.check(status: status, sign: sign) { headers[$0] } } catch { thrown = error }
        #expect(thrown.flatMap { Reloaded($0) } == outcome)
        if outcome == nil { #expect(thrown.map { RequestFailure($0) } == failure) }
    }
}
