// indexeddb.js, stored.js, machine.js, updatecore.js: stores that cannot be read, that are deleted, and those of two accounts.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { IndexedDBActionStore, MemoryStore, createMachine, discardStore, openStore } from "../../Sources/LiveClientJS/livegate.js"
import { FakeIndexedDB } from "./fakeindexeddb.js"
import { Clock, ScriptedClient, Server } from "./server.js"

const identity = { name: "incidents", account: "PACC1", server: "https://live.example" }
const nameOf = ({ name, server, account }) => `${name} ${JSON.stringify([server, account])}`

function inBrowser(work) {
    return async () => {
        const browser = globalThis.indexedDB = new FakeIndexedDB()
        try { await work(browser) } finally { delete globalThis.indexedDB }
    }
}

const action = { kind: "read", id: "1", value: true, key: "K", at: 1 }
async function keep(browser) { [...browser.all.values()][0].tables.get("livegate.actions").set("1", action) }

test("stores of two accounts, and of two servers, are two, and so are the locks and channels of their actions", inBrowser(async browser => {
    const names = []
    for (const changes of [{}, { account: "PACC2" }, { server: "https://other.example" }]) {
        const store = await openStore({ ...identity, ...changes })
        const { sharedName } = new IndexedDBActionStore({ store, show: () => {} })
        assert.deepEqual([store.name, sharedName], Array(2).fill(nameOf({ ...identity, ...changes })))
        names.push(sharedName)
    }
    assert.deepEqual([new Set(names).size, [...browser.all.keys()]], [3, names])
    assert.equal((await openStore({ ...identity, database: "incidents" })).name, "incidents")
}))

test("a database that cannot be read, twice, is set aside and told, and the next visit uses the one in its place", inBrowser(async browser => {
    const name = nameOf(identity)
    await (await openStore(identity)).close()
    browser.faults.set(name, ["UnknownError"])
    const same = await openStore(identity)
    assert.deepEqual([same.setAside, browser.all.size], [null, 1])
    same.close()
    browser.faults.set(name, ["UnknownError", "UnknownError"])
    const other = await openStore(identity)
    assert.deepEqual([other.setAside, other.name], [name, name])
    other.close()
    assert.deepEqual([...browser.all.keys()], [name, `${name} 2`])
    browser.opened = []
    assert.equal((await openStore(identity)).setAside, null)
    assert.deepEqual(browser.opened, [`${name} 2`])
    browser.faults.set(`${name} 2`, ["AbortError"])
    await assert.rejects(openStore(identity), { kind: "unavailable" })
}))

test("a database that another tab has deleted is not made again", inBrowser(async browser => {
    const store = await openStore(identity), evicted = await openStore(identity)
    // The browser has closed this one without a word: it hears of no deletion.
    const [, connection] = [...browser.all.values()][0].connections
    connection.close()
    connection.onclose()
    browser.opened = []
    await discardStore(identity)
    for (const each of [store, evicted]) {
        await assert.rejects(each.load("incidents"), { name: "LivegateError", kind: "deleted" })
        await assert.rejects(each.commit("incidents", { metadata: {} }), { kind: "deleted" })
    }
    assert.deepEqual([browser.all.size, new Set(browser.opened).size], [0, 1])
}))

test("a store that another tab keeps open is not waited for for ever", inBrowser(async browser => {
    await openStore(identity)
    for (const connection of [...browser.all.values()][0].connections) connection.onversionchange = () => {}
    mock.timers.enable({ apis: ["setTimeout"] })
    try {
        const late = assert.rejects(discardStore(identity), { name: "LivegateError", kind: "late" })
        await setImmediate()
        mock.timers.tick(10_000)
        await late
    } finally {
        mock.timers.reset()
    }
}))

test("who signs out is told what stays, and may have all of it deleted, in each tab", inBrowser(async browser => {
    const store = await openStore(identity)
    await keep(browser)
    assert.deepEqual(await store.signOut(), { isKept: true, pending: [action] })
    assert.equal(browser.all.size, 1)
    const again = await openStore(identity), other = await openStore(identity)
    assert.deepEqual(await again.signOut({ keep: false }), { isKept: false, pending: [action] })
    assert.equal(browser.all.size, 0)
    await assert.rejects(other.load("incidents"), { kind: "deleted" })
}))

function scene(store) {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    server.change("A", "created")
    client.open()
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"], snapshot: () => server.snapshot("incident"),
        reload: thing => server.reload(thing), store,
    })
    return { server, clock, machine }
}

test("a machine whose store cannot be read begins in memory, says so, and writes what it knows once it can", async () => {
    const memory = new MemoryStore()
    let loads = 0
    const { server, clock, machine } = scene({
        load: async () => { loads += 1; throw new DOMException("a value cannot be read", "UnknownError") },
        commit: (...of) => memory.commit(...of),
    })
    const told = []
    machine.watch(() => { if (machine.storeError) told.push(machine.isLoaded) })
    await clock.pass(30_000)
    assert.deepEqual([loads, told[0], machine.isLoaded, machine.freshness], [3, false, true, { connected: {} }])
    // The snapshot has taken the place of what could not be read.
    assert.deepEqual([machine.storeError, machine.isInMemory, (await memory.load("incident")).entries.size], [null, false, 1])
    server.change("B", "created")
    await clock.pass(1_000)
    assert.equal((await memory.load("incident")).entries.size, 2)
})

test("a machine whose store takes no commit goes on in memory and says so, and a snapshot tries it again", async () => {
    const memory = new MemoryStore()
    let commits = 0, isBroken = true
    const { server, clock, machine } = scene({
        load: area => memory.load(area),
        commit: async (...of) => {
            commits += 1
            if (isBroken) throw new DOMException("a write has failed", "UnknownError")
            return memory.commit(...of)
        },
    })
    await clock.pass(30_000)
    assert.deepEqual([commits, machine.isInMemory, machine.storeError.message], [3, true, "a write has failed"])
    assert.deepEqual([machine.freshness, machine.entries.size], [{ connected: {} }, 1])
    server.change("B", "created")
    await clock.pass(1_000)
    assert.deepEqual([commits, machine.entries.size, machine.freshness], [3, 2, { connected: {} }])
    isBroken = false
    machine.refresh()
    await clock.pass(1_000)
    assert.deepEqual([machine.isInMemory, machine.storeError, (await memory.load("incident")).entries.size], [false, null, 2])
})
