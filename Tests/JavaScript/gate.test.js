// core/gate.js, shell/gate.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryActionStore, RequestError, Screens, createMachine, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { ApiGate } from "../../Sources/LiveClientJS/core/gate.js"
import { gateOf } from "../../Sources/LiveClientJS/shell/gate.js"
import { runScenarios } from "./scenarios.js"
import { Clock, ScriptedClient, Server } from "./server.js"

runScenarios("gate", ApiGate)

/** A server with some incidents, and an API that counts what is asked and fails with `status` while there is one. */
async function begun({ count = 3, withScreens = false } = {}) {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    for (let number = 0; number < count; number += 1) server.change(`A${number}`, "created")
    client.open()
    const world = { server, clock, client, asked: 0, status: null, retryAfter: undefined }
    const ask = async answer => {
        world.asked += 1
        if (world.status !== null) throw new RequestError(world.status, world.retryAfter)
        return answer()
    }
    world.ask = ask
    const api = {
        reload: thing => ask(async () => ({ value: await server.reload(thing) })),
        page: () => ask(async () => ({ items: [], isLast: true })),
    }
    const options = {
        area: "incidents", entities: ["incident"], snapshot: () => ask(() => server.snapshot("incident")),
        reload: thing => ask(() => server.reload(thing)),
    }
    if (withScreens) {
        options.screens = onReload => {
            world.screens = new Screens({ api, environment: client.environment, onReload })
            return world.screens
        }
    }
    world.machine = createMachine(client, options)
    await clock.settle()
    world.asked = 0
    return world
}

for (const status of [503, 500, 429, 408, undefined]) {
    test(`500 changed things against an API that answers ${status ?? "nothing"} make at most 30 requests in a minute`, async () => {
        const world = await begun()
        world.status = status
        for (let number = 0; number < 500; number += 1) world.server.change(`N${number}`, "created")
        await world.clock.settle()
        await world.clock.pass(60_000)
        assert.ok(world.asked >= 5 && world.asked <= 30, `${world.asked} requests`)
        // Nothing is lost, and what has waited is not asked for all at once.
        world.status = null
        await world.clock.pass(120_000)
        assert.deepEqual(Object.fromEntries(world.machine.entries), world.server.expected("incident"))
    })
}

test("machines, screens, lists and actions of a client pass one gate, and Retry-After counts for all", async () => {
    const world = await begun({ withScreens: true })
    world.screens.details("details", { entity: "incident", id: "A1" }, () => {})
    await world.clock.settle()
    const other = createMachine(world.client, {
        area: "others", entities: ["incident"], snapshot: () => world.ask(() => world.server.snapshot("incident")),
        reload: thing => world.ask(() => world.server.reload(thing)),
    })
    await world.clock.settle()
    const actions = await openActions({
        store: new MemoryActionStore({ show() {} }), gate: gateOf(world.client), environment: world.client.environment,
        send: async batch => world.ask(() => batch.map(({ key }) => ({ key, status: 200 }))), renewToken: async () => {},
    })
    world.asked = 0
    Object.assign(world, { status: 503, retryAfter: 300_000 })
    world.server.change("A1", "updated")
    await world.clock.settle()
    const first = world.asked
    assert.ok(first >= 1 && first <= 2, `${first} requests`)
    await actions.set("read", "A1", "yes", "no")
    world.screens.list({ name: "open", entity: "incident", key: () => null }).show({
        from: { beginning: {} }, direction: "forward", count: 5,
    })
    world.server.change("A2", "updated")
    await world.clock.pass(299_000)
    assert.equal(world.asked, first)
    world.status = null
    await world.clock.pass(200_000)
    assert.ok(world.asked > first)
    assert.deepEqual([actions.pending.length, Object.fromEntries(other.entries)], [0, world.server.expected("incident")])
    actions.close()
})

test("a person who refreshes has one request made at once, whatever the API has asked for", async () => {
    const world = await begun()
    Object.assign(world, { status: 503, retryAfter: 300_000 })
    world.server.change("A1", "updated")
    await world.clock.pass(5_000)
    const before = world.asked
    world.status = null
    world.machine.refresh()
    await world.clock.pass(1_000)
    assert.ok(world.asked > before)
    assert.deepEqual(world.machine.freshness, { connected: {} })
})

test("a thousand clients make few requests a second to an API that is down for a minute", t => {
    const seconds = new Array(60).fill(0)
    for (let client = 0; client < 1_000; client += 1) {
        const gate = new ApiGate({ seed: client * 7_919 })
        // Each has much to ask: as soon as one may run, it fails a moment later.
        let now = 0, number = 0
        const given = input => {
            for (const { begin } of gate.handle(input, now)) if (begin) begun.push(begin.number)
        }
        const begun = []
        for (; number < 4; number += 1) given({ ask: { number } })
        while (now < 60_000) {
            for (const failing of begun.splice(0)) {
                seconds[Math.floor(now / 1_000)] += 1
                given({ failed: { number: failing } })
                given({ ask: { number: number += 1 } })
            }
            now = Math.max(now + 1, gate.wakeAt ?? now)
            if (now < 60_000) given({ wake: {} })
        }
    }
    const most = from => Math.max(...seconds.slice(from))
    t.diagnostic(`requests a second: ${seconds[0]} in the first, at most ${most(10)} behind ten seconds, ${most(30)} behind thirty`)
    assert.ok(seconds[0] <= 6_000 && most(10) <= 300 && most(30) <= 100, seconds.join(" "))
})
