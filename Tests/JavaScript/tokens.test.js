// client.js, actions.js: an app whose functions do not answer.
import assert from "node:assert/strict"
import { test } from "node:test"
import { LiveActions, MemoryActionStore } from "../../Sources/LiveClientJS/livegate.js"
import { World, settle } from "./world.js"

/** A function for tokens that never answers at first, and counts how often it is asked. */
function hanging(times = 1) {
    const token = async () => {
        token.asked += 1
        return token.asked > times ? "T" : new Promise(() => {})
    }
    token.asked = 0
    return token
}

test("a connection whose token does not come within 30 s asks for it again", async () => {
    const world = new World(), token = hanging()
    const { client } = world.client({ token })
    await world.pass(29_999)
    assert.deepEqual([Object.keys(client.state), token.asked], [["connecting"], 1])
    await world.pass(1)
    assert.equal(client.state.waiting.why, "token")
    await world.pass(1_000)
    world.socket.open()
    assert.deepEqual([client.state, token.asked], [{ connected: {} }, 2])
})

test("a request whose token does not come within 30 s fails, and can be made again", async () => {
    const world = new World(), token = hanging()
    const { client } = world.client({ token })
    const asked = client.sync().catch(error => error)
    await world.pass(30_000)
    const { name, kind } = await asked
    assert.deepEqual([name, kind, world.questions.length], ["LivegateError", "unreachable", 0])
    const again = client.sync()
    await settle()
    world.question.answer(200, { events: [], at: "C1", more: false })
    assert.equal((await again).page.at, "C1")
})

test("an immediate action whose new token does not come within 30 s is not done, and says so", async () => {
    const world = new World()
    const actions = new LiveActions({
        store: new MemoryActionStore({ show: () => {} }), renewToken: () => new Promise(() => {}), environment: world.environment(),
    })
    const done = actions.perform(async () => { throw Object.assign(new Error("refused"), { status: 401 }) }).catch(error => error)
    await world.pass(30_000)
    const { name, kind } = await done
    assert.deepEqual([name, kind], ["LivegateError", "unavailable"])
    actions.close()
})

test("actions whose new token does not come within 30 s ask for another", async () => {
    const world = new World(), answers = [401, 200], token = hanging()
    const actions = new LiveActions({
        store: new MemoryActionStore({ show: () => {} }), renewToken: token, environment: world.environment(),
        send: async sent => {
            const status = answers.shift()
            return sent.map(({ key }) => ({ key, status }))
        },
    })
    await actions.start()
    await actions.set("read", "1", true, false)
    await world.pass(3_000)
    assert.deepEqual([token.asked, actions.pending.length], [1, 1])
    await world.pass(32_000)
    assert.deepEqual([token.asked, actions.pending.length], [2, 0])
    actions.close()
})

test("a function that gives no token, in whatever way, means that nobody is signed in, and not that there is a cookie", async () => {
    for (const nothing of [null, undefined, ""]) {
        const world = new World()
        const { client } = world.client({ token: () => nothing })
        const { kind } = await client.sync().catch(error => error)
        assert.deepEqual([kind, world.questions.length], ["unauthorized", 0])
    }
})

test("an immediate action that nobody answers is given up after a minute, and may have been done", async () => {
    const world = new World()
    const actions = new LiveActions({ store: new MemoryActionStore({ show: () => {} }), environment: world.environment() })
    let given
    const done = actions.perform(({ signal }) => { given = signal; return new Promise(() => {}) }).catch(error => error)
    await world.pass(59_999)
    assert.equal(given.aborted, false)
    await world.pass(1)
    const { name, kind } = await done
    assert.deepEqual([name, kind, given.aborted], ["LivegateError", "unknown", true])
    actions.close()
})
