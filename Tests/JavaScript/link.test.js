// link.js: which token counts, and from where polls go on.
import assert from "node:assert/strict"
import { test } from "node:test"
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
