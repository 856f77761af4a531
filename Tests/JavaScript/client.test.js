// client.js, link.js, environment.js, websocket.js, requests.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { allTabs } from "../../Sources/LiveClientJS/tabs.js"
import { World, eventOf, pageOf, settle, short } from "./world.js"

/** A client whose WebSocket has opened and is live. */
async function begun(world = new World(), options = {}, changes = {}) {
    const told = world.client(options, changes)
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    return { world, ...told }
}

test("a client opens a WebSocket with its token in a subprotocol, and tells what comes in order", async () => {
    const { world, client, updates, states } = await begun(undefined, { entities: ["incident", "note"] })
    assert.deepEqual(world.socket.protocols, ["livegate.v1", "bearer.VA"])
    assert.equal(world.socket.url.href, "wss://live.example.com/live/v1?with=at%2Cts&beat=25&ent=incident%2Cnote")
    world.socket.say({ ...eventOf("I1", "C1"), ts: 5 })
    world.socket.say({ later: {} })
    assert.deepEqual(updates, [
        { connected: { way: "webSocket" } }, { resync: { why: "start", at: "C0" } }, { live: { at: "C0" } },
        { event: { entity: "incident", id: "I1", type: "created", at: "C1", ts: 5 } },
    ])
    assert.equal(client.cursor, "C1")
    assert.deepEqual(states, ["connecting", "connected"])
    assert.deepEqual(client.state, { connected: {} })
})

test("after a loss it comes back where it was", async () => {
    const { world, updates, states } = await begun()
    world.socket.say(eventOf("I1", "C1"))
    world.socket.end(1006)
    assert.deepEqual(short(updates).slice(-1), ["disconnected"])
    await world.pass(1_000)
    assert.equal(world.sockets.length, 2)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    world.socket.open()
    world.socket.say({ live: { at: "C1" } })
    assert.deepEqual(short(updates).slice(-3), ["disconnected", "connected", "live"])
    assert.deepEqual(states, ["connecting", "connected", "waiting", "connecting", "connected"])
})

test("the server says when to come back, in a bye or in a reason", async () => {
    const { world } = await begun()
    world.socket.say({ bye: { code: 1012, why: "restart", retry_ms: 8123 } })
    assert.equal(world.socket.closedWith, 1000)
    await world.pass(8_122)
    assert.equal(world.sockets.length, 1)
    await world.pass(1)
    world.socket.open()
    world.socket.end(1013, "overload retry_ms=6000")
    await world.pass(5_999)
    assert.equal(world.sockets.length, 2)
    await world.pass(1)
    assert.equal(world.sockets.length, 3)
})

test("a stream that is silent is given up", async () => {
    const { world, updates } = await begun()
    await world.pass(29_000)
    world.socket.say({ beat: { at: "C1" } })
    await world.pass(29_000)
    assert.equal(world.sockets.length, 1)
    await world.pass(3_000)
    assert.equal(world.sockets.length, 2)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    // Nothing of the old one counts any more.
    world.sockets[0].say(eventOf("late", "C9"))
    assert.ok(!short(updates).includes("late"))
})

test("a refused upgrade is explained by /sync/v1: another token, and then nobody is let in until somebody signs in", async () => {
    const world = new World()
    world.refusesSockets = true
    world.tokens = ["T1", "T2", "T3"]
    const { client, states } = world.client()
    for (let refusal = 0; refusal < 2; refusal += 1) {
        await settle()
        assert.equal(world.question.url.pathname, "/sync/v1")
        assert.equal(world.question.options.headers.Authorization, `Bearer T${refusal + 1}`)
        world.question.answer(401, { code: "invalid_token" })
        await settle()
    }
    assert.deepEqual(world.asked, [false, true])
    assert.deepEqual(states.at(-1), "unauthorized")
    await world.pass(600_000)
    assert.deepEqual(world.asked, [false, true])
    world.refusesSockets = false
    client.start()
    await settle()
    world.socket.open()
    assert.deepEqual(client.state, { connected: {} })
})

test("where upgrades are swallowed, an event stream is read, and remembered for the network", async () => {
    const world = new World()
    world.refusesSockets = true
    const { client, updates } = world.client({ network: () => "office" })
    await settle()
    world.question.answer(200, pageOf("C0"))
    await settle()
    assert.equal(world.sockets.length, 2, "once more, to prove it")
    assert.equal(world.question.url.pathname, "/live/v1")
    world.question.stream()
    await settle()
    const stream = world.question
    assert.equal(world.questions.length, 3)
    assert.equal(stream.url.pathname, "/live/v1")
    assert.deepEqual(stream.options.headers, { Authorization: "Bearer T", Accept: "text/event-stream" })
    // A redirect may lead a token elsewhere: none of its requests follows one.
    assert.deepEqual(world.questions.map(({ options }) => options.redirect), ["error", "error", "error"])
    stream.stream()
    stream.say('retry: 1000\n\nevent: live\nid: C0\ndata: {"at":"C0"}\n\nid: C1\ndata: {"ent":"incident",')
    stream.say('"id":"I1","type":"created","at":"C1"}\n\n')
    await settle()
    assert.deepEqual(short(updates), ["connected", "resync", "live", "I1"])
    assert.equal(client.way, "eventStream")
    stream.say('event: bye\ndata: {"code":4403,"why":"revoked"}\n\n')
    await settle()
    assert.deepEqual(client.state, { ended: { error: { revoked: {} } } })

    const next = world.client({ network: () => "office", since: "C1" })
    await settle()
    assert.equal(world.sockets.length, 2)
    assert.equal(world.question.url.searchParams.get("since"), "C1")
    next.client.close()
    assert.ok(world.question.isAborted)
})

test("a node without room for streams is waited for: it answers /sync/v1, and that says nothing of the network", async () => {
    const world = new World()
    world.refusesSockets = true
    const { client } = world.client({ network: () => "office" })
    await settle()
    for (const [status, code] of [[503, "max_connections"], [429, "max_connections_per_account"]]) {
        world.question.answer(200, pageOf("C0"))
        await settle()
        assert.equal(world.question.url.pathname, "/live/v1")
        assert.equal(world.question.options.headers.Accept, "text/event-stream")
        world.question.answer(status, { code }, { "Retry-After": "4" })
        await settle()
        assert.equal(client.state.waiting?.why, "asked")
        await world.pass(client.state.waiting.until - world.time)
        assert.equal(client.way, "webSocket")
    }
    assert.equal(world.stored.size, 0)
    client.close()
})

test("where upgrades are swallowed and streams are gathered, the event stream is tried without waiting for long", async () => {
    const world = new World()
    world.refusesSockets = true
    const { client } = world.client()
    await settle()
    world.question.answer(200, pageOf("C0"))
    await world.pass(3_000)
    assert.deepEqual([client.way, world.questions.length], ["eventStream", 3])
    assert.ok(world.questions[1].isAborted)
    client.close()
})

test("long polls go on from page to page, and a cursor that is too old or broken is a resync", async () => {
    const world = new World()
    const { client, updates } = world.client({ ways: ["longPoll", "polling"] })
    const answer = async (status, body) => {
        world.question.answer(status, body)
        await world.pass(1_000)
    }
    await settle()
    assert.equal(world.question.url.search, "")
    await answer(200, pageOf("C0"))
    assert.equal(world.question.url.search, "?since=C0&wait=50")
    await answer(200, pageOf("C1", ["I1", "I2"], true))
    assert.equal(world.question.url.search, "?since=C1")
    await answer(200, pageOf("C2", ["I3"]))
    await answer(410, { code: "resync", why: "expired", at: "C7" })
    await answer(400, { code: "bad_cursor" })
    assert.equal(world.question.url.search, "")
    await answer(200, pageOf("C9"))
    assert.deepEqual(short(updates), ["connected", "resync", "live", "I1", "I2", "beat", "I3", "beat",
        "resync", "live", "resync", "live"])
    assert.deepEqual(updates.filter(update => update.resync).map(update => update.resync.why), ["start", "expired", "invalid"])
    assert.equal(world.question.url.search, "?since=C9&wait=50")
    assert.deepEqual(client.state, { connected: {} })
})

test("a page that is hidden for long, or frozen, closes the connection, and comes back where it was", async () => {
    const { world, client } = await begun()
    world.page.show(false)
    await world.pass(29_000)
    world.page.show(true)
    world.socket.say({ beat: { at: "C1" } })
    await world.pass(20_000)
    assert.equal(world.sockets[0].closedWith, null)
    world.page.show(false)
    world.socket.say({ beat: { at: "C2" } })
    await world.pass(30_000)
    assert.equal(world.sockets[0].closedWith, 1000)
    assert.deepEqual(client.state, { idle: {} })
    world.page.show(true)
    await settle()
    assert.equal(world.socket.url.searchParams.get("since"), "C2")
    world.socket.open()
    world.page.fire(world.page, "pagehide")
    assert.equal(world.socket.closedWith, 1000)
    await world.pass(1_000)
    world.page.fire(world.page, "pageshow", { persisted: true })
    await settle()
    assert.equal(world.sockets.length, 3)
    world.page.fire(world.page.document, "freeze")
    assert.deepEqual(client.state, { idle: {} })
})

test("no attempt without a network, and one as soon as it is back; a changed path is tested by the token", async () => {
    const { world, client } = await begun()
    world.page.setOnline(false)
    await world.pass(2_000)
    assert.deepEqual(client.state, { waiting: { until: 1_062_000, why: "offline" } })
    await world.pass(50_000)
    assert.equal(world.sockets.length, 1)
    world.page.setOnline(true)
    await settle()
    assert.equal(world.sockets.length, 2)
    world.socket.open()
    client.pathChanged({ isSatisfied: true, network: "train" })
    assert.deepEqual(world.socket.sent, [{ token: "T" }])
    world.socket.say({ token: { exp: 9 } })
    await world.pass(3_000)
    assert.equal(world.sockets.length, 2)
    client.pathChanged({ isSatisfied: true, network: "home" })
    await world.pass(2_000)
    assert.equal(world.sockets.length, 3)
})

test("the next token is sent when the server asks for it", async () => {
    const world = new World()
    world.tokens = ["T1", "T2"]
    const { updates } = await begun(world)
    world.socket.say({ expiring: { exp: 9 } })
    await settle()
    assert.deepEqual(world.asked, [false, true])
    assert.deepEqual(world.socket.sent, [{ token: "T2" }])
    world.socket.say({ token: { exp: 99 } })
    assert.deepEqual(short(updates), ["connected", "resync", "live"])
})

test("a ticket stands for the token where the operator wants none in a subprotocol, and a cookie needs neither", async () => {
    const world = new World()
    world.client({ ticket: true })
    await settle()
    assert.equal(world.question.url.pathname, "/ticket/v1")
    world.question.answer(200, { ticket: "K1", expires_in: 30 })
    await settle()
    assert.equal(world.socket.url.searchParams.get("ticket"), "K1")
    assert.deepEqual(world.socket.protocols, ["livegate.v1"])
    world.client({ token: undefined, cookie: true })
    await settle()
    assert.deepEqual(world.socket.protocols, ["livegate.v1"])
})

test("updates are read by any number of readers, each at its pace", async () => {
    const { world, client } = await begun()
    const one = client.updates(), other = client.updates()
    world.socket.say(eventOf("I1", "C1"))
    assert.equal((await one.next()).value.event.id, "I1")
    const seen = []
    world.socket.say(eventOf("I2", "C2"))
    for await (const update of other) {
        seen.push(update.event.id)
        if (seen.length === 2) break
    }
    assert.deepEqual(seen, ["I1", "I2"])
    world.socket.end(4403)
    assert.equal((await one.next()).value.event.id, "I2")
    assert.ok((await one.next()).value.disconnected)
    await assert.rejects(one.next(), { name: "LivegateError", kind: "revoked" })
    assert.deepEqual(await one.next(), { done: true, value: undefined })
})

test("what a busy reader has not read is dropped over its limit, and a resync says so", async () => {
    const { world, client } = await begun()
    const reader = client.updates()
    for (let number = 1; number <= 1024; number += 1) world.socket.say(eventOf(`I${number}`, `C${number}`))
    assert.equal((await reader.next()).value.event.id, "I1", "as many as the limit wait")
    for (const number of [1025, 1026]) world.socket.say(eventOf(`I${number}`, `C${number}`))
    assert.deepEqual((await reader.next()).value, { resync: { why: "slow", at: "C1026" } })
    client.close()
    assert.ok((await reader.next()).value.disconnected)
    assert.ok((await reader.next()).done)
})

test("a busy reader that misses nothing but read marks is told to fetch as well", async () => {
    const { world, client } = await begun()
    const reader = client.updates()
    for (let number = 0; number <= 1024; number += 1) world.socket.say({ read: { aid: `m${number}` } })
    assert.deepEqual((await reader.next()).value, { resync: { why: "slow", at: client.cursor } })
    client.close()
})

test("an app that asks for ids gets them on every way, and read marks, which move no cursor", async () => {
    const world = new World(), { client, updates } = world.client({ asksForEventIDs: true })
    await settle()
    assert.equal(world.socket.url.searchParams.get("with"), "at,ts,aid")
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say({ ...eventOf("I1", "C1"), aid: "m" })
    world.socket.say({ read: { ent: "incident", id: "I1", aid: "m" } })
    world.socket.say({ read: { aid: "n" } })
    assert.deepEqual([updates.at(-3).event.aid, ...updates.slice(-2)],
        ["m", { read: { thing: { entity: "incident", id: "I1" }, upTo: "m" } }, { read: { upTo: "n" } }])
    assert.equal(client.cursor, "C1")
    const asked = client.sync({ since: "C1" })
    await settle()
    assert.equal(world.question.url.searchParams.get("with"), "at,ts,aid")
    assert.equal(world.question.url.searchParams.get("upto"), null)
    const page = pageOf("C2", ["I2"])
    page.events[0].aid = "o"
    world.question.answer(200, page)
    assert.equal((await asked).page.events[0].aid, "o")
    // The signal of another node says how far this one is to have read.
    const known = client.sync({ since: "C2", upTo: "C3" })
    await settle()
    assert.deepEqual([...world.question.url.searchParams], [["since", "C2"], ["upto", "C3"], ["with", "at,ts,aid"]])
    world.question.answer(200, { ...pageOf("C2"), more: true })
    assert.equal((await known).page.more, true)
    client.close()
    for (const way of ["eventStream", "longPoll", "polling"]) {
        const { client } = world.client({ asksForEventIDs: true, ways: [way] })
        await settle()
        assert.equal(world.question.url.searchParams.get("with"), "at,ts,aid", way)
        client.close()
    }
})

test("a listener that throws does not keep the others from their update, and one that closes ends it", async () => {
    const { world, client, updates, states } = await begun()
    client.subscribe(() => client.close())
    world.socket.say(eventOf("I1", "C1"))
    world.socket.say?.({ live: { at: "C2" } })
    assert.deepEqual(short(updates).slice(-2), ["I1", "disconnected"])
    assert.equal(states.at(-1), "ended")
    assert.equal(world.socket.closedWith, 1000)
    assert.equal(world.timers.length, 0)
})

test("sync asks with one more token after a 401, and its errors say what to do", async () => {
    const { world, client } = await begun()
    const ask = async (...answers) => {
        const asked = client.sync({ since: "C1" }).catch(error => error)
        for (const [status, body, headers] of answers) {
            await settle()
            if (status === 0) world.question.fail()
            else world.question.answer(status, body, headers)
        }
        return asked
    }
    assert.deepEqual((await ask([401, {}], [200, pageOf("C2", ["I1"])])).page.at, "C2")
    assert.equal((await ask([401, {}], [401, {}])).kind, "unauthorized")
    const busy = await ask([503, { code: "overloaded" }, { "Retry-After": "3" }])
    assert.deepEqual([busy.kind, busy.status, busy.retryAfter], ["retry", 503, 3000])
    assert.equal((await ask([403, { code: "forbidden" }])).kind, "rejected")
    assert.equal((await ask([0])).kind, "unreachable")
    assert.deepEqual(await ask([410, { code: "resync", why: "epoch", at: "C5" }]), { resync: { why: "epoch", at: "C5" } })
})

test("what cannot be used is refused at once", () => {
    const world = new World()
    assert.throws(() => world.client({ url: "ftp://x" }), /url: 'ftp:'/)
    assert.throws(() => world.client({ token: undefined }), /token/)
    assert.throws(() => world.client({ entities: ["a,b"] }), /entities/)
    assert.throws(() => world.client({ share: true, account: "PACC1" }), /allTabs/)
    assert.throws(() => world.client({ share: allTabs }), /account/)
})

test("readers are told to fetch where the stream goes on from a cursor that is not theirs", async () => {
    const world = new World(), { client, updates } = world.client({ since: "C100" })
    await settle()
    world.socket.open()
    world.socket.say(eventOf("I1", "C101"))
    const asker = []
    const listener = update => asker.push(update)
    client.subscribe(listener)
    client.restart({ since: "C500", except: listener })
    await world.pass(1_000)
    world.socket.open()
    world.socket.say(eventOf("I2", "C501"))
    assert.deepEqual(short(updates), ["connected", "I1", "disconnected", "resync", "connected", "I2"])
    assert.deepEqual(updates[3], { resync: { why: "start", at: "C500" } })
    assert.deepEqual(short(asker), ["disconnected", "connected", "I2"])
})

test("who begins to read a client that has ended is told why", async () => {
    const world = new World(), { client } = world.client()
    await settle()
    world.socket.open()
    world.socket.end(4403)
    await assert.rejects(client.updates().next(), { kind: "revoked" })
})

test("a listener that goes on from another cursor is not brought back by the update that it was given", async () => {
    const world = new World(), { client } = world.client({ since: "C100" })
    await settle()
    world.socket.open()
    const leave = client.subscribe(update => {
        if (!update.event) return
        leave()
        client.restart({ since: "C5" })
    })
    world.socket.say(eventOf("I1", "C101"))
    await world.pass(1_000)
    assert.equal(world.socket.url.searchParams.get("since"), "C5")
})

test("a token function that says that nobody is signed in is not asked again and again", async () => {
    const world = new World()
    let asked = 0
    const token = async () => {
        asked += 1
        throw Object.assign(new Error("signed out"), { kind: "unauthorized" })
    }
    const { client } = world.client({ token })
    await world.pass(600_000)
    assert.deepEqual([client.state, asked], [{ unauthorized: {} }, 1])
})
