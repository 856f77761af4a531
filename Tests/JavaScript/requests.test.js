// requests.js: what becomes of a request that nobody answers, or nobody waits for.
import assert from "node:assert/strict"
import { test } from "node:test"
import { World, pageOf, settle } from "./world.js"

/** A client whose WebSocket is live. */
async function begun() {
    const world = new World(), told = world.client()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    return { world, ...told }
}

test("a request that nothing answers is given up after 12 s, and one whose answer stops in the middle after 30 more", async () => {
    const { world, client } = await begun()
    const told = []
    const ask = options => client.sync(options).catch(error => error).then(found => told.push(found.kind ?? found.page.at))
    ask()
    await world.pass(11_999)
    assert.deepEqual([told, world.question.isAborted], [[], undefined])
    await world.pass(1)
    assert.deepEqual([told, world.question.isAborted], [["unreachable"], true])
    ask({ since: "C1", wait: 50_000 })
    await settle()
    const { question } = world
    await world.pass(61_999)
    question.stream()
    question.say("{")
    await world.pass(29_999)
    assert.equal(told.length, 1)
    await world.pass(1)
    assert.deepEqual(told, ["unreachable", "unreachable"])
    ask()
    await settle()
    world.question.answer(200, pageOf("C2"))
    await settle()
    client.close()
    assert.deepEqual([told.at(-1), world.timers.length], ["C2", 0])
})

test("a reader that gives its request up ends it, with its own reason", async () => {
    const { world, client } = await begun()
    const abort = new AbortController(), reason = new Error("no longer shown")
    const asked = client.sync({ signal: abort.signal })
    await settle()
    abort.abort(reason)
    await assert.rejects(asked, reason)
    assert.equal(world.question.isAborted, true)
})
