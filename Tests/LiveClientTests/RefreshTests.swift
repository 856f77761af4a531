// Tests: LiveMachine.swift, UpdateEffect.swift, LiveClientConfiguration.swift
import LiveState
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor

/// An area whose snapshots are counted.
private final class PulledArea: LiveArea {
    typealias Store = MemoryStore

    let name = "pulled"
    let snapshots = Shared(0)
    let fails = Shared(false)

    func snapshot() async throws {
        snapshots.update { $0 += 1 }
        if fails.value { throw RequestError(status: nil) }
    }
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> { .value(1) }
    func show(_ change: LiveChange<Void, Int>) async {}
}

@Suite(.timeLimit(.minutes(5))) struct RefreshTests {
    typealias State = UpdateMachine.State

    @Test(
        arguments: [
            (State.notLoaded, Freshness.connecting(since: 0), nil), (.stale, .connecting(since: 0), nil),
            (.stale, .cannotConnect(since: 0), false), (.registering, .cannotConnect(since: 0), nil),
            (.registerFailed(retryAt: 0, failures: 1, cause: .lost), .connecting(since: 0), false),
            (.pollFailed(retryAt: 0, failures: 1, cause: .lost), .connecting(since: 0), false),
            (.idle(nextPoll: nil), .connecting(since: 0), false), (.live, .connecting(since: 0), nil),
            (.live, .cannotConnect(since: 0), nil), (.live, .connected, true), (.live, .sourceStalled(since: 0), true),
        ] as [(State, Freshness, Bool?)])
    func `a refresh is over when all of it is there, or cannot be had now`(
        _ state: State, _ freshness: Freshness, _ ended: Bool?
    ) {
        var view = UpdateMachine(UpdateMachine.Settings()).view
        (view.state, view.freshness) = (state, freshness)
        #expect(view.refreshEnded == ended)
        view.isUnauthorized = true
        #expect(view.refreshEnded == false)
        (view.isUnauthorized, view.end) = (false, .stopped)
        #expect(view.refreshEnded == false)
    }

    @Test func `a machine's refresh tests the connection, and returns when the snapshot is there, or has failed`()
        async throws
    {
        let server = ModelServer()
        let area = PulledArea()
        let machine = LiveMachine(area, store: MemoryStore(), feed: server)
        #expect(await machine.refresh() == false)
        await machine.start()
        #expect(try await eventually { await machine.view.freshness == .connected })
        #expect(await machine.refresh())
        #expect(area.snapshots.value == 2)
        #expect(server.tests.withLock { $0 } == 1)
        #expect(await machine.view.freshness == .connected)
        area.fails.update { $0 = true }
        #expect(await machine.refresh() == false)
        await machine.stop()
        #expect(await machine.refresh() == false)
    }

    @Test func `a machine that is stopped ends its refreshes`() async throws {
        let server = ModelServer()
        let machine = LiveMachine(PulledArea(), store: MemoryStore(), feed: server)
        await machine.start()
        await machine.pathChanged(isSatisfied: false)
        let refresh = Task { await machine.refresh() }
        await machine.stop()
        #expect(await refresh.value == false)
    }

    @Test func `a stream without a sign of life is lost five seconds after a beat`() {
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")
        #expect(configuration.machine().silenceLimit == 30_000)
        configuration.beat = .seconds(10)
        #expect(configuration.machine().silenceLimit == 15_000)
    }
}
