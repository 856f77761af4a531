// pending.js, found.js, following.js, machine.js: the times of events, up to what is shown of them.
import assert from "node:assert/strict"
import { test } from "node:test"
import { RefreshCounts } from "../../Sources/LiveClientJS/counting.js"
import { RequestError, Screens, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, pageOf, settle } from "./world.js"

/** A machine that is live, whose `shown` is written down with what was in it then. */
async function begun(more = () => ({})) {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock), times = []
    for (const id of ["A", "B"]) server.change(id, "created")
    client.open()
    const machine = createMachine(client, {
        area: "incidents", entities: ["incident"], snapshot: () => server.snapshot("incident"),
        reload: thing => server.reload(thing),
        shown: given => { for (const { thing, ts } of given) times.push([thing.id, ts, machine.get(thing)?.version]) },
        ...more({ server, clock }),
    })
    await clock.settle()
    return {
        server, clock, client, machine, times,
        change: (id, type, ts) => {
            server.ts = ts
            server.change(id, type)
        },
    }
}

test("what is shown comes with the time of its event, and a snapshot without any", async () => {
    const s = await begun()
    s.change("A", "updated", 5)
    await s.clock.settle()
    s.change("B", "deleted", 7)
    await s.clock.settle()
    s.change("A", "updated", undefined)
    await s.clock.settle()
    assert.deepEqual(s.times, [["A", 5, 2], ["B", 7, undefined]])
})

test("events that one fetch answers are told once, with the time of the oldest, also those that were missed", async () => {
    const s = await begun()
    s.client.close({ waiting: { until: s.clock.now() + 1_000, why: "retry" } })
    for (const ts of [30, 10, 20]) s.change("A", "updated", ts)
    await s.clock.pass(1_000)
    s.client.open()
    await s.clock.pass(2_000)
    // The first has a fetch of its own; the others came while it was under way.
    assert.deepEqual(s.times, [["A", 30, 4], ["A", 10, 4]])
})

test("what came by a page of the background has its times too", async () => {
    const s = await begun(() => ({ pollInterval: 10_000 }))
    s.client.close({ idle: {} })
    s.change("A", "updated", 9)
    await s.clock.pass(11_000)
    assert.deepEqual(s.times, [["A", 9, 2]])
})

test("a commit that fails tells nothing; the one that stores it does, once", async () => {
    let refusals = 0
    const store = {
        load: async () => null, close: () => {},
        commit: async () => { if (refusals-- > 0) throw new Error("full"); return "changes" },
    }
    const s = await begun(() => ({ store }))
    refusals = 1
    s.change("A", "updated", 5)
    await s.clock.settle()
    assert.deepEqual(s.times, [])
    await s.clock.pass(20_000)
    assert.deepEqual(s.times, [["A", 5, 2]])
})

test("what does not belong to the area is shown when it leaves it, and not when it never was there", async () => {
    const hidden = new Set()
    const s = await begun(({ server }) => ({ reload: thing => hidden.has(thing.id) ? undefined : server.reload(thing) }))
    for (const id of ["A", "C"]) {
        hidden.add(id)
        s.change(id, "updated", 5)
        await s.clock.settle()
    }
    assert.deepEqual(s.times, [["A", 5, undefined]])
})

test("what no screen needed is not shown, whether it is old now or as before", async () => {
    let screens
    const s = await begun(({ server, clock }) => ({
        reload: undefined,
        screens: onReload => screens = new Screens({
            api: { reload: async thing => ({ value: await server.reload(thing) }) }, environment: clock, onReload,
            rules: [{ type: "seen", screen: "details", action: "ignore" }],
        }),
    }))
    screens.details("details", { entity: "incident", id: "A" }, () => {})
    await s.clock.settle()
    s.change("A", "seen", 4)
    await s.clock.settle()
    s.change("B", "updated", 5)
    await s.clock.settle()
    assert.deepEqual(s.times, [])
    s.change("A", "updated", 6)
    await s.clock.settle()
    assert.deepEqual(s.times.map(([id, ts]) => [id, ts]), [["A", 6]])
})

test("an app counts what events bring by the clock of its client", async () => {
    const counts = new RefreshCounts()
    const s = await begun(({ clock }) => ({
        shown: times => {
            for (const { ts } of times) counts.handle({ shown: { screen: "incidents", ts } }, clock.now())
        },
    }))
    s.change("A", "updated", s.clock.now() - 300)
    await s.clock.settle()
    assert.deepEqual(counts.view.counts.map(({ screen, latency }) => [screen, latency.indexOf(1)]), [["incidents", 2]])
})

test("what `shown` throws stops nothing, and nothing is told after the end", async () => {
    const { queueMicrotask } = globalThis, errors = []
    globalThis.queueMicrotask = task => queueMicrotask(() => { try { task() } catch (error) { errors.push(error.message) } })
    try {
        const s = await begun(() => ({ shown: () => { throw new RequestError(418) } }))
        s.change("A", "updated", 5)
        await s.clock.settle()
        assert.deepEqual(errors, ["status 418"])
        assert.deepEqual(Object.fromEntries(s.machine.entries), s.server.expected("incident"))
        s.machine.watch(() => s.machine.close())
        s.change("A", "updated", 6)
        await s.clock.settle()
        assert.deepEqual(errors, ["status 418"])
    } finally {
        globalThis.queueMicrotask = queueMicrotask
    }
})

test("the time stands in the gateway's messages and pages, and arrives", async () => {
    const world = new World(), times = []
    const { client } = world.client()
    const machine = createMachine(client, {
        area: "incidents", snapshot: async () => [], reload: async ({ id }) => id,
        shown: given => { times.push(...given.map(({ thing, ts }) => [thing.id, ts])) },
    })
    await world.pass(2_000)
    world.question.answer(200, pageOf("C0"))
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say({ ent: "incident", id: "A", type: "created", at: "C1", ts: 77 })
    await settle()
    assert.deepEqual(times, [["A", 77]])
    machine.close()
    client.close()
})
