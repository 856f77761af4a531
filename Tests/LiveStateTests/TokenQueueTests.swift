// Tests: TokenQueue.swift
import LiveState
import Testing

struct TokenQueueTests {
    @Test(arguments: Scenario.all("tokens"))
    func `tokens go as the scenario says`(_ scenario: Scenario) throws { try scenario.run(TokenQueue.self) }
}
