// Tests: LiveMachine.swift, LiveArea.swift
import Foundation
import LiveClient
import LiveState
import Synchronization
import TestHarness
import Testing

/// What an app shows of a ``ModelServer``, in memory.
private final class Screen: LiveArea {
    typealias Store = MemoryStore

    let name: String
    let server: ModelServer
    let shown = Mutex<[String: Int]?>(nil)
    let renewals = Mutex(0)
    let times = Mutex<[LiveTime]>([])
    /// What the next renewals end with.
    let renewalErrors = Mutex<[any Error]>([])

    init(_ server: ModelServer, name: String = "incidents") {
        self.server = server
        self.name = name
    }

    func snapshot() async throws -> [String: Int] { try await server.list() }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> {
        guard let version = try await server.version(of: thing.id) else { return .gone }
        return .value(version)
    }

    func show(_ change: LiveChange<[String: Int], Int>) async {
        shown.withLock { shown in
            switch change {
            case .snapshot(let all): shown = all
            case .things(let things):
                for (thing, reload) in things {
                    switch reload {
                    case .value(let version): shown?[thing.id] = version
                    case .gone, .notOurs: shown?[thing.id] = nil
                    case .unneeded, .knownStale: break
                    }
                }
            }
        }
    }

    func shown(_ times: [LiveTime]) async { self.times.withLock { $0 += times } }

    func renewToken() async throws {
        renewals.withLock { $0 += 1 }
        if let error = renewalErrors.withLock({ $0.popLast() }) { throw error }
    }
}

struct LiveMachineTests {
    /// Waits until the machine is connected and the screen is as the server.
    private static func settle(
        _ machine: LiveMachine<Screen>, _ screen: Screen, _ about: String, bringingBack: Bool = false
    ) async throws {
        let isSettled = try await eventually {
            if bringingBack { await screen.server.change(.comeBack) }
            let view = await machine.view
            let things = await screen.server.things
            return view.freshness == .connected && view.pending == 0 && screen.shown.withLock { $0 } == things
        }
        guard !isSettled else { return }
        let (view, things) = (await machine.view, await screen.server.things)
        Issue.record("\(about): \(view), shown \(String(describing: screen.shown.withLock { $0 })), server \(things)")
    }

    /// The server changes at its n-th step, for n = 1, 2, 3 … until a run has no n-th: between the finger, the parts of the
    /// snapshot, the catch-up and the reloads.
    @Test(arguments: [ModelServer.Change.create, .update, .delete, .resync])
    func `whenever the server changes, the screen becomes as it is`(_ change: ModelServer.Change) async throws {
        var step = 0
        while true {
            step += 1
            let server = ModelServer(changes: [step: change])
            let screen = Screen(server)
            let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
            await machine.start()
            try await Self.settle(machine, screen, "\(change) at step \(step)")
            let hasChanged = await server.hasChanged
            if hasChanged { try await Self.settle(machine, screen, "\(change) at step \(step), once it is done") }
            await machine.stop()
            guard hasChanged else { break }
        }
        #expect(step > 6)
    }

    /// Eight changes, losses and returns at steps of the seed's choice, until all of them have been.
    @Test(arguments: 1...200)
    func `whatever happens in whatever order, the screen becomes as the server is`(_ seed: UInt32) async throws {
        var jitter = Jitter(seed: seed)
        var changes: [Int: ModelServer.Change] = [:]
        for _ in 0..<8 {
            let step = Int(jitter.milliseconds(1, 40))
            changes[step] = ModelServer.Change.allCases[Int(jitter.milliseconds(0, 6))]
        }
        let server = ModelServer(changes: changes)
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        // Each update makes more steps, until everything has happened.
        repeat {
            await server.change(.update)
            try await Self.settle(machine, screen, "seed \(seed), \(changes)", bringingBack: true)
        } while await !server.hasChanged
        try await Self.settle(machine, screen, "seed \(seed), \(changes), at the end", bringingBack: true)
        await machine.stop()
    }

    @Test func `a machine that comes back follows from its finger, and asks for no snapshot`() async throws {
        let (server, store) = (ModelServer(), MemoryStore())
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: store, feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "first run")
        await machine.stop()
        await server.change(.update)
        let again = LiveMachine(screen, store: store, feed: server)
        #expect(await again.view.state == .notLoaded)
        await again.start()
        try await Self.settle(again, screen, "second run")
        #expect(await server.snapshots == 1)
        await again.stop()
    }

    @Test func `a stream that is lost and back goes on where it was`() async throws {
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        await server.change(.lose)
        await server.change(.update)
        await server.change(.delete)
        await server.change(.comeBack)
        try await Self.settle(machine, screen, "afterwards")
        #expect(await server.snapshots == 1)
        #expect(await server.readersMade == 1)
        await machine.stop()
    }

    @Test func `two machines over one feed each get to the state of the server`() async throws {
        let server = ModelServer()
        let screens = [Screen(server, name: "a"), Screen(server, name: "b")]
        let store = MemoryStore()
        let machines = screens.map { LiveMachine($0, store: store, feed: server) }
        for machine in machines { await machine.start() }
        for change in [ModelServer.Change.create, .update, .resync, .delete] { await server.change(change) }
        for (machine, screen) in zip(machines, screens) { try await Self.settle(machine, screen, screen.name) }
        let fingers = [try await store.load(area: "a")?.finger, try await store.load(area: "b")?.finger]
        #expect(fingers.allSatisfy { $0 != nil })
        for machine in machines { await machine.stop() }
    }

    @Test func `an API that refuses the token is asked again with another one, once`() async throws {
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        await server.fail(1, with: .unauthorized)
        await server.change(.update)
        try await Self.settle(machine, screen, "with another token")
        #expect(screen.renewals.withLock { $0 } == 1)
        await server.fail(2, with: .unauthorized)
        await server.change(.update)
        for await view in await machine.views where view.isUnauthorized { break }
        #expect(screen.renewals.withLock { $0 } == 2)
        await machine.tokenChanged(isValid: true)
        try await Self.settle(machine, screen, "signed in")
        await machine.stop()
    }

    @Test func `a token that does not come for want of a network is asked for again, and nobody is signed out`()
        async throws
    {
        struct Offline: Error {}
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        screen.renewalErrors.withLock { $0 = [Offline()] }
        await server.fail(1, with: .unauthorized)
        await server.change(.update)
        try await Self.settle(machine, screen, "with the token of the second attempt")
        #expect(screen.renewals.withLock { $0 } == 2)
        screen.renewalErrors.withLock { $0 = [LiveClientError.unauthorized] }
        await server.fail(1, with: .unauthorized)
        await server.change(.update)
        for await view in await machine.views where view.isUnauthorized { break }
        await machine.stop()
    }

    @Test(arguments: [404, 410, 403]) func `an answer that is thrown holds nothing up`(_ status: Int) async throws {
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        await server.fail(1_000, with: .rejected(status: status))
        await server.change(.delete)
        try await Self.settle(machine, screen, "without what is gone")
        await machine.stop()
    }

    @Test func `what is shown comes with the time of its event`() async throws {
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        #expect(screen.times.withLock { $0.isEmpty })
        await server.change(.update)
        try await Self.settle(machine, screen, "after an update")
        await server.change(.delete)
        try await Self.settle(machine, screen, "after a deletion")
        let expected = [("A", 1), ("B", 2)] as [(String, Milliseconds)]
        #expect(screen.times.withLock { $0.map(\.thing.id) } == expected.map(\.0))
        #expect(screen.times.withLock { $0.map(\.ts) } == expected.map(\.1))
        await machine.stop()
    }

    @Test func `nothing comes after the end`() async throws {
        let server = ModelServer()
        let screen = Screen(server)
        let machine = LiveMachine(screen, store: MemoryStore(), feed: server)
        await machine.start()
        try await Self.settle(machine, screen, "at first")
        await machine.stop()
        await server.change(.update)
        for await _ in await machine.views {}
        #expect(await screen.server.things != screen.shown.withLock { $0 })
    }
}
