// core/tabs.js, core/recent.js, shell/tabs.js, shell/missed.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { TabMachine } from "../../Sources/LiveClientJS/core.js"
import { RecentUpdates, placeAmong } from "../../Sources/LiveClientJS/core/recent.js"
import { runScenarios } from "./scenarios.js"
import { Browser, two } from "./sharedtabs.js"
import { eventOf, pageOf, settle, short } from "./world.js"

runScenarios("tabs", TabMachine)

test("a second tab uses the connection of the first", async () => {
    const { world, leader, follower } = await two()
    assert.deepEqual([leader.client.isLeader, follower.client.isLeader], [true, false])
    assert.deepEqual(short(follower.updates), ["connected", "resync", "live"])
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(short(follower.updates).slice(3), ["I1"])
    assert.deepEqual(short(leader.updates), ["connected", "resync", "live", "I1"])
    assert.equal(follower.client.cursor, "C1")
    assert.deepEqual(follower.client.state, { connected: {} })
    assert.equal(world.sockets.length, 1)
})

test("a tab that comes with a cursor catches up by itself, and misses nothing meanwhile", async () => {
    const { browser, world } = await two()
    await world.pass(11_000)
    const late = browser.tab({ since: "A1" })
    await settle()
    assert.equal(world.question.url.search, "?since=A1")
    world.socket.say(eventOf("I2", "C2"))
    await settle()
    world.question.answer(200, pageOf("C1", ["I0", "I1"]))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "I1", "beat", "live", "I2"])
    assert.equal(late.client.cursor, "C2")
})

test("tabs that ask for ids of events share no connection with those that do not, and are told of read marks", async () => {
    const { browser, world } = await two()
    const leader = browser.tab({ asksForEventIDs: true })
    await settle()
    assert.equal(world.socket.url.searchParams.get("with"), "at,ts,aid")
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    await world.pass(11_000)
    const follower = browser.tab({ asksForEventIDs: true, since: "A1" })
    await settle()
    assert.deepEqual([leader.client.isLeader, follower.client.isLeader], [true, false])
    assert.equal(world.question.url.search, "?since=A1&with=at%2Cts%2Caid")
    world.question.answer(200, pageOf("C0"))
    await settle()
    world.socket.say({ read: { aid: "m" } })
    await settle()
    for (const { updates } of [leader, follower]) assert.deepEqual(updates.at(-1), { read: { upTo: "m" } })
    for (const { client } of [leader, follower]) client.close()
})

test("when the leading tab is closed, the other goes on where it was", async () => {
    const { world, leader, follower } = await two()
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    leader.client.close()
    await settle()
    assert.equal(world.sockets[0].closedWith, 1000)
    assert.equal(follower.client.isLeader, true)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    world.socket.open()
    world.socket.say(eventOf("I2", "C2"))
    world.socket.say({ live: { at: "C2" } })
    assert.deepEqual(short(follower.updates).slice(3), ["I1", "disconnected", "connected", "I2", "live"])
})

test("when the leading tab is frozen, the other takes the lead, and the first follows when it is back", async () => {
    const { world, leader, follower } = await two()
    leader.freeze()
    await world.pass(10_500)
    assert.equal(follower.client.isLeader, true)
    assert.equal(world.sockets.length, 2)
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    leader.thaw()
    await world.pass(10_000)
    assert.equal(leader.client.isLeader, false)
    assert.equal(world.sockets[0].closedWith, 1000)
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(short(leader.updates).slice(-1), ["I1"])
    assert.deepEqual(short(follower.updates).slice(-1), ["I1"])
})

test("a tab that is only hidden keeps the connection for the one that is looked at", async () => {
    const { world, leader, follower } = await two()
    leader.client.enterBackground()
    await world.pass(20_000)
    world.socket.say({ beat: { at: "C1" } })
    await world.pass(20_000)
    assert.deepEqual(leader.client.state, { connected: {} })
    assert.equal(world.sockets[0].closedWith, null)
    assert.equal(follower.client.isLeader, false)
    follower.client.enterBackground()
    await world.pass(1_000)
    assert.deepEqual(leader.client.state, { idle: {} })
    follower.client.enterForeground()
    await world.pass(1_000)
    assert.ok(leader.client.state.connecting)
})

test("a tab that is looked at takes the connection from one that has been hidden for a minute, and nothing is lost", async () => {
    const { world, leader, follower } = await two()
    leader.client.enterBackground()
    for (let seconds = 0; seconds < 70; seconds += 10) {
        await world.pass(10_000)
        world.sockets[0].say({ beat: { at: "C0" } })
    }
    assert.deepEqual([leader.client.isLeader, follower.client.isLeader, world.sockets.length], [false, true, 2])
    assert.equal(world.sockets[0].closedWith, 1000)
    assert.equal(world.socket.url.searchParams.get("since"), "C0")
    world.socket.open()
    world.socket.say(eventOf("I1", "C1"))
    world.socket.say({ live: { at: "C1" } })
    await settle()
    for (const { client, updates } of [leader, follower]) {
        assert.deepEqual([short(updates).filter(name => name === "I1").length, short(updates).at(-1)], [1, "live"])
        assert.deepEqual([client.cursor, client.state], ["C1", { connected: {} }])
    }
    await world.pass(30_000)
    assert.equal(world.sockets.length, 2)
})

test("people do not share: another account is another connection", async () => {
    const browser = new Browser()
    browser.tab()
    browser.tab({ account: "PACC2" })
    await settle()
    assert.equal(browser.world.sockets.length, 2)
})

test("a tab that missed what its leader still has asks nobody for it", async () => {
    const { browser, world } = await two()
    world.socket.say(eventOf("I1", "C1"))
    world.socket.say(eventOf("I2", "C2"))
    const late = browser.tab({ since: "C1" })
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I2", "live"])
    assert.equal(world.questions.length, 0)
})

test("a node that is a moment behind takes nothing from a tab that joins", async () => {
    const { browser, world } = await two()
    await world.pass(11_000)
    for (const number of [1, 2, 3]) world.socket.say(eventOf(`I${number}`, `C${number}`))
    const late = browser.tab({ since: "A1" })
    await settle()
    // The node that answers knows nothing of I2 and I3 yet, and nobody will say them again.
    world.question.answer(200, pageOf("B1", ["I0", "I1"]))
    await settle()
    world.socket.say(eventOf("I4", "C4"))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "I1", "beat", "I1", "I2", "I3", "live", "I4"])
    assert.equal(world.questions.length, 1)
})

test("where the leader's stream is so young that it may have begun behind that node, the server is asked once more", async () => {
    const { browser, world } = await two()
    const late = browser.tab({ since: "A1" })
    await settle()
    world.question.answer(200, pageOf("A2", ["I0"]))
    await settle()
    assert.deepEqual(late.updates, [])
    await world.pass(10_000)
    assert.equal(world.questions.length, 2)
    assert.equal(world.question.url.search, "?since=A2")
    world.question.answer(200, pageOf("A3", ["I1"]))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "beat", "I1", "beat", "beat", "live"])
})

test("a tab whose leader goes on from another cursor catches up from its own", async () => {
    const { world, leader, follower } = await two()
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    leader.client.restart({ since: "C9" })
    await settle()
    assert.deepEqual(short(leader.updates).slice(4), ["disconnected", "resync"])
    assert.deepEqual(short(follower.updates).slice(4), ["disconnected"])
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "C9" } })
    await settle()
    assert.equal(world.question.url.search, "?since=C1")
    world.question.answer(200, pageOf("C9", ["I2", "I3"]))
    await world.pass(10_000)
    world.question.answer(200, pageOf("C9", []))
    await settle()
    assert.deepEqual(short(follower.updates).slice(5), ["connected", "I2", "I3", "beat", "beat", "beat", "live"])
})

test("a tab that missed too much is told to fetch what it shows, once", async () => {
    const { browser, world } = await two()
    const late = browser.tab({ since: "A1" })
    await settle()
    for (let page = 0; page < 3; page += 1) {
        world.question.answer(200, pageOf(`B${page}`, Array.from({ length: 500 }, (_, index) => `I${index}`), true))
        await settle()
    }
    assert.deepEqual(short(late.updates), ["connected", "resync", "live"])
    assert.equal(late.client.cursor, "C0")
    assert.equal(world.questions.length, 3)
    await world.pass(30_000)
    assert.equal(world.questions.length, 3)
})

test("a tab whose token is refused asks for one other, says so, and asks nothing more until somebody signs in", async () => {
    const { browser, world, leader } = await two()
    world.tokens = ["old", "as old"]
    const late = browser.tab({ since: "A1" })
    await settle()
    for (const _ of [1, 2]) {
        world.question.answer(401, { code: "invalid_token" })
        await settle()
    }
    assert.deepEqual(late.client.state, { unauthorized: {} })
    const asked = world.asked.length
    await world.pass(20_000)
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual([world.questions.length, world.asked.length, late.updates.length], [2, asked, 0])
    assert.deepEqual(leader.client.state, { connected: {} })
    late.client.start()
    await settle()
    world.question.answer(200, pageOf("A2", ["I0"]))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "beat", "I1", "live"])
    assert.deepEqual(late.client.state, { connected: {} })
})

test("who catches up is ended by a Livegate's refusal, and by no balancer's", async () => {
    const { browser, world } = await two()
    const late = browser.tab({ since: "A1" })
    await settle()
    world.question.answer(404, "no route")
    await settle()
    assert.equal(late.client.state.ended, undefined)
    await world.pass(20_000)
    world.question.answer(404, { code: "not_found" })
    await settle()
    assert.deepEqual(late.client.state.ended.error, { refused: { status: 404, code: "not_found" } })
})

test("an end for good is one for all tabs, and nobody who leads after that tries again", async () => {
    const { world, leader, follower } = await two()
    world.socket.end(4403)
    await world.pass(5_000)
    for (const { client } of [leader, follower]) assert.ok(client.state.ended.error.revoked)
    leader.client.close()
    await world.pass(30_000)
    assert.equal(world.sockets.length, 1)
    assert.equal(follower.client.isLeader, false)
    await assert.rejects(follower.client.updates().next(), { kind: "revoked" })
})

test("a tab that joins while the source stalls is told so", async () => {
    const { browser, world } = await two()
    world.socket.say({ source: { state: "stalled", ts: 7 } })
    const late = browser.tab()
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "resync", "live", "source"])
})

const beat = (at, ago) => ({ update: { beat: { at } }, at, ago })
for (const [name, recent, cursor, expected] of [
    ["its place is known", { entries: [beat("C1", 60_000), beat("C2", 50_000)] }, "C1", { updates: [{ beat: { at: "C2" } }] }],
    ["it has all", { entries: [beat("C1", 60_000)] }, "C1", { updates: [] }],
    ["it stands where the stream began", { entries: [beat("C1", 60_000)] }, "C0", { updates: [{ beat: { at: "C1" } }] }],
    ["some since the beginning is gone", { isWhole: false, entries: [beat("C1", 60_000)] }, "C0",
        { missed: { wait: 0, updates: [] } }],
    ["it stands elsewhere: the last 10 s again", { entries: [beat("C1", 10_001), beat("C2", 10_000)] }, "A1",
        { missed: { wait: 0, updates: [{ beat: { at: "C2" } }] } }],
    ["the stream is young", { age: 4_000, entries: [] }, "A1", { missed: { wait: 6_000, updates: [] } }],
    ["some of the last 10 s is gone", { isWhole: false, entries: [beat("C1", 9_999)] }, "A1", { resync: {} }],
]) {
    test(`a tab that joins: ${name}`, () => {
        const told = { start: "C0", age: 60_000, isWhole: true, ...recent }
        assert.deepEqual(placeAmong(told, cursor), expected)
    })
}

test("of a stream 1,000 updates are kept, and it is said that more were there", () => {
    const recent = new RecentUpdates()
    recent.begin("C", 0)
    for (let number = 0; number < 1_000; number += 1) recent.keep({ beat: { at: `C${number}` } }, number)
    assert.equal(recent.told(1_000).isWhole, true)
    recent.keep({ beat: { at: "last" } }, 1_000)
    const { isWhole, entries } = recent.told(1_000)
    assert.deepEqual([isWhole, entries.length, entries[0].at], [false, 1_000, "C1"])
})
