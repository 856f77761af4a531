// machine.js, following.js, found.js, failures.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, RequestError, Screens, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, eventOf, pageOf, settle } from "./world.js"

/** A server with three incidents and a note, and a client whose stream is open. */
function scene() {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    for (const id of ["A", "B", "C"]) server.change(id, "created")
    server.change("N", "created", "note")
    client.open()
    return { server, clock, client }
}

function machineOf({ server, client }, entity = "incident", options = {}) {
    return createMachine(client, {
        area: entity, entities: [entity], snapshot: () => server.snapshot(entity), reload: thing => server.reload(thing),
        ...options,
    })
}

const known = machine => Object.fromEntries(machine.entries)

test("whatever the server changes, at each point from the first finger on, is known at the end", async () => {
    for (const [id, type] of [["B", "updated"], ["C", "deleted"], ["D", "created"]]) {
        for (let n = 1, isOver = false; !isOver; n += 1) {
            const s = scene()
            let points = 0
            s.server.point = async () => { if (++points === n) s.server.change(id, type) }
            const machine = machineOf(s)
            await s.clock.pass(60_000)
            isOver = points < n
            assert.ok(n > 1 || !isOver)
            assert.deepEqual(known(machine), s.server.expected("incident"), `${type} at point ${n}`)
            assert.deepEqual(machine.freshness, { connected: {} }, `${type} at point ${n}`)
        }
    }
})

test("a change at each point, with a stream that breaks there too, is known at the end", async () => {
    for (let n = 1, isOver = false; !isOver; n += 1) {
        const s = scene()
        let points = 0
        s.server.point = async () => {
            if (++points !== n) return
            s.client.close({ waiting: { until: s.clock.now() + 1_000, why: "retry" } })
            s.server.change("B")
            s.clock.setTimer(() => { s.client.open() }, 1_000)
        }
        const machine = machineOf(s)
        await s.clock.pass(60_000)
        isOver = points < n
        assert.deepEqual(known(machine), s.server.expected("incident"), `point ${n}`)
        assert.deepEqual(machine.freshness, { connected: {} }, `point ${n}`)
    }
})

test("the finger is asked for before the snapshot is begun, and the stream goes on from it", async () => {
    const s = scene()
    const order = []
    s.server.point = async name => { order.push(name) }
    const machine = machineOf(s)
    await s.clock.settle()
    assert.equal(machine.isLoaded, true)
    assert.deepEqual([order[0], order[1], order.at(-1)], ["sync", "snapshot", "end of the snapshot"])
    assert.deepEqual(s.client.requests, ["sync"])
    assert.deepEqual(known(machine), s.server.expected("incident"))
})

test("two machines on one connection keep their own areas, and a change costs one of them one fetch", async () => {
    const s = scene()
    const incidents = machineOf(s), notes = machineOf(s, "note")
    await s.clock.settle()
    const streams = s.client.streams
    const reloads = []
    s.server.point = async name => { reloads.push(name) }
    s.server.change("N", "updated", "note")
    await s.clock.settle()
    assert.deepEqual(reloads, ["reload", "end of the reload"])
    assert.deepEqual(known(notes), s.server.expected("note"))
    assert.deepEqual(known(incidents), s.server.expected("incident"))
    assert.equal(s.client.streams, streams)
    notes.close()
    s.server.change("A")
    await s.clock.settle()
    assert.deepEqual(known(incidents), s.server.expected("incident"))
})

test("a machine whose finger is older than the stream is caught up, also by a node that is a moment behind", async () => {
    for (const lag of [0, 1, 3]) {
        for (const [age, isEarly] of [[0, true], [0, false], [30_000, false]]) {
            const s = scene()
            const change = () => { for (const id of ["M", "O", "N"]) s.server.change(id, "updated", "note") }
            const store = new MemoryStore({ now: s.clock.now })
            const before = machineOf(s, "note", { store })
            await s.clock.settle()
            before.close()
            s.client.close({ idle: {} })
            s.server.change("N", "updated", "note")
            if (isEarly) change()
            // The page is opened again: the stream begins at the finger of the incidents.
            const client = new ScriptedClient(s.server, s.clock)
            client.open()
            const incidents = machineOf({ ...s, client })
            await s.clock.pass(age)
            if (!isEarly) change()
            await s.clock.pass(1_000)
            s.server.lag = lag
            const notes = machineOf({ ...s, client }, "note", { store, snapshot: () => assert.fail("a snapshot") })
            await s.clock.pass(2_000)
            s.server.lag = 0
            s.server.change("P", "created", "note")
            await s.clock.pass(20_000)
            assert.ok(client.requests.includes("sync c4"))
            assert.deepEqual(known(notes), s.server.expected("note"), `${lag} behind, after ${age} ms, ${isEarly}`)
            assert.deepEqual(notes.freshness, { connected: {} })
            assert.deepEqual(incidents.freshness, { connected: {} })
        }
    }
})

test("what was stored is shown at once, and goes on from its finger without a snapshot", async () => {
    const s = scene()
    const store = new MemoryStore({ now: s.clock.now })
    const before = machineOf(s, "incident", { store })
    assert.equal(before.isLoaded, false)
    await s.clock.settle()
    before.close()
    const then = s.server.expected("incident")
    s.client.close({ waiting: { until: s.clock.now() + 500, why: "retry" } })
    s.server.change("B")
    const after = machineOf(s, "incident", { store, snapshot: () => assert.fail("a snapshot") })
    await s.clock.settle()
    assert.deepEqual(known(after), then)
    assert.notDeepEqual(after.freshness, { connected: {} })
    await s.clock.pass(499)
    s.client.open()
    await s.clock.pass(2_000)
    assert.deepEqual(known(after), s.server.expected("incident"))
    assert.deepEqual(after.freshness, { connected: {} })
})

test("a resync keeps the state, calls it old, and ends in a new snapshot", async () => {
    const s = scene()
    const machine = machineOf(s)
    await s.clock.settle()
    s.client.close({ waiting: { until: s.clock.now() + 1_000, why: "retry" } })
    s.server.change("A", "deleted")
    s.server.change("B")
    s.server.kept = s.server.events.length
    let release
    s.server.point = name => name === "snapshot" ? new Promise(resolve => { release = resolve }) : undefined
    await s.clock.pass(1_000)
    s.client.open()
    await s.clock.pass(1_000)
    assert.equal(machine.entries.size, 3)
    assert.ok("registering" in machine.state && machine.sign)
    release()
    await s.clock.settle()
    assert.deepEqual(known(machine), s.server.expected("incident"))
    assert.equal(machine.sign, undefined)
})

test("a gap of less than 300 ms shows no sign, a longer one does, and it goes at once", async () => {
    const s = scene()
    const machine = machineOf(s)
    await s.clock.settle()
    const signs = []
    machine.watch(() => {
        const sign = machine.sign ? Object.keys(machine.sign)[0] : null
        if (signs.at(-1) !== sign) signs.push(sign)
    })
    for (const gap of [299, 301]) {
        s.client.close({ waiting: { until: s.clock.now() + gap, why: "retry" } })
        await s.clock.pass(gap)
        s.client.open()
        await s.clock.pass(5_000)
    }
    assert.deepEqual(signs, [null, "connecting", null])
})

test("a machine comes back with the stream, whoever opens it and however soon", async () => {
    for (const state of [{ connecting: { since: 0, attempt: 1 } }, { waiting: { until: 9_000_000, why: "retry" } }]) {
        const s = scene()
        const machine = machineOf(s), notes = machineOf(s, "note")
        await s.clock.settle()
        const { streams, requests } = s.client, asked = requests.length
        s.client.close(state)
        s.server.change("A")
        await s.clock.settle()
        assert.ok("pollFailed" in machine.state)
        // Another tab, which leads now, was there at once.
        s.client.open()
        await s.clock.settle()
        for (const one of [machine, notes]) assert.deepEqual(one.freshness, { connected: {} })
        assert.deepEqual(known(machine), s.server.expected("incident"))
        assert.deepEqual([s.client.streams - streams, requests.length - asked], [1, 0])
    }
})

test("a machine is told of a new token, and the connection that waits for one comes back", async () => {
    const s = scene()
    const machine = machineOf(s)
    await s.clock.settle()
    s.client.close({ unauthorized: {} })
    s.server.change("A")
    await s.clock.pass(60_000)
    assert.ok(machine.isUnauthorized)
    machine.tokenChanged()
    assert.deepEqual(Object.keys(s.client.state), ["connecting"])
    s.client.open()
    await s.clock.settle()
    assert.deepEqual(machine.freshness, { connected: {} })
    assert.deepEqual(known(machine), s.server.expected("incident"))
})

test("in the background there is no sign and no request, and the foreground goes on from the finger", async () => {
    const s = scene()
    const machine = machineOf(s)
    await s.clock.settle()
    s.client.close({ idle: {} })
    s.server.change("A")
    await s.clock.pass(60_000)
    assert.ok("idle" in machine.state && machine.sign === undefined)
    assert.deepEqual(s.client.requests, ["sync"])
    s.client.become({ connecting: { since: 0, attempt: 1 } })
    s.client.open()
    await s.clock.pass(1_000)
    assert.deepEqual(known(machine), s.server.expected("incident"))
    assert.deepEqual(machine.freshness, { connected: {} })
})

test("a refused token is renewed once, a failing reload is tried again, and what is not ours is removed", async () => {
    const s = scene()
    const machine = machineOf(s)
    await s.clock.settle()
    const refusals = [new RequestError(401), new RequestError(503, 2_000), new RequestError()]
    s.server.point = async name => { if (name === "reload" && refusals.length > 0) throw refusals.shift() }
    s.server.change("A")
    await s.clock.pass(60_000)
    assert.deepEqual(known(machine), s.server.expected("incident"))
    assert.equal(s.client.tokens, 1)
    s.server.point = async name => { if (name === "reload") throw new RequestError(403) }
    s.server.change("B")
    await s.clock.settle()
    assert.deepEqual([...machine.entries.keys()], ['["incident","A"]', '["incident","C"]'])
})

test("a store that fails keeps state and finger together, and one that is closed for good is done without", async () => {
    const s = scene()
    const store = new MemoryStore({ now: s.clock.now })
    const machine = machineOf(s, "incident", { store })
    await s.clock.settle()
    const then = await store.load("incident")
    store.beforeCommit = () => { throw new Error("no room") }
    s.server.change("A")
    await s.clock.settle()
    assert.deepEqual(await store.load("incident"), then)
    assert.deepEqual(known(machine), Object.fromEntries(then.entries))
    assert.ok("connecting" in machine.freshness)
    store.beforeCommit = () => {}
    await s.clock.pass(5_000)
    assert.deepEqual(known(machine), s.server.expected("incident"))
    assert.deepEqual(Object.fromEntries((await store.load("incident")).entries), s.server.expected("incident"))
})

test("a machine that is closed writes nothing and calls nobody, whatever was on its way", async () => {
    const s = scene()
    const store = new MemoryStore({ now: s.clock.now })
    let release
    s.server.point = name => name === "end of the snapshot" ? new Promise(resolve => { release = resolve }) : undefined
    const machine = machineOf(s, "incident", { store })
    await s.clock.settle()
    machine.watch(() => assert.fail("called"))
    machine.close()
    release()
    await s.clock.pass(60_000)
    assert.equal(await store.load("incident"), null)
})

test("on a client of the module it registers by /sync/v1, opens the stream from the finger, and applies what comes", async () => {
    const world = new World()
    const { client } = world.client()
    const things = new Map([["I1", 1]])
    const machine = createMachine(client, {
        area: "open", entities: ["incident"], snapshot: async () => [['["incident","I1"]', things.get("I1")]],
        reload: async ({ id }) => things.get(id),
    })
    await world.pass(2_000)
    assert.equal(world.question.url.pathname, "/sync/v1")
    world.question.answer(200, pageOf("F"))
    await settle()
    assert.deepEqual([...machine.entries], [['["incident","I1"]', 1]])
    assert.equal(world.socket.url.searchParams.get("since"), "F", "at once: it is the first that knows where to begin")
    world.socket.open()
    things.set("I2", 2)
    world.socket.say(eventOf("I2", "C1"))
    world.socket.say({ live: { at: "C1" } })
    await settle()
    assert.deepEqual([...machine.entries.values()], [1, 2])
    assert.deepEqual(machine.freshness, { connected: {} })
    // Offline and back: it goes on where it was, and asks for nothing but the stream.
    const questions = world.questions.length
    world.page.setOnline(false)
    await world.pass(10_000)
    assert.deepEqual(Object.keys(machine.sign), ["cannotConnect"])
    world.page.setOnline(true)
    await world.pass(1_000)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    world.socket.open()
    world.socket.say({ live: { at: "C1" } })
    await settle()
    assert.equal(machine.sign, undefined)
    assert.equal(world.questions.length, questions)
    client.close()
})

test("a machine joins the stream that was opened before its snapshot, where nothing has happened since its finger", async () => {
    for (const [cursor, sockets] of [["F", 1], ["another node's", 2]]) {
        const world = new World()
        const { client } = world.client()
        let release
        const machine = createMachine(client, {
            area: "open", entities: ["incident"], reload: async ({ id }) => id,
            snapshot: () => new Promise(resolve => { release = resolve }),
        })
        await world.pass(2_000)
        world.question.answer(200, pageOf("F"))
        world.socket.open()
        world.socket.say({ live: { at: cursor } })
        world.socket.say(eventOf("I1", "C1"))
        await settle()
        release([])
        await settle()
        assert.equal(world.sockets.length, sockets)
        if (sockets === 2) {
            world.socket.open()
            world.socket.say(eventOf("I1", "C1"))
            world.socket.say({ live: { at: "C1" } })
            await settle()
        }
        assert.deepEqual([[...machine.entries.values()], machine.freshness], [["I1"], { connected: {} }])
        client.close()
    }
})

test("with screens only what is shown is fetched, and what was passed over is not kept as if it were new", async () => {
    const s = scene()
    const { environment } = s.client
    const fetched = [], seen = []
    let screens
    const api = { reload: async thing => { fetched.push(thing.id); return { value: await s.server.reload(thing) } } }
    const machine = machineOf(s, "incident", {
        reload: undefined, screens: onReload => screens = new Screens({ api, environment, onReload }),
    })
    await s.clock.settle()
    screens.details("details", { entity: "incident", id: "A" }, state => seen.push(state.value?.version))
    await s.clock.settle()
    fetched.length = 0
    s.server.change("A")
    s.server.change("B")
    await s.clock.pass(1_000)
    assert.deepEqual(fetched, ["A"])
    assert.equal(seen.at(-1), 2)
    assert.deepEqual([...machine.entries.values()].map(({ id, version }) => [id, version]), [["A", 2], ["C", 1]])
    assert.deepEqual(machine.freshness, { connected: {} })
})

test("a machine that is closed while two wait for one finger takes it from nobody", async () => {
    const s = scene()
    let release
    s.server.point = name => name === "sync" ? new Promise(resolve => { release = resolve }) : undefined
    const [incidents, notes] = [machineOf(s), machineOf(s, "note")]
    await s.clock.settle()
    incidents.close()
    release()
    await s.clock.settle()
    assert.deepEqual(known(notes), s.server.expected("note"))
    assert.deepEqual(s.client.requests, ["sync"])
})
