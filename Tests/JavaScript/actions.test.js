// actions.js, actionrows.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { ActionQueue, actionOutcome } from "../../Sources/LiveClientJS/core.js"
import { runScenarios } from "./scenarios.js"

runScenarios("actions", ActionQueue)

test("what a status means (ActionQueueTests.swift has these rows too)", () => {
    const rows = {
        again: [199, 300, 399, 408, 429, 500, 503, 0, -1], done: [200, 299], unauthorized: [401],
        rejected: [400, 402, 403, 404, 407, 409, 428, 430, 499],
    }
    for (const [outcome, statuses] of Object.entries(rows)) {
        for (const status of statuses) assert.equal(actionOutcome(status), outcome, `${status}`)
    }
})

test("what is pending is found by its kind and id", () => {
    const queue = new ActionQueue()
    queue.handle({ loaded: { actions: [] } }, 0)
    queue.handle({ set: { kind: "read", id: "1", value: "true", before: "false" } }, 0)
    assert.equal(queue.pending("read", "1"), "true")
    assert.equal(queue.pending("read", "2"), undefined)
    assert.equal(queue.pending("starred", "1"), undefined)
})
