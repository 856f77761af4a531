// environment.js, core/copy.js, requests.js, actions.js: platforms that lack what browsers have, such as React Native and workers.
import assert from "node:assert/strict"
import { test } from "node:test"
import { RefreshCounts } from "../../Sources/LiveClientJS/counting.js"
import {
    MemoryActionStore, MemoryStore, connect, createMachine, openActions, openStore,
} from "../../Sources/LiveClientJS/livegate.js"
import { allTabs } from "../../Sources/LiveClientJS/tabs.js"
import { steadyClock, systemEnvironment } from "../../Sources/LiveClientJS/shell/environment.js"
import { World, settle } from "./world.js"

/** Runs `work` without these globals, or with others in their place. */
async function instead(globals, work) {
    const names = Object.keys(globals)
    const before = names.map(name => Object.getOwnPropertyDescriptor(globalThis, name))
    for (const name of names) Object.defineProperty(globalThis, name, { value: globals[name], configurable: true, writable: true })
    try {
        return await work()
    } finally {
        names.forEach((name, index) => {
            if (before[index]) Object.defineProperty(globalThis, name, before[index])
            else delete globalThis[name]
        })
    }
}

test("the clock is one without performance.timeOrigin, and without performance", () => {
    let time = 1_000_000
    const wall = () => time
    for (const performance of [undefined, { now: () => time - 999_000 }, { timeOrigin: 999_000, now: () => time - 999_000 }]) {
        time = 1_000_000
        const clock = steadyClock(performance, wall)
        assert.equal(clock(), 1_000_000)
        time += 1_500
        assert.equal(clock(), 1_001_500)
    }
})

test("a clock that is set back an hour holds no action up", { timeout: 30_000 }, async () => {
    const { now } = Date
    let actions
    try {
        const sent = new Promise(resolve => {
            const send = async batch => {
                resolve(batch.map(({ value }) => value))
                return batch.map(({ key }) => ({ key, status: 200 }))
            }
            actions = openActions({ store: new MemoryActionStore({ show: () => {} }), send, settings: { coalescing: 10 } })
        })
        const opened = await actions
        Date.now = () => now() - 3_600_000
        await opened.set("read", "A", true)
        assert.deepEqual(await sent, [true])
        opened.close()
    } finally {
        Date.now = now
    }
})

test("without structuredClone values are copied all the same", async () => {
    await instead({ structuredClone: undefined }, async () => {
        const store = new MemoryStore(), value = { title: "one", tags: ["a"], at: null }
        await store.commit("area", { metadata: { finger: "F" }, put: [["A", value]] })
        value.tags.push("b")
        const { entries, metadata } = await store.load("area")
        assert.deepEqual([entries.get("A"), metadata], [{ title: "one", tags: ["a"], at: null }, { finger: "F" }])
        const actions = await openActions({ store: new MemoryActionStore({ show: () => {} }), send: async () => [] })
        await actions.set("read", "A", { by: ["me"] })
        actions.pending[0].value.by.push("you")
        assert.deepEqual(actions.pending[0].value, { by: ["me"] })
        actions.close()
        const counts = new RefreshCounts()
        counts.handle({ refreshed: { screen: "list", isManual: true } }, 0)
        assert.equal(counts.view.counts[0].manual, 1)
    })
})

test("an address needs no URL, in whatever form it is given", async () => {
    class NoURL { constructor() { throw new TypeError("there is no URL") } }
    for (const [url, expected] of [
        ["https://live.example.com", "https://live.example.com"], ["wss://live.example.com/live/v1", "https://live.example.com"],
        ["ws://live.example.com:8080/base/", "http://live.example.com:8080/base"],
        ["https://live.example.com/base/live/v1?x=1#y", "https://live.example.com/base"],
        [new URL("HTTPS://Live.Example.com/"), "https://live.example.com"],
    ]) {
        const world = new World(), environment = world.environment(), asked = []
        environment.fetch = url => { asked.push(url); return new Promise(() => {}) }
        await instead({ URL: NoURL }, async () => {
            class Socket { constructor(url) { asked.push(url) } }
            const client = connect({ url, token: "T", environment: { ...environment, WebSocket: Socket } })
            client.sync().catch(() => {})
            await settle()
            client.close()
        })
        assert.ok(asked.some(address => address.startsWith(`${expected}/sync/v1`)), `${asked}`)
        assert.ok(asked.some(address => address.startsWith(`${expected.replace("http", "ws")}/live/v1?`)), `${asked}`)
    }
    const world = new World()
    for (const url of ["ftp://x", "live.example.com", ""]) assert.throws(() => world.client({ url }), /url: .* is none of http, https, ws, wss/)
})

test("without BroadcastChannel, locks and IndexedDB a page has a connection, a machine and actions of its own", async () => {
    const gone = { BroadcastChannel: undefined, indexedDB: undefined, navigator: {}, localStorage: undefined, crypto: undefined }
    await instead(gone, async () => {
        const { locks, BroadcastChannel, storage, now, random } = systemEnvironment()
        assert.deepEqual([locks, BroadcastChannel, storage], [undefined, undefined, null])
        assert.ok(Number.isFinite(now()) && Number.isFinite(random()))
        const world = new World()
        const { client } = world.client({ share: allTabs, account: "A" })
        const refused = await openStore({ name: "app", account: "A", server: "https://live.example.com", schema: 1 }).catch(error => error)
        assert.deepEqual([refused.name, refused.kind], ["LivegateError", "unavailable"])
        const machine = createMachine(client, { area: "incidents", snapshot: async () => [['["incident","A"]', 1]], store: new MemoryStore() })
        await world.pass(1)
        world.socket.open()
        world.socket.say({ live: { at: "C" } })
        await settle()
        assert.deepEqual([client.isLeader, [...machine.entries.values()]], [true, [1]])
        const actions = await openActions({ client, store: new MemoryActionStore({ show: () => {}, sharedName: "a" }), send: async () => [] })
        await actions.set("read", "A", true)
        assert.equal(actions.pending.length, 1)
        actions.close()
        machine.close()
    })
})

test("a browser that says that there is no network is tried once a minute", async () => {
    const world = new World()
    world.page.navigator.onLine = false
    const { client } = world.client()
    await world.pass(59_999)
    assert.deepEqual([world.sockets.length, client.state.waiting.why], [0, "offline"])
    await world.pass(1)
    assert.equal(world.sockets.length, 1)
    world.socket.open()
    await settle()
    assert.deepEqual(client.state, { connected: {} })
})

test("a worker, which has no document, hears that there is a network again", async () => {
    const page = new EventTarget()
    page.navigator = { onLine: false }
    const world = new World()
    const { client } = world.client({}, { page })
    await world.pass(1_000)
    assert.equal(client.state.waiting.why, "offline")
    page.navigator.onLine = true
    page.dispatchEvent(new Event("online"))
    await world.pass(1)
    assert.equal(world.sockets.length, 1)
    // What a page would have is taken from a worker's own scope.
    await instead({ addEventListener: () => {} }, () => assert.equal(systemEnvironment().page, globalThis))
})
