// Tests: LiveMachine+Finger.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// An area whose first calls of `fingerChanged` hang.
private final class HangingFinger: LiveArea {
    typealias Store = MemoryStore

    let name = "hanging"
    let fingers: Hanging
    let snapshots = Shared(0)
    let reloads = Shared<[String]>([])

    init(_ count: Int) { fingers = Hanging(count) }

    func fingerChanged(isHeld: Bool) async { await fingers.pass() }
    func show(_ change: LiveChange<Void, Int>) async {}
    func snapshot() async throws { snapshots.update { $0 += 1 } }
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> {
        reloads.update { $0.append(thing.id) }
        return .value(1)
    }
}

@Suite(.timeLimit(.minutes(5))) struct HangingFingerTests {
    private static func machine(
        _ area: HangingFinger, _ server: ModelServer, store: MemoryStore = MemoryStore()
    ) async -> LiveMachine<HangingFinger> {
        let machine = LiveMachine(area, store: store, feed: server, requestDeadline: 50)
        await machine.start()
        return machine
    }

    private static func wait(
        _ machine: LiveMachine<HangingFinger>, for condition: (UpdateMachine.View) -> Bool
    ) async {
        for await view in await machine.views where condition(view) { return }
    }

    @Test func `a snapshot behind an area that does not return fails in time, is told, and comes once when it does`()
        async throws
    {
        let (area, server) = (HangingFinger(1), ModelServer())
        let machine = await Self.machine(area, server)
        await Self.wait(machine) { view in
            // Where the machine is slow, requests in front of it may have been too late as well.
            guard area.fingers.held == 1 else { return false }
            guard case .registerFailed(_, let failures, _) = view.state, failures >= 2 else { return false }
            guard case .cannotConnect = view.freshness else { return false }
            return true
        }
        // What hangs may stand for an old finger on the screens: nothing was fetched behind it.
        #expect(area.snapshots.value == 0 && area.fingers.held == 1)
        area.fingers.release()
        await Self.wait(machine) { $0.freshness == .connected }
        // Those that were given up ask for nothing any more.
        #expect(area.snapshots.value == 1)
        await machine.stop()
    }

    @Test func `reloads behind an area that does not return give up their slots in time, and come when it does`()
        async throws
    {
        let (area, server, store) = (HangingFinger(1), ModelServer(), MemoryStore())
        let metadata = UpdateMetadata(finger: "0/0", lastSuccess: AppClock().now)
        try await store.commit(area: area.name, metadata: metadata) { _ in }
        let machine = await Self.machine(area, server, store: store)
        await server.change(.update)
        var hadSlot = false
        let hasGivenUp = try await eventually {
            let isRunning = await !machine.runningReloads.isEmpty
            defer { hadSlot = hadSlot || isRunning }
            return hadSlot && !isRunning
        }
        #expect(hasGivenUp)
        #expect(area.reloads.value.isEmpty && area.fingers.held == 1)
        #expect(await machine.view.pending == 1)
        area.fingers.release()
        await Self.wait(machine) { $0.freshness == .connected && $0.pending == 0 }
        #expect(area.reloads.value == ["A"])
        await machine.stop()
    }
}
