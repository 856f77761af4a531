// environment.js, indexeddb.js, machine.js, storedlists.js, actions.js: a store that does not answer.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { IndexedDBStore } from "../../Sources/LiveClientJS/shell/indexeddb.js"
import { LiveActions, MemoryActionStore, MemoryStore, createMachine, openStore } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"

/** The function of a store, which does not answer while `times` is not used up; then as `work` does. */
function late(times, work) {
    const store = async (...of) => {
        store.calls += 1
        return store.calls > times ? work(...of) : new Promise(() => {})
    }
    return Object.assign(store, { calls: 0 })
}

function scene(load, commit) {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    server.change("A", "created")
    client.open()
    const memory = new MemoryStore({ now: clock.now })
    const store = { load: load(memory), commit: commit(memory) }
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"], snapshot: () => server.snapshot("incident"),
        reload: thing => server.reload(thing), store,
    })
    return { server, clock, client, memory, machine, store }
}
const loads = times => memory => late(times, area => memory.load(area))
const commits = times => memory => late(times, (...of) => memory.commit(...of))

test("a machine whose store does not answer says so after 10 s, knows nothing, and asks again", async () => {
    const { clock, machine, memory } = scene(loads(2), commits(0))
    let told = 0
    machine.watch(() => { told += 1 })
    await clock.pass(9_999)
    assert.deepEqual([machine.storeError, machine.isLoaded], [null, false])
    const before = told
    await clock.pass(1)
    assert.deepEqual([machine.storeError.name, machine.storeError.kind, machine.isLoaded], ["LivegateError", "late", false])
    assert.ok(told > before)
    await clock.pass(13_000)
    assert.deepEqual([machine.storeError, machine.isLoaded, machine.entries.size], [null, true, 1])
    assert.equal((await memory.load("incident")).entries.size, 1)
})

test("a machine that is closed asks a store no more that was late", async () => {
    const { clock, machine, store } = scene(loads(100), commits(0))
    await clock.pass(10_000)
    machine.close()
    await clock.pass(60_000)
    assert.equal(store.load.calls, 1)
})

test("a commit that does not end within 10 s is tried again, and the finger stays where it was", async () => {
    const { clock, machine, memory, store } = scene(loads(0), commits(1))
    await clock.pass(9_999)
    assert.equal(store.commit.calls, 1)
    assert.deepEqual([Object.keys(machine.state), await memory.load("incident")], [["registering"], null])
    await clock.pass(1)
    assert.equal(machine.storeError.kind, "late")
    await clock.pass(5_000)
    assert.deepEqual([Object.keys(machine.state), machine.storeError], [["live"], null])
    assert.equal((await memory.load("incident")).entries.size, 1)
})

test("actions whose store does not answer say so, and are kept when it does", async () => {
    const clock = new Clock(), memory = new MemoryActionStore({ show: () => {} })
    const store = { load: late(1, () => memory.load()), commit: late(1, changes => memory.commit(changes)) }
    const actions = new LiveActions({ store, environment: clock, renewToken: async () => {}, send: async () => [] })
    const expected = { name: "LivegateError", kind: "late" }
    for (const work of [() => actions.start(), () => actions.set("read", "1", true, false)]) {
        const failed = assert.rejects(work(), expected)
        await clock.pass(10_000)
        await failed
    }
    await actions.set("read", "1", true, false)
    assert.equal((await memory.load()).length, 1)
    actions.close()
})

for (const name of ["commit", "load"]) {
    test(`actions that wait for a ${name} which hangs are told together, and not one after the other`, async () => {
        const clock = new Clock(), memory = new MemoryActionStore({ show: () => {} }), told = []
        let isHanging = false, loads = 0
        const store = {
            load: () => {
                loads += 1
                return isHanging ? new Promise(() => {}) : memory.load()
            },
            commit: changes => isHanging ? new Promise(() => {}) : memory.commit(changes),
        }
        const actions = new LiveActions({ store, environment: clock, renewToken: async () => {}, send: async () => [] })
        // Without a start the first action has the store read.
        if (name === "commit") await actions.start()
        const set = id => actions.set("read", id, true, false)
            .then(() => told.push(id), error => told.push(`${id} ${error.kind}`))
        isHanging = true
        for (const id of ["1", "2", "3"]) set(id)
        await clock.pass(9_999)
        assert.deepEqual(told, [])
        set("4")
        await clock.pass(1)
        assert.deepEqual(told, ["1 late", "2 late", "3 late"])
        // What came later has a try of its own.
        set("5")
        await clock.pass(10_000)
        assert.deepEqual(told.slice(3), ["4 late"])
        await clock.pass(10_000)
        assert.deepEqual(told.slice(3), ["4 late", "5 late"])
        // It is asked again by itself.
        const before = loads
        isHanging = false
        await clock.pass(20_000)
        assert.ok(loads > before)
        await set("6")
        assert.equal(told.at(-1), "6")
        assert.deepEqual((await memory.load()).map(({ id }) => id), ["6"])
        actions.close()
    })
}

test("a store that is slow but answers is waited for by all", async () => {
    const clock = new Clock(), memory = new MemoryActionStore({ show: () => {} })
    const slowly = work => new Promise((resolve, reject) => {
        clock.setTimer(() => work().then(resolve, reject), 4_000)
    })
    const store = { load: () => memory.load(), commit: changes => slowly(() => memory.commit(changes)) }
    const actions = new LiveActions({ store, environment: clock, renewToken: async () => {}, send: async () => [] })
    const sets = ["1", "2", "3", "4", "5"].map(id => actions.set("read", id, true, false))
    await clock.pass(20_000)
    await Promise.all(sets)
    actions.close()
})

test("IndexedDB that does not open is late, one that is blocked says so, and what comes after that is closed", async () => {
    const requests = [], identity = { account: "PACC1", server: "https://live.example" }
    globalThis.indexedDB = { open: () => requests[requests.push({}) - 1] }
    mock.timers.enable({ apis: ["setTimeout"] })
    try {
        const hanging = assert.rejects(openStore(identity), { name: "LivegateError", kind: "late" })
        mock.timers.tick(10_000)
        await hanging
        const blocked = assert.rejects(openStore(identity), { kind: "blocked", message: /another tab holds it open/ })
        requests[1].onblocked()
        await blocked
    } finally {
        mock.timers.reset()
        delete globalThis.indexedDB
    }
    for (const request of requests) {
        let closed = 0
        request.result = { close: () => { closed += 1 } }
        request.onsuccess()
        await setImmediate()
        assert.equal(closed, 1)
    }
})

/** An IndexedDB whose databases are open at once, and answer reads of their identity as the test says. */
function openingAtOnce(answer) {
    const databases = []
    const open = (name, schema) => {
        const database = {
            name, isClosed: false, objectStoreNames: { contains: () => true }, close: () => { database.isClosed = true },
            transaction: () => ({ objectStore: () => ({ get: () => answer(schema, databases.length) }) }),
        }
        databases.push(database)
        const request = { result: database }
        queueMicrotask(() => request.onsuccess())
        return request
    }
    return { open, databases }
}

/** A request that is answered, with `onsuccess` or `onerror`. */
function requestThat(ends, members) {
    const request = { ...members }
    queueMicrotask(() => request[ends]())
    return request
}

test("a database that opens and does not say whose it is, is late and closed, also when it is opened again", async () => {
    const wanted = { account: "PACC1", server: "https://live.example" }
    const identity = { format: 1, schema: 1, ...wanted }
    mock.timers.enable({ apis: ["setTimeout"] })
    try {
        const first = globalThis.indexedDB = openingAtOnce(() => ({}))
        const hanging = assert.rejects(openStore(wanted), { name: "LivegateError", kind: "late" })
        await setImmediate()
        mock.timers.tick(10_000)
        await hanging
        assert.deepEqual(first.databases.map(({ isClosed }) => isClosed), [true])
        // The browser closes it later, and the next reading opens it again.
        const second = globalThis.indexedDB = openingAtOnce((_, count) => (
            count === 1 ? requestThat("onsuccess", { result: identity }) : {}))
        const store = await openStore(wanted)
        second.databases[0].onclose()
        const again = assert.rejects(store.load("incident"), { kind: "late" })
        await setImmediate()
        mock.timers.tick(10_000)
        await again
        assert.deepEqual(second.databases.map(({ isClosed }) => isClosed), [false, true])
    } finally {
        mock.timers.reset()
        delete globalThis.indexedDB
    }
})

test("a database whose identity cannot be read is closed, so that it is in nobody's way", async () => {
    const { databases } = globalThis.indexedDB = openingAtOnce(() => requestThat("onerror", { error: new Error("unreadable") }))
    try {
        await assert.rejects(openStore({ account: "PACC1", server: "https://live.example" }), /unreadable/)
    } finally {
        delete globalThis.indexedDB
    }
    assert.deepEqual(databases.map(({ isClosed }) => isClosed), [true])
})

/** A store on a database that is open, whose writing transactions end as the test says. */
function storeThatWrites(end) {
    const transaction = () => {
        const table = { get: () => requestThat("onsuccess", {}), put: () => {}, delete: () => {} }
        const begun = { abort: () => begun.onabort(), objectStore: () => table }
        setImmediate().then(() => end(begun))
        return begun
    }
    return new IndexedDBStore({ name: "full", transaction, close: () => {} }, "this tab", () => {})
}

test("a machine whose disk is full goes on in memory and says so, and what fails otherwise is tried again and said", async () => {
    const { IDBKeyRange } = globalThis
    globalThis.IDBKeyRange = { bound: () => ({}) }
    const faults = [new Error("a moment's fault"), null, new DOMException("the disk is full", "QuotaExceededError")]
    const store = storeThatWrites(transaction => {
        const error = faults.shift()
        if (!error) return transaction.oncomplete()
        transaction.error = error
        transaction.onabort()
    })
    try {
        const { server, clock, machine } = scene(() => async () => null, () => (...of) => store.commit(...of))
        const told = []
        machine.watch(() => { if (told.at(-1) !== machine.storeError) told.push(machine.storeError) })
        await clock.pass(5_000)
        server.change("B", "created")
        await clock.pass(5_000)
        const texts = told.map(error => error?.message ?? null)
        assert.deepEqual(texts, [null, "a moment's fault", null, "there is no room in the store: the disk is full"])
        assert.deepEqual([machine.storeError.name, machine.storeError.kind], ["LivegateError", "unavailable"])
        assert.deepEqual([machine.freshness, machine.entries.size], [{ connected: {} }, 2])
    } finally {
        globalThis.IDBKeyRange = IDBKeyRange
    }
})

test("a store opens on a page of plain http too, where browsers give no random names", async () => {
    const wanted = { account: "PACC1", server: "http://live.example" }, { randomUUID } = crypto
    globalThis.indexedDB = openingAtOnce(() => requestThat("onsuccess", { result: { format: 1, schema: 1, ...wanted } }))
    crypto.randomUUID = undefined
    try {
        assert.equal((await openStore(wanted)).name, `livegate ["http://live.example","PACC1"]`)
    } finally {
        crypto.randomUUID = randomUUID
        delete globalThis.indexedDB
    }
})
