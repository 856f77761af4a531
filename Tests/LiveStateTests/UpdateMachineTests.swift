// Tests: UpdateMachine.swift, PendingEvents.swift, StaleThings.swift, Freshness.swift, UpdateInput.swift, UpdateEffect.swift
import LiveState
import Testing

struct UpdateMachineTests {
    @Test(arguments: Scenario.all("update"))
    func `an update machine does what the scenario says`(_ scenario: Scenario) throws {
        try scenario.run(UpdateMachine.self)
    }
}
