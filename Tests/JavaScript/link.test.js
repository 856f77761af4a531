// link.js, environment.js: which token counts, from where polls go on, and what a sleep of the device ends.
import assert from "node:assert/strict"
import { test } from "node:test"
import { wakefulClock } from "../../Sources/LiveClientJS/shell/environment.js"
import { World, pageOf, settle, short } from "./world.js"

test("a token that comes after it was given up takes the place of no newer one", async () => {
    const world = new World()
    let late
    world.tokens = ["first", new Promise(resolve => { late = resolve }), "newest"]
    const { client } = world.client()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say({ expiring: { in: 60 } })
    for (let seconds = 0; seconds < 50; seconds += 10) {
        await world.pass(10_000)
        world.socket.say({ beat: { at: "C1" } })
    }
    assert.deepEqual(world.socket.sent, [{ token: "newest" }])
    late("overtaken")
    await settle()
    client.pathChanged({ isSatisfied: true, network: "another" })
    assert.deepEqual(world.socket.sent, [{ token: "newest" }, { token: "newest" }])
    assert.equal(world.sockets.length, 1)
})

test("between two polls, who goes on from another cursor is told at once what is there", async () => {
    const world = new World(), { client, updates } = world.client({ ways: ["polling"] })
    await settle()
    world.question.answer(200, pageOf("C1", ["I1"]))
    await world.pass(10_000)
    assert.equal(client.state.waiting.why, "poll")
    assert.equal(world.questions.length, 1)
    client.restart({ since: "C9" })
    await settle()
    assert.equal(world.questions.length, 2)
    assert.equal(world.question.url.search, "?since=C9")
    world.question.answer(200, pageOf("C10", ["I2"]))
    await settle()
    assert.deepEqual(short(updates).slice(-3), ["connected", "I2", "live"])
    assert.equal(client.state.waiting.why, "poll")
})

test("a device that has slept believes no stream of before, though its timers stood still", async () => {
    const world = new World(), { client, updates } = world.client()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    const slept = 8 * 3_600_000
    world.time += slept
    for (const timer of world.timers) timer.at += slept
    await world.pass(5_000)
    assert.deepEqual(short(updates).slice(-1), ["disconnected"])
    await world.pass(1_000)
    assert.equal(world.sockets.length, 2)
    assert.equal(world.socket.url.searchParams.get("since"), "C0")
    world.socket.open()
    assert.deepEqual(client.state, { connected: {} })
})

test("a clock counts sleep, and does not go back", () => {
    const start = 1_000_000
    let steady = start, wall = start
    const now = wakefulClock(() => steady, () => wall)
    for (const [awake, asleep, set, expected, why] of [
        [1_000, 0, 0, 1_000, "nothing but time"],
        [1_000, 0, 4_999, 2_000, "the clock is set right"],
        [1_000, 5_000, 0, 8_000, "the shortest sleep that counts"],
        [1_000, 0, -3_600_000, 9_000, "the clock is set back"],
        [1_000, 60_000, 0, 70_000, "a sleep after that"],
        [0.5, 0, 0, 70_000, "whole milliseconds"],
    ]) {
        steady += awake
        wall += awake + asleep + set
        assert.equal(now() - start, expected, why)
    }
})

test("a close with 1000 that no `bye` has announced is a proxy's: the client comes back", async () => {
    const world = new World(), { client, updates } = world.client({ since: "C0" })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C1" } })
    world.socket.end(1000)
    await settle()
    assert.equal(client.state.waiting?.why, "retry")
    await world.pass(1_000)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    world.socket.open()
    world.socket.say({ bye: { code: 1000, why: "done" } })
    await settle()
    assert.deepEqual(client.state, { ended: { error: { done: {} } } })
    assert.deepEqual(short(updates), ["connected", "live", "disconnected", "connected", "disconnected"])
})
