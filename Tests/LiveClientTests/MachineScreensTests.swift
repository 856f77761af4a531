// Tests: LiveMachine+Finger.swift, LiveScreens.swift
import LiveClient
import LiveState
import Synchronization
import Testing

/// A ``ModelServer``'s things by the page and one by one.
private struct Versions: ScreensAPI {
    let server: ModelServer

    func reload(_ thing: Thing) async throws -> FoundThing<Int> {
        try await server.version(of: thing.id).map { .value($0) } ?? .gone
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Int> {
        let items = try await server.list().map { id, version in
            ListPage<Int>.Item(id: id, key: ListKey(text: id), value: version)
        }
        return ListPage(items: items, isLast: true)
    }
}

/// An area that is nothing but what screens show. Its snapshot is there at once, so that no view between two fingers is seen.
private final class Shown: LiveArea {
    typealias Store = MemoryStore

    let name = "shown"
    let screens: LiveScreens<Versions>
    let fingers = Mutex<[Bool]>([])

    init(_ server: ModelServer) { screens = LiveScreens(Versions(server: server)) }

    func fingerChanged(isHeld: Bool) async {
        fingers.withLock { $0.append(isHeld) }
        await screens.setFinger(isHeld)
    }

    func snapshot() async throws { fingers.withLock { #expect($0.last == true) } }

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> {
        LiveReload(try await screens.reload(thing, types: types))
    }

    func show(_ change: LiveChange<Void, Int>) async {}
}

@Suite(.timeLimit(.minutes(5))) struct MachineScreensTests {
    /// Nothing reads the machine's views here: a loop that is busy sees as much of a resync with a quick snapshot.
    @Test func `what changed in the gap of a resync is loaded again, however quick the snapshot is`() async throws {
        let server = ModelServer()
        let area = Shown(server)
        let machine = LiveMachine(area, store: MemoryStore(), feed: server)
        let states = await area.screens.makeList("all", of: "incident") { ListKey(text: "\($0)") }
        await area.screens.show("all", from: .beginning, .forward, count: 9)
        await machine.start()
        var version = 1
        for await state in states where state.knowledge == .known && !state.isLoading {
            guard state.items.first?.value == version else { continue }
            version += 1
            guard version <= 5 else { break }
            // It makes A newer by one, and no event says so.
            await server.change(.resync)
        }
        #expect(version == 6)
        // A loss and a finger alternate: none is told twice, none is left out.
        let fingers = area.fingers.withLock { $0 }
        #expect(fingers == fingers.indices.map { $0.isMultiple(of: 2) } && fingers.count >= 9)
        await machine.stop()
        await area.screens.close()
    }
}
