// Tests: ActionQueue.swift, ActionQueue+Rows.swift, ActionQueue+Sending.swift, DeferredAction.swift
import LiveState
import TestHarness
import Testing

struct ActionQueueTests {
    @Test(arguments: Scenario.all("actions")) func `a scenario`(_ scenario: Scenario) throws {
        try scenario.run(ActionQueue.self)
    }

    @Test(arguments: [
        (199, ActionOutcome.again), (200, .done), (299, .done), (300, .again), (399, .again), (400, .rejected),
        (401, .unauthorized), (402, .rejected), (403, .rejected), (404, .rejected), (407, .rejected), (408, .again),
        (409, .rejected), (428, .rejected), (429, .again), (430, .rejected), (499, .rejected), (500, .again),
        (503, .again), (0, .again), (-1, .again),
    ]) func `what a status means`(status: Int, outcome: ActionOutcome) {
        #expect(ActionOutcome(status: status) == outcome)
    }

    @Test func `what is pending is found by its kind and id`() {
        var queue = ActionQueue(ActionQueue.Settings())
        _ = queue.handle(.loaded(actions: []), at: 0)
        _ = queue.handle(.set(kind: "read", id: "1", value: "true", before: "false"), at: 0)
        #expect(queue.pending(kind: "read", id: "1") == "true")
        #expect(queue.pending(kind: "read", id: "2") == nil && queue.pending(kind: "starred", id: "1") == nil)
    }

    /// Every order of what can happen, against a server that honours the keys: what it has in the end is what the user
    /// wanted last, no key had its effect twice, and the device shows the same.
    @Test func `random histories end with what the user wanted last`() {
        for seed in UInt64(1)...2_000 {
            var history = ActionHistory(seed: seed)
            history.run(steps: 60)
            #expect(history.problems.isEmpty, "seed \(seed): \(history.problems)")
        }
    }
}
