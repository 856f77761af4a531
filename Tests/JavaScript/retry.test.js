// retry.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { Jitter, Retry } from "../../Sources/LiveClientJS/livegate.js"

test("jitter gives the same words in each language (RetryTests.swift has this row too)", () => {
    const jitter = new Jitter(1)
    assert.deepEqual([jitter.next(), jitter.next(), jitter.next()], [2_693_262_067, 11_749_833, 2_265_367_787])
})

test("waits double their bound up to the longest and stay above the shortest", () => {
    const retry = new Retry(7)
    for (const bound of [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000]) {
        const wait = retry.wait()
        assert.ok(wait >= Retry.minimum && wait < bound, `${wait}`)
    }
    retry.reset()
    assert.ok(retry.wait() < 1_000)
})

test("the server's word is taken, within a day", () => {
    const retry = new Retry(7)
    assert.equal(retry.wait(8_123), 8_123)
    assert.equal(retry.wait(-1), 0)
    assert.equal(retry.wait(Number.MAX_SAFE_INTEGER), 86_400_000)
    const wait = retry.waitAfter(10_000)
    assert.ok(wait >= 10_000 && wait < 15_000, `${wait}`)
})
