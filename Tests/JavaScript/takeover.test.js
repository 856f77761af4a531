// shell/tabs.js: a tab whose token is good takes the connection from one that nobody lets in.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Browser } from "./sharedtabs.js"
import { eventOf, settle, short } from "./world.js"

/** The server refuses both tokens that the tab which leads has. */
async function refuse(world) {
    for (const _ of [1, 2]) {
        world.socket.end(1006)
        await settle()
        world.question.answer(401, { code: "invalid_token" })
        await settle()
    }
}

/** A tab that leads and was refused twice, with how often it was asked for a token. */
async function refused() {
    const browser = new Browser(), { world } = browser
    const token = name => {
        const give = async () => `${name}${give.asked += 1}`
        return Object.assign(give, { asked: 0 })
    }
    const bad = token("bad"), leader = browser.tab({ token: bad })
    await settle()
    await refuse(world)
    assert.deepEqual([leader.client.state, bad.asked], [{ unauthorized: {} }, 2])
    return { browser, world, leader, bad, token }
}

async function open(world, at = "C0") {
    world.socket.open()
    world.socket.say({ live: { at } })
    await settle()
}

/** Nobody asks for anything, and nobody takes the lead from anybody. */
async function assertCalm(world, tokens, clients) {
    const seen = () => [world.sockets.length, ...tokens.map(({ asked }) => asked), ...clients.map(client => client.isLeader)]
    const before = seen()
    for (let seconds = 0; seconds < 60; seconds += 20) {
        await world.pass(20_000)
        if (world.socket.readyState === 1) world.socket.say({ beat: { at: "C0" } })
    }
    assert.deepEqual(seen(), before)
}

test("a tab that comes when its leader was refused already takes over with its own token", async () => {
    const { browser, world, leader, bad, token } = await refused()
    const good = token("good"), other = browser.tab({ token: good })
    await settle()
    assert.deepEqual([leader.client.isLeader, other.client.isLeader, good.asked], [false, true, 1])
    await open(world)
    assert.deepEqual(other.client.state, { connected: {} })
    assert.deepEqual(leader.client.state, { unauthorized: {} })
    await assertCalm(world, [bad, good], [leader.client, other.client])
})

test("a tab that follows when its leader is refused takes over, and the first is let in again when somebody signs in", async () => {
    const browser = new Browser(), { world } = browser
    world.tokens = ["first", "second"]
    const leader = browser.tab()
    await settle()
    await open(world)
    const other = browser.tab({ token: async () => "good" })
    await settle()
    world.socket.end(4401)
    await settle()
    world.socket.end(1006)
    await settle()
    world.question.answer(401, { code: "invalid_token" })
    await settle()
    assert.deepEqual([leader.client.isLeader, other.client.isLeader], [false, true])
    await open(world)
    assert.deepEqual([leader.client.state, other.client.state], [{ unauthorized: {} }, { connected: {} }])
    leader.client.start()
    await settle()
    assert.deepEqual(leader.client.state, { connected: {} })
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual([leader, other].map(({ updates }) => short(updates).at(-1)), ["I1", "I1"])
})

test("of tabs that are all refused each tries once, and then nobody until somebody signs in", async () => {
    const { browser, world, leader, bad, token } = await refused()
    const tokens = [bad], clients = [leader.client]
    for (const name of ["second", "third"]) {
        const give = token(name), { client } = browser.tab({ token: give })
        tokens.push(give)
        clients.push(client)
        await settle()
        assert.equal(client.isLeader, true)
        await refuse(world)
    }
    assert.deepEqual(clients.map(({ state }) => Object.keys(state)[0]), ["unauthorized", "unauthorized", "unauthorized"])
    await assertCalm(world, tokens, clients)
    clients[0].start()
    await settle()
    assert.equal(clients[0].isLeader, true)
    await open(world)
    assert.deepEqual(clients[0].state, { connected: {} })
})

test("a tab that is looked at again tries its own token in the place of a leader that is refused", async () => {
    const { browser, world, leader } = await refused()
    const other = browser.tab()
    await settle()
    await refuse(world)
    assert.deepEqual([leader, other].map(({ client }) => Object.keys(client.state)[0]), ["unauthorized", "unauthorized"])
    leader.client.enterBackground()
    leader.client.enterForeground()
    await settle()
    assert.equal(leader.client.isLeader, true)
    await open(world)
    assert.deepEqual(leader.client.state, { connected: {} })
})

test("a tab that comes when its leader's access has just been revoked tries its own", async () => {
    const browser = new Browser(), { world } = browser
    const leader = browser.tab()
    await settle()
    world.socket.open()
    world.socket.end(4403)
    const other = browser.tab()
    await world.pass(2_000)
    assert.ok(leader.client.state.ended)
    assert.equal(other.client.isLeader, true)
    await open(world)
    assert.deepEqual(other.client.state, { connected: {} })
})
