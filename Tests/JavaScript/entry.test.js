// core/entry.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { entryOf } from "../../Sources/LiveClientJS/livegate.js"

test("the one member of a state, with its name", () => {
    assert.deepEqual(entryOf({ waiting: { why: "retry", until: 5 } }), ["waiting", { why: "retry", until: 5 }])
    assert.deepEqual(entryOf({ connected: {} }), ["connected", {}])
})
