// machinerequests.js, pendingrequests.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, RequestError, createMachine, keyOf } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"

/** A server with some incidents, and a machine that is live. */
async function begun(options = {}, ids = ["A", "B"]) {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    for (const id of ids) server.change(id, "created")
    client.open()
    const machine = createMachine(client, {
        area: "incidents", entities: ["incident"], snapshot: () => server.snapshot("incident"),
        reload: thing => server.reload(thing), ...options,
    })
    await clock.settle()
    return { server, clock, client, machine }
}

const known = machine => Object.fromEntries(machine.entries)

test("at most four things are reloaded at once, and all of them in the end", async () => {
    let running = 0, most = 0
    const s = await begun({
        reload: async thing => {
            running += 1
            most = Math.max(most, running)
            try { return await s.server.reload(thing) } finally { running -= 1 }
        },
    })
    for (let number = 0; number < 30; number += 1) s.server.change(`N${number}`, "created")
    await s.clock.settle()
    await s.clock.pass(1_000)
    assert.equal(most, 4)
    assert.equal(s.machine.entries.size, 32)
    assert.deepEqual(s.machine.freshness, { connected: {} })
})

test("reloads that wait for their turn are not begun for a state that was given up", async () => {
    const asked = []
    const s = await begun({ reload: ({ id }) => { asked.push(id); return new Promise(() => {}) } })
    for (let number = 0; number < 9; number += 1) s.server.change(`N${number}`, "created")
    await s.clock.pass(11_000)
    s.machine.refresh()
    await s.clock.settle()
    assert.equal(asked.length, 4)
    assert.deepEqual(known(s.machine), s.server.expected("incident"))
})

test("a reload that is never answered has failed after a minute, and is asked again", async () => {
    let isDead = true
    const s = await begun({ reload: thing => isDead ? new Promise(() => {}) : s.server.reload(thing) })
    s.server.change("A")
    await s.clock.settle()
    isDead = false
    await s.clock.pass(59_000)
    assert.notDeepEqual(known(s.machine), s.server.expected("incident"))
    await s.clock.pass(3_000)
    assert.deepEqual(known(s.machine), s.server.expected("incident"))
    assert.deepEqual(s.machine.freshness, { connected: {} })
})

test("what the network before has not answered is asked at once when there is one again", async () => {
    for (const [age, isGivenUp] of [[1_999, false], [2_000, true]]) {
        const signals = []
        let isDead = true
        const s = await begun({
            reload: (thing, { signal }) => {
                signals.push(signal)
                return isDead ? new Promise(() => {}) : s.server.reload(thing)
            },
        })
        s.server.change("A")
        await s.clock.settle()
        s.client.close({ waiting: { why: "offline" } })
        await s.clock.pass(age)
        isDead = false
        s.client.open()
        await s.clock.settle()
        assert.deepEqual([signals.length, signals[0].aborted], isGivenUp ? [2, true] : [1, false], `${age} ms`)
        if (isGivenUp) assert.deepEqual(known(s.machine), s.server.expected("incident"))
    }
})

/** A machine whose reload was refused with a 401, and that has asked for a token, which `token` gives. */
async function refused(token) {
    const s = await begun()
    const refusals = [new RequestError(401)]
    s.client.token = token
    s.server.point = async name => { if (name === "reload" && refusals.length > 0) throw refusals.shift() }
    s.server.change("A")
    await s.clock.settle()
    return s
}

test("a token that cannot be got is asked for again, longer and longer, and nobody is signed out", async () => {
    const asked = []
    let isAway = true
    const s = await refused(async () => {
        asked.push("asked")
        if (isAway) throw new TypeError("Failed to fetch")
        return "token"
    })
    await s.clock.pass(120_000)
    assert.equal(s.machine.isUnauthorized, false)
    assert.ok(asked.length >= 7 && asked.length < 60, `${asked.length}`)
    isAway = false
    await s.clock.pass(20_000)
    assert.deepEqual(known(s.machine), s.server.expected("incident"))
    assert.deepEqual(s.machine.freshness, { connected: {} })
})

test("without a network, and with nobody who looks, no token is asked for; when they are back, at once", async () => {
    for (const state of [{ idle: {} }, { waiting: { why: "offline" } }]) {
        let asked = 0
        const s = await refused(async () => {
            asked += 1
            if (asked === 1) throw new TypeError("Failed to fetch")
            return "token"
        })
        s.client.close(state)
        await s.clock.pass(120_000)
        assert.equal(asked, 1)
        s.client.open()
        await s.clock.settle()
        assert.equal(asked, 2)
        assert.deepEqual(known(s.machine), s.server.expected("incident"))
    }
})

test("who says that nobody is signed in is believed, and `tokenChanged` goes on", async () => {
    for (const error of [{ isUnauthorized: true }, { kind: "unauthorized" }]) {
        let asked = 0
        const s = await refused(async () => {
            asked += 1
            throw Object.assign(new Error("signed out"), error)
        })
        await s.clock.pass(60_000)
        assert.deepEqual([asked, s.machine.isUnauthorized], [1, true])
        assert.ok("cannotConnect" in s.machine.freshness)
        s.machine.tokenChanged()
        await s.clock.settle()
        assert.deepEqual(known(s.machine), s.server.expected("incident"))
        assert.deepEqual([s.machine.isUnauthorized, s.machine.freshness], [false, { connected: {} }])
    }
})

test("one broken thing freezes nothing: what was reloaded is shown, the finger moves on, and the thing is asked for again", async () => {
    for (const error of [new RequestError(500), new RequestError(422), new SyntaxError("Unexpected token <")]) {
        const broken = new Set(["A"]), store = new MemoryStore()
        let asked = 0
        const options = {
            store,
            reload: thing => {
                if (!broken.has(thing.id)) return s.server.reload(thing)
                asked += 1
                throw error
            },
        }
        const s = await begun(options)
        s.server.change("A")
        s.server.change("B")
        await s.clock.settle()
        const expected = s.server.expected("incident")
        assert.deepEqual(known(s.machine)[keyOf({ entity: "incident", id: "B" })], expected[keyOf({ entity: "incident", id: "B" })])
        await s.clock.pass(20_000)
        s.server.change("C", "created")
        await s.clock.pass(10)
        assert.deepEqual(s.machine.knownStale.map(({ thing }) => thing.id), ["A"])
        assert.deepEqual(s.machine.freshness, { connected: {} })
        // What it was is still there, and the finger is behind all events.
        assert.deepEqual([...s.machine.entries.keys()].sort(), [...Object.keys(s.server.expected("incident"))].sort())
        assert.equal((await store.load("incidents")).metadata.finger, `c${s.server.events.length}`)
        const before = asked
        s.machine.check({ entity: "incident", id: "A" })
        await s.clock.settle()
        assert.equal(asked, before + 1)
        await s.clock.pass(3_600_000)
        assert.ok(asked >= before + 4 && asked <= before + 20, `${asked - before} requests in an hour`)
        s.machine.close()
        // The next start asks at once, and has it.
        broken.clear()
        const client = new ScriptedClient(s.server, s.clock)
        client.open()
        const next = createMachine(client, {
            area: "incidents", entities: ["incident"], snapshot: () => assert.fail("a snapshot"), reload: options.reload, store,
        })
        await s.clock.settle()
        assert.deepEqual([known(next), next.knownStale], [s.server.expected("incident"), []])
    }
})
