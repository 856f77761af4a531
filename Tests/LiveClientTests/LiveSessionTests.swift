// Tests: LiveSession.swift
import Foundation
import LiveState
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// A part of a session that writes down what it is told.
private func part(_ name: String, _ order: SessionPart.Order, _ told: Shared<[String]>) -> SessionPart {
    var part = SessionPart(order: order, name: name)
    @Sendable func tell(_ what: String) { told.update { $0.append("\(name) \(what)") } }
    part.start = { tell("start") }
    part.setForeground = { tell($0 ? "foreground" : "background") }
    part.pathChanged = { tell($0 ? "network" : "no network") }
    part.tokenChanged = { tell($0 ? "token" : "no token") }
    part.stop = { tell($0 ? "sign out" : "stop") }
    return part
}

private struct Area: LiveArea {
    typealias Store = SQLiteStore
    let name = "area"
    func snapshot() async throws {}
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async {}
}

private struct NoAPI: ScreensAPI {
    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Int> { throw RequestError(status: nil) }
    func reload(_ thing: Thing) async throws -> FoundThing<Int> { throw RequestError(status: nil) }
}

@Suite(.timeLimit(.minutes(5))) struct LiveSessionTests {
    @Test func `parts start with it, are told in order, and are stopped before what they ask`() async throws {
        let (folder, told) = (SessionFolder(), Shared<[String]>([]))
        let session = try await folder.session(nil)
        #expect(session.add(part("actions", .actions, told)) != nil)
        #expect(session.add(part("first", .machines, told)) != nil)
        #expect(session.add(part("screens", .screens, told)) != nil)
        #expect(session.add(part("second", .machines, told)) != nil)
        #expect(session.add(part("first", .machines, told)) == nil)
        let running = Task { await session.run() }
        #expect(try await eventually { told.value.count == 4 })
        session.enterBackground()
        #expect(try await eventually { told.value.count == 8 })
        session.pathChanged(isSatisfied: false)
        #expect(try await eventually { told.value.count == 12 })
        // What comes later is told how things are.
        let number = try #require(session.add(part("late", .machines, told)))
        #expect(try await eventually { told.value.count == 15 })
        session.remove(number)
        session.tokenChanged(isValid: true)
        #expect(try await eventually { told.value.count == 19 })
        running.cancel()
        await running.value
        let all = ["actions", "first", "screens", "second"]
        let expected = ["start", "background", "no network"].flatMap { what in all.map { "\($0) \(what)" } }
        #expect(Array(told.value.prefix(12)) == expected)
        #expect(told.value[12..<15] == ["late start", "late no network", "late background"])
        #expect(Array(told.value[15..<19]) == all.map { "\($0) token" })
        #expect(told.value.suffix(4) == ["second stop", "first stop", "screens stop", "actions stop"])
        #expect(told.value.count == 23)
        #expect(session.client.state == .ended(error: .stopped))
        await #expect(throws: StoreError.closed) { _ = try await session.store.load(area: "any") }
        #expect(session.add(part("too late", .machines, told)) == nil)
        await session.run()
        await session.close()
        #expect(told.value.count == 23)
    }

    @Test func `of what is said before it runs the last counts`() async throws {
        let (folder, told) = (SessionFolder(), Shared<[String]>([]))
        let session = try await folder.session(nil)
        #expect(session.add(part("a", .machines, told)) != nil)
        for _ in 0..<100 {
            session.enterForeground()
            session.enterBackground()
            session.pathChanged(isSatisfied: true)
        }
        let running = Task { await session.run() }
        #expect(try await eventually { told.value.count == 3 })
        #expect(told.value == ["a start", "a background", "a network"])
        await session.close()
        await running.value
        #expect(told.value.last == "a stop")
    }

    @Test func `one that never ran is closed, by whoever comes first`() async throws {
        let (folder, told) = (SessionFolder(), Shared<[String]>([]))
        let session = try await folder.session(nil)
        #expect(session.add(part("a", .machines, told)) != nil)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    await session.close()
                    // It waits until all is closed.
                    #expect(told.value == ["a stop"])
                }
            }
        }
        await session.run()
        #expect(told.value == ["a stop"])
    }

    /// One that needs a while to stop, and would not where its task is cancelled.
    private static func slowPart(_ told: Shared<[String]>) -> SessionPart {
        var slow = part("slow", .machines, told)
        slow.stop = { _ in
            for _ in 0..<1_000 where !Task.isCancelled { await Task.yield() }
            told.update { $0.append(Task.isCancelled ? "slow is cancelled" : "slow stop") }
        }
        return slow
    }

    @Test(arguments: [true, false])
    func `all is closed before it ends, also in a task that is cancelled`(_ isSigningOut: Bool) async throws {
        let (folder, told) = (SessionFolder(), Shared<[String]>([]))
        let session = try await folder.session(nil)
        #expect(session.add(Self.slowPart(told)) != nil)
        let running = Task { await session.run() }
        #expect(try await eventually { told.value.count == 1 })
        if isSigningOut {
            let leaving = Task { try await session.signOut(keep: false) }
            leaving.cancel()
            #expect(try await leaving.value == SignedOut(isKept: false, pending: []))
            #expect(told.value == ["slow start", "slow stop"])
            #expect(try folder.files == [])
        }
        running.cancel()
        await running.value
        #expect(told.value == ["slow start", "slow stop"])
    }

    @Test func `machines, screens and actions live as long as it does`() async throws {
        let (folder, server) = (SessionFolder(), ModelServer())
        let session = try await folder.session(server)
        let machine = session.machine(Area(), settings: .init())
        let screens = LiveScreens(NoAPI(), gate: session.client.gate, tokens: session.client.tokens)
        let sent = Shared(0)
        let functions = LiveActions.Functions { actions in
            sent.update { $0 += actions.count }
            return actions.map { ActionResult(key: $0.key, status: 200) }
        } report: { _ in
        }
        let actions = try await LiveActions.open(store: MemoryActionStore { _, _, _ in }, functions: functions)
        session.add(machine)
        session.add(screens)
        session.add(actions)
        let running = Task { await session.run() }
        #expect(try await eventually { await machine.view.freshness == .connected })
        session.pathChanged(isSatisfied: false)
        #expect(try await eventually { await !actions.isReachable })
        #expect(try await eventually { if case .cannotConnect = await machine.view.freshness { true } else { false } })
        session.pathChanged(isSatisfied: true)
        #expect(try await eventually { await actions.isReachable })
        // On the way to the background nothing waits for others.
        try await actions.set("read", "A", to: "true")
        session.enterBackground()
        #expect(try await eventually { sent.value == 1 })
        #expect(try await eventually { if case .idle = await machine.view.state { true } else { false } })
        session.enterForeground()
        #expect(try await eventually { await machine.view.freshness == .connected })
        session.tokenChanged(isValid: false)
        #expect(try await eventually { await machine.view.isUnauthorized })
        session.tokenChanged(isValid: true)
        #expect(try await eventually { await machine.view.freshness == .connected })
        let (views, states) = (
            await machine.views, await screens.showDetails("details", of: Thing(entity: "e", id: "1"))
        )
        await session.close()
        await running.value
        for await _ in views {}
        for await _ in states {}
        await #expect(throws: DeferrableActionError.closed) { try await actions.set("read", "B", to: "true") }
    }
}
