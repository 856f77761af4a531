// Tests: RefreshCounts.swift, RefreshCount.swift
import Foundation
import LiveState
import Testing

struct RefreshCountsTests {
    @Test(arguments: Scenario.all("counting")) func `a scenario`(_ scenario: Scenario) throws {
        try scenario.run(RefreshCounts.self)
    }

    @Test func `the share of manual refreshes, where there were any`() {
        var count = RefreshCount(day: "2026-11-23", screen: "a")
        #expect(count.manualShare == nil)
        count.automatic = 3
        #expect(count.manualShare == 0)
        count.manual = 1
        #expect(count.manualShare == 0.25)
    }

    @Test func `values of the same screen add up, also with a release that has fewer bins`() throws {
        var count = RefreshCount(day: "2026-11-23", screen: "a")
        let line = #"{"day":"2026-11-22","screen":"b","manual":2,"latency":[1,2],"merged":5,"version":"1.2"}"#
        let other = try JSONDecoder().decode(RefreshCount.self, from: Data(line.utf8))
        count.add(other)
        count.add(other)
        #expect(count.manual == 4 && count.merged == 10 && count.latency == [2, 4, 0, 0, 0, 0, 0, 0, 0])
        #expect(count.day == "2026-11-23" && count.screen == "a")
    }
}
