// Tests: LiveGate.swift
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

extension LiveGate {
    /// A gate whose waits are over at once: its clock runs an hour ahead at each look.
    static var impatient: LiveGate {
        let looks = Count()
        return LiveGate(seed: 1, now: { Milliseconds(looks.add(1)) * 3_600_000 }, sleep: { _ in })
    }

    /// A gate whose waits never end.
    static var patient: LiveGate { patient { _ in } }

    /// A gate whose waits never end; `onWait` is told of each when it begins.
    static func patient(onWait: @escaping @Sendable (Milliseconds) -> Void) -> LiveGate {
        let sleep: @Sendable (Milliseconds) async throws -> Void = { wait in
            onWait(wait)
            try await waitUntilCancelled()
        }
        return LiveGate(seed: 1, now: { 0 }, sleep: sleep)
    }
}

/// A number that tasks share.
private final class Count: Sendable {
    private let value = Mutex(0)

    @discardableResult func add(_ change: Int) -> Int {
        value.withLock { value in
            value += change
            return value
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct LiveGateTests {
    private struct Failing: ScreensAPI {
        func reload(_ thing: Thing) async throws -> FoundThing<String> { throw RequestError(status: 503) }
        func page(of list: String, _ request: PageRequest) async throws -> ListPage<String> {
            ListPage(items: [], isLast: true)
        }
    }

    private func fail(_ gate: LiveGate, _ error: RequestError = RequestError(status: 503)) async {
        await #expect(throws: error) { try await gate.run { throw error } }
    }

    @Test(arguments: [503, 500, 429, 408, nil])
    func `behind a failure one request at a time is made, and each that fails lets one more try`(_ status: Int?) async {
        let gate = LiveGate.impatient
        await fail(gate, RequestError(status: status))
        let running = Count()
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let most = Mutex(0)
                    try? await gate.run {
                        let now = running.add(1)
                        most.withLock { $0 = now }
                        await Task.yield()
                        running.add(-1)
                        throw RequestError(status: status)
                    }
                    return most.withLock { $0 }
                }
            }
            for await most in group { #expect(most == 1) }
        }
        #expect(gate.view.failures == 51)
    }

    @Test(arguments: [401, 403, 404, 422]) func `an answer closes nothing`(_ status: Int) async throws {
        let gate = LiveGate.patient
        await fail(gate, RequestError(status: status))
        #expect(gate.view.state == .open)
        #expect(try await gate.run { 7 } == 7)
    }

    @Test func `what waits is given up with its task, and a person ends the wait of all`() async throws {
        let (waits, continuation) = AsyncStream.makeStream(of: Milliseconds.self)
        let gate = LiveGate.patient { continuation.yield($0) }
        await fail(gate, RequestError(status: 503, retryAfter: 60_000))
        let given = Task { try await gate.run { 1 } }
        let kept = Task { try await gate.run { 2 } }
        // Whoever begins to wait makes the gate look again when it is due.
        var begun = waits.makeAsyncIterator()
        for _ in 0..<2 { _ = await begun.next() }
        #expect(gate.view.waiting == 2)
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        #expect(gate.view.waiting == 1)
        gate.networkIsBack()
        #expect(gate.view.waiting == 1)
        gate.refresh()
        #expect(try await kept.value == 2)
    }

    @Test func `screens that a machine asks pass the gate once, by themselves`() async throws {
        let gate = LiveGate.patient
        let screens = LiveScreens(Failing(), gate: gate)
        let thing = Thing(entity: "incident", id: "A")
        // No screen needs it: nothing was asked, so nothing is said of the API.
        await fail(gate)
        gate.refresh()
        let found = try await gate.run { try await screens.reload(thing, types: ["updated"]) }
        #expect(found == nil && gate.view.failures == 1 && gate.view.running == 0)
        for await state in await screens.showDetails("details", of: thing) where state.failure != nil { break }
        #expect(gate.view.failures == 2)
        await screens.close()
    }
}
