// Tests: PendingEvents.swift, PendingEvents+Committing.swift
import LiveState
import Testing

/// The times that events carry, up to the change that answers them.
struct EventTimesTests {
    private static func event(_ id: String, _ ts: Milliseconds?, _ type: String = "updated") -> ThingEvent {
        ThingEvent(thing: Thing(entity: "incident", id: id), type: type, ts: ts)
    }

    /// The changes of the commits among these effects, and its number.
    private static func commit(_ effects: [UpdateMachine.Effect]) -> (number: Int, changes: [ThingChange])? {
        for case .commit(let number, _, _, let changes) in effects { return (number, changes) }
        return nil
    }

    @Test func `a change has the time of the oldest event that it answers`() throws {
        var machine = UpdateMachine(UpdateMachine.Settings())
        for input: UpdateMachine.Input in [
            .start, .loaded(stored: UpdateMetadata(finger: "F", lastSuccess: 0)),
            .events(number: 1, events: [Self.event("A", 50), Self.event("B", nil), Self.event("A", 40)], at: "G"),
        ] { _ = machine.handle(input, at: 0) }
        // Its reload is under way: these are of the next batch.
        _ = machine.handle(.events(number: 1, events: [Self.event("A", 70), Self.event("A", 60)], at: "H"), at: 0)
        let effects = machine.handle(.reloaded(number: 2, outcome: .value), at: 0)
        let next = effects.compactMap { if case .reload(let number, _, _) = $0 { number } else { nil } }
        // It is in the state before the finger moves, so it has the time of what it answers, and no more.
        let first = try #require(Self.commit(effects))
        #expect(first.changes.map(\.thing.id) == ["A"])
        #expect(first.changes.map(\.ts) == [40])
        _ = machine.handle(.reloaded(number: 3, outcome: .gone), at: 0)
        _ = machine.handle(.reloaded(number: try #require(next.first), outcome: .value), at: 0)
        let last = try #require(Self.commit(machine.handle(.committed(number: first.number), at: 0)))
        #expect(last.changes.map(\.thing.id) == ["B", "A"])
        #expect(last.changes.map(\.ts) == [nil, 60])
    }
}
