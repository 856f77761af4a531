// counting.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { manualShare, RefreshCounts } from "../../Sources/LiveClientJS/counting.js"
import { runScenarios } from "./scenarios.js"

runScenarios("counting", RefreshCounts)

test("the share of manual refreshes, where there were any", () => {
    assert.equal(manualShare({ manual: 1, automatic: 3 }), 0.25)
    assert.equal(manualShare({ manual: 0, automatic: 3 }), 0)
    assert.equal(manualShare({ manual: 0, automatic: 0 }), null)
})

test("a view is a copy: what an app does with it changes no count", () => {
    const counts = new RefreshCounts()
    counts.handle({ refreshed: { screen: "a", isManual: true } }, 0)
    counts.view.counts[0].manual = 99
    counts.view.counts[0].latency[0] = 99
    assert.equal(counts.view.counts[0].manual, 1)
    assert.equal(counts.view.counts[0].latency[0], 0)
})
