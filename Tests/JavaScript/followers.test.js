// shell/tabs.js: what a tab shows whose connection is another tab's.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Browser, two } from "./sharedtabs.js"
import { eventOf, pageOf, settle, short } from "./world.js"

const nameOf = state => Object.keys(state)[0]

test("a tab that catches up is connected only with all that its leader has told", async () => {
    const { browser, world } = await two()
    await world.pass(11_000)
    const late = browser.tab({ since: "A1" })
    const seen = []
    late.client.watch(state => seen.push([nameOf(state), late.client.cursor]))
    await settle()
    assert.equal(nameOf(late.client.state), "connecting")
    world.question.answer(200, pageOf("C1", ["I0", "I1"]))
    await settle()
    assert.deepEqual(seen, [["connecting", "A1"], ["connected", "C1"]])
})

test("a tab whose leader is not live yet is not connected", async () => {
    const browser = new Browser(), { world } = browser
    const leader = browser.tab()
    await settle()
    world.socket.open()
    const follower = browser.tab()
    await settle()
    assert.deepEqual([leader, follower].map(({ client }) => nameOf(client.state)), ["connected", "connecting"])
    world.socket.say({ live: { at: "C0" } })
    await settle()
    assert.deepEqual(follower.states, ["connecting", "connected"])
    world.socket.end(1006)
    await settle()
    assert.equal(nameOf(follower.client.state), "waiting")
})

test("a tab whose leader goes is connected again when it has all of the next one", async () => {
    const { browser, world, leader, follower } = await two()
    const third = browser.tab()
    await settle()
    leader.client.close()
    await settle()
    assert.deepEqual([follower, third].map(({ client }) => nameOf(client.state)), ["connecting", "connecting"])
    world.socket.open()
    await settle()
    assert.deepEqual([follower, third].map(({ client }) => nameOf(client.state)), ["connected", "connecting"])
    world.socket.say({ live: { at: "C0" } })
    await settle()
    assert.deepEqual(third.states, ["connecting", "connected", "connecting", "connected"])
})

test("a tab that is frozen is not connected when it is back, before it has what it missed", async () => {
    const { browser, world } = await two()
    const tab = browser.tab({}, { page: world.page })
    await settle()
    world.page.fire(world.page.document, "freeze")
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.equal(nameOf(tab.client.state), "connecting")
    world.page.fire(world.page.document, "resume")
    await settle()
    assert.deepEqual(tab.states, ["connecting", "connected", "connecting", "connected"])
    assert.deepEqual(short(tab.updates), ["connected", "resync", "live", "disconnected", "connected", "I1", "live"])
})

test("a tab that missed words of its leader finds out, and gets what it missed", async () => {
    const { world, follower } = await two()
    follower.isDeaf = true
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    follower.unheard.length = 0
    follower.isDeaf = false
    world.socket.say(eventOf("I2", "C2"))
    await settle()
    assert.deepEqual(short(follower.updates).slice(3), ["disconnected", "connected", "I1", "I2", "live"])
    follower.isDeaf = true
    world.socket.say(eventOf("I3", "C3"))
    await settle()
    follower.unheard.length = 0
    follower.isDeaf = false
    await world.pass(5_000)
    assert.deepEqual(short(follower.updates).slice(8), ["disconnected", "connected", "I3", "live"])
})

test("a listener that goes on from another cursor while its tab joins is given nothing of before", async () => {
    const { browser, world } = await two()
    await world.pass(11_000)
    const late = browser.tab({ since: "A1" })
    const leave = late.client.subscribe(update => {
        if (!update.event) return
        leave()
        late.client.restart({ since: "C0" })
    })
    await settle()
    world.question.answer(200, pageOf("C1", ["I0", "I1"]))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "disconnected", "resync", "connected", "live"])
    assert.equal(late.client.cursor, "C0")
})

test("what becomes of the leader's connection takes nobody away who has all that was told", async () => {
    const { world, leader, follower } = await two()
    const before = follower.updates.length
    leader.client.pathChanged({ isSatisfied: true, network: "another" })
    await settle()
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.equal(nameOf(follower.client.state), "connected")
    assert.deepEqual(short(follower.updates.slice(before)), ["I1"])
})

test("a tab that nobody looks at gets what its leader polls", async () => {
    const browser = new Browser(), { world } = browser
    const options = { ways: ["polling"], pollInterval: 60_000, since: "C0" }
    browser.tab(options)
    await settle()
    world.question.answer(200, pageOf("C1", []))
    await settle()
    const follower = browser.tab(options)
    await settle()
    follower.client.enterBackground()
    await settle()
    // What was missed before it came.
    world.question.answer(200, pageOf("C1", []))
    await settle()
    for (const number of [2, 3, 4]) {
        await world.pass(67_000)
        world.question.answer(200, pageOf(`C${number}`, [`I${number}`]))
        await settle()
    }
    assert.deepEqual(short(follower.updates).filter(update => update.startsWith("I")), ["I2", "I3", "I4"])
    assert.equal(follower.client.cursor, "C4")
})

test("a second answer to a tab that joins takes nothing of what came since the first", async () => {
    const { browser, world, leader } = await two()
    await world.pass(11_000)
    const late = browser.tab({ since: "A1" })
    late.isDeaf = true
    await settle()
    late.client.start()
    await settle()
    late.unheard.shift()()
    await settle()
    late.client.restart({ since: "A2" })
    await settle()
    leader.isDeaf = true
    late.unheard.shift()()
    await settle()
    while (late.unheard.length > 0) {
        late.unheard.shift()()
        await settle()
    }
    late.isDeaf = false
    world.socket.say(eventOf("I5", "C5"))
    await settle()
    const { question } = world
    leader.hear()
    await settle()
    question.answer(200, pageOf("C4", ["I4"]))
    await settle()
    world.socket.say(eventOf("I6", "C6"))
    await settle()
    assert.deepEqual(short(late.updates).filter(update => update.startsWith("I")), ["I4", "I5", "I6"])
})

test("a tab asks again for what it joins with, where that was lost", async () => {
    const { browser, world } = await two()
    const late = browser.tab({ since: "C0" })
    late.isDeaf = true
    await settle()
    late.unheard.shift()()
    await settle()
    late.unheard.length = 0
    late.isDeaf = false
    world.socket.say(eventOf("I1", "C1"))
    await world.pass(6_000)
    assert.equal(nameOf(late.client.state), "connected")
    assert.deepEqual(short(late.updates).filter(update => update.startsWith("I")), ["I1"])
})
