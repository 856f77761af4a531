// retry.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { Jitter, Retry } from "../../Sources/LiveClientJS/core.js"

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

test("clients that lost their server together come back all over the time, not in its second half", () => {
    const bound = 16_000
    const parts = new Array(8).fill(0), told = []
    for (let seed = 0; seed < 2_000; seed++) {
        const retry = new Retry(seed)
        for (let failure = 0; failure < 4; failure++) retry.wait()
        parts[Math.floor((retry.wait() - Retry.minimum) * 8 / (bound - Retry.minimum))] += 1
        told.push(new Retry(seed).waitAfter(4_000))
    }
    // Eight parts of the time with as many clients, give or take a third.
    assert.ok(parts.every((count) => count >= 167 && count <= 333), `${parts}`)
    // What all were told alike is spread as well, and never cut short.
    assert.ok(new Set(told).size > 1_000 && told.every((wait) => wait >= 4_000 && wait < 6_000))
})

test("the server's word is taken, within a day", () => {
    const retry = new Retry(7)
    assert.equal(retry.wait(8_123), 8_123)
    assert.equal(retry.wait(-1), 0)
    assert.equal(retry.wait(Number.MAX_SAFE_INTEGER), 86_400_000)
    const wait = retry.waitAfter(10_000)
    assert.ok(wait >= 10_000 && wait < 15_000, `${wait}`)
})
