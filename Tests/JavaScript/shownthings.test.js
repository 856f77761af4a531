// screens.js, screenlists.js, detailsscreens.js, machine.js, failures.js: what is said of what is on the screens.
import assert from "node:assert/strict"
import { test } from "node:test"
import { failureOf, outcomeOf } from "../../Sources/LiveClientJS/shell/failures.js"
import { RequestError, Screens, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"

const A = { entity: "incident", id: "A" }
const keyOf = value => ({ rank: 0, text: value.id })

/** Screens of a machine; the API's pages have summaries, its reloads all of a thing. `api.error` is thrown by both. */
function scene() {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    for (const id of ["A", "B"]) server.change(id, "created")
    client.open()
    const api = {
        error: null, held: [], fetched: [], isWhole: undefined,
        reload: async ({ id }) => {
            api.fetched.push(id)
            if (api.error) throw api.error
            await api.wait?.()
            return { value: { id, all: true, version: server.things.get(`incident ${id}`)?.version } }
        },
        page: async () => {
            if (api.error) throw api.error
            const items = ["A", "B"].map(id => ({ id, key: keyOf({ id }), value: { id } }))
            return { items, isLast: true, isWhole: api.isWhole }
        },
    }
    let screens
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"], snapshot: async () => [],
        screens: onReload => screens = new Screens({ api, environment: clock, onReload }),
    })
    const told = []
    const list = screens.list({ name: "all", entity: "incident", key: keyOf, listener: state => { told.list = state } })
    const details = () => screens.details("details", A, state => { told.push(state) })
    return { server, clock, client, api, machine, screens, list, details, told }
}
const place = { from: { beginning: {} }, direction: "forward", count: 9 }

test("details of what a list has a summary of are fetched, and say until then that it is one", async () => {
    for (const isWhole of [undefined, true]) {
        const s = scene()
        s.api.isWhole = isWhole
        s.list.show(place)
        await s.clock.settle()
        s.details()
        assert.deepEqual([s.told[0].value, s.told[0].knowledge, s.told[0].isWhole],
            isWhole ? [{ id: "A" }, "known", true] : [{ id: "A" }, "knownStale", false])
        await s.clock.settle()
        assert.deepEqual([s.api.fetched, s.told.at(-1).isWhole, s.told.at(-1).knowledge], [isWhole ? [] : ["A"], true, "known"])
        // A newer summary takes nothing away from the details.
        s.machine.refresh()
        await s.clock.settle()
        if (!isWhole) assert.equal(s.told.at(-1).value.all, true)
    }
})

test("an action's own answer is shown at once, and a fetch from before does not replace it; the next event does", async () => {
    const s = scene()
    s.list.show(place)
    s.details()
    await s.clock.settle()
    let release
    s.api.wait = () => new Promise(resolve => { release = resolve })
    s.server.change("A")
    await s.clock.settle()
    s.screens.put(A, { id: "A", status: "acknowledged" })
    const shown = () => [s.told.list.items[0].value.status, s.told.at(-1).value.status]
    assert.deepEqual(shown(), ["acknowledged", "acknowledged"])
    release()
    await s.clock.settle()
    assert.deepEqual(shown(), ["acknowledged", "acknowledged"])
    assert.equal(s.machine.get(A).status, "acknowledged")
    s.api.wait = undefined
    s.server.change("A")
    await s.clock.settle()
    assert.deepEqual(shown(), [undefined, undefined])
    s.screens.put({ entity: "incident", id: "C" }, { id: "C" }, { isWhole: false })
    assert.deepEqual(s.told.list.items.map(({ id }) => id), ["A", "B", "C"])
})

test("a machine's sign covers the lists and details on the screens, and a refresh waits for them", async () => {
    const s = scene()
    await s.clock.pass(1_000)
    assert.deepEqual(s.machine.freshness, { connected: {} })
    s.api.error = new RequestError(503)
    s.list.show(place)
    await s.clock.pass(1_000)
    assert.ok("connecting" in s.machine.sign)
    s.api.error = null
    assert.equal(await Promise.race([s.machine.refresh(), s.clock.pass(30_000)]), true)
    assert.deepEqual([s.told.list.items.length, s.machine.sign, s.machine.freshness], [2, undefined, { connected: {} }])
    s.api.error = new RequestError(422)
    s.details()
    await s.clock.pass(1_000)
    assert.ok("connecting" in s.machine.sign)
    assert.equal(await Promise.race([s.machine.refresh(), s.clock.pass(30_000)]), false)
})

test("only the API itself says that a thing is gone, or not ours", () => {
    const html = { "Content-Type": "text/html; charset=utf-8" }, json = { "Content-Type": "application/json" }
    for (const [status, headers, sign, outcome, failure] of [
        [404, json, undefined, "gone"], [403, {}, undefined, "notOurs"], [410, {}, undefined, "gone"],
        [404, html, undefined, undefined, { retry: {} }], [403, html, undefined, undefined, { retry: {} }],
        [200, html, undefined, undefined, { retry: {} }], [401, html, undefined, undefined, { retry: {} }],
        [503, { ...html, "Retry-After": "7" }, undefined, undefined, { retry: { after: 7_000 } }],
        [404, { "X-API": "2" }, { header: "X-API" }, "gone"], [404, {}, { header: "X-API" }, undefined, { retry: {} }],
        [404, json, { type: "application/json" }, "gone"],
        [404, { "Content-Type": "text/plain" }, { type: "application/json" }, undefined, { retry: {} }],
        [422, {}, undefined, undefined, { rejected: { status: 422 } }], [401, {}, undefined, undefined, { unauthorized: {} }],
    ]) {
        let error
        try { RequestError.check(new Response("", { status, headers }), sign) } catch (thrown) { error = thrown }
        assert.equal(outcomeOf(error), outcome, `${status} ${JSON.stringify(headers)}`)
        if (failure) assert.deepEqual(failureOf(error), failure)
    }
    const answer = new Response("{}", { headers: json })
    assert.equal(RequestError.check(answer), answer)
})

test("screens that show something before their machine takes over tell it so", async () => {
    for (const show of [(screens, list) => list.show(place), screens => screens.details("details", A, () => {})]) {
        const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
        server.change("A", "created")
        client.open()
        const api = {
            reload: ({ id }) => new Promise(resolve => { api.answer = () => resolve({ value: { id } }) }),
            page: () => new Promise(resolve => {
                api.answer = () => resolve({ items: [{ id: "A", key: keyOf(A), value: { id: "A" } }], isLast: true })
            }),
        }
        const machine = createMachine(client, {
            area: "incident", entities: ["incident"], snapshot: async () => [],
            screens: onReload => {
                const screens = new Screens({ api, environment: clock, onReload })
                show(screens, screens.list({ name: "all", entity: "incident", key: keyOf }))
                return screens
            },
        })
        // Longer than its patience.
        await clock.pass(6_000)
        assert.ok("connecting" in machine.freshness && "connecting" in machine.sign)
        api.answer()
        await clock.pass(1_000)
        assert.deepEqual([machine.freshness, machine.sign], [{ connected: {} }, undefined])
    }
})
