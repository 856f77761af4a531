// shell/snapshots.js, core/bound.js, core/copy.js, client.js, machine.js, screens.js, namedlist.js, detailsscreens.js, actions.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { ArchivePageSource, LiveArchive } from "../../Sources/LiveClientJS/archive.js"
import { RefreshCounts } from "../../Sources/LiveClientJS/counting.js"
import { reuse } from "../../Sources/LiveClientJS/core/copy.js"
import { LiveGate, MemoryActionStore, MemoryStore, Screens, createMachine, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { ScreenWorld } from "./screenworld.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { assertWhole, mount } from "./storecontract.js"
import { World, settle } from "./world.js"

const A = { entity: "incident", id: "A" }, I1 = { entity: "incident", id: "I1" }

test("what says the same is the same object, part by part, and an app's values count by identity", () => {
    const value = { deep: {} }, map = new Map(), old = { a: [{ b: 1 }, { c: 2 }], value, map, none: undefined }
    assert.equal(reuse(old, { a: [{ b: 1 }, { c: 2 }], value, map, none: undefined }), old)
    const next = reuse(old, { a: [{ b: 1 }, { c: 3 }], value, map, none: undefined })
    assert.deepEqual([next.a[0] === old.a[0], next.a[1] === old.a[1], next.a[1].c], [true, false, 3])
    assert.notEqual(reuse(old, { ...old, value: { deep: {} } }), old)
    assert.notEqual(reuse(old, { ...old, map: new Map() }), old)
    const { none, ...fewer } = old
    for (const other of [fewer, { ...fewer, other: undefined }, { ...old, more: 1 }, [], null, undefined, 1]) {
        assert.deepEqual(reuse(old, other), other)
    }
    assert.deepEqual(reuse(undefined, old), old)
    assert.deepEqual([reuse([], {}), reuse({}, [])], [{}, []])
    // Items by their ids, which two may share.
    const items = [{ id: "A", kind: 1 }, { id: "A", kind: 2 }, { id: "B" }]
    assert.equal(reuse(items, items.map(item => ({ ...item }))), items)
    const moved = reuse(items, [{ id: "B" }, { id: "A", kind: 2 }, { id: "C" }])
    assert.deepEqual(moved.map(item => items.includes(item)), [true, true, false])
    assert.deepEqual(moved, [{ id: "B" }, { id: "A", kind: 2 }, { id: "C" }])
})

test("a connection's state is rendered when it is another one, and what ends the rendering ends it", async () => {
    const world = new World(), { client } = world.client()
    const first = mount(client.connection), second = mount(client.connection)
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    assertWhole(client.connection, first, second)
    assert.deepEqual(first.drawn.map(state => Object.keys(state)[0]), ["connecting", "connected"])
    // Heartbeats change nothing of it.
    world.socket.say({ beat: { at: "C1" } })
    assert.deepEqual([first.drawn.length, first.last], [2, client.state])
    first.unmount()
    world.socket.end(1006)
    assert.deepEqual([Object.keys(first.last)[0], Object.keys(second.last)[0]], ["connected", "waiting"])
    client.close()
    assert.deepEqual(second.last, { ended: { error: { stopped: {} } } })
})

test("one function that subscribes twice is called until both have ended", async () => {
    const world = new World(), { client } = world.client()
    let calls = 0
    const count = () => { calls += 1 }, leave = client.connection.subscribe(count), other = client.connection.subscribe(count)
    leave()
    leave()
    await settle()
    world.socket.open()
    assert.equal(calls, 1)
    other()
    world.socket.end(1006)
    assert.equal(calls, 1)
})

test("a machine's snapshot has all that can be seen of it, and is another one only when that changes", async () => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    server.change("A", "created")
    client.open()
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"],
        snapshot: () => server.snapshot("incident"), reload: thing => server.reload(thing),
    })
    const first = mount(machine), second = mount(machine)
    assert.equal(first.last.isLoaded, false)
    await clock.pass(1_000)
    assertWhole(machine, first, second)
    for (const name of Object.keys(first.last)) assert.deepEqual(first.last[name], machine[name], name)
    assert.deepEqual([first.last.isLoaded, first.last.entries.size, first.last.sign], [true, 1, undefined])
    const before = first.last, count = first.drawn.length
    // Somebody else's event, with no time between.
    client.deliver({ source: { state: "live" } })
    await clock.settle()
    assert.deepEqual([first.drawn.length, machine.getSnapshot() === before], [count, true])
    server.change("A")
    await clock.pass(1_000)
    assertWhole(machine, first, second)
    assert.equal([...first.last.entries.values()][0].version, 2)
    assert.notEqual(first.last, before)
    assert.equal(first.last.state, before.state)
    machine.close()
    const closed = first.drawn.length
    server.change("A")
    await clock.pass(1_000)
    assert.equal(first.drawn.length, closed)
})

test("a list's snapshot keeps the items that are the same, wherever they stand", async () => {
    const world = new ScreenWorld(3), list = world.list()
    const first = mount(list), second = mount(list)
    assert.deepEqual([first.last.items, first.last.knowledge], [[], undefined])
    list.show({ from: { beginning: {} }, direction: "forward", count: 9 })
    await world.answerAll()
    assertWhole(list, first, second)
    const before = first.last
    assert.deepEqual(before.items.map(({ id }) => id), ["I1", "I2", "I3"])
    // Another listener is told of it, and nothing has changed.
    list.setVisible(["I1"])
    assert.equal(first.last, before)
    assert.equal(list.getSnapshot(), before)
    world.incidents.delete("I1")
    world.change(1, "I1", "deleted")
    await world.answerAll()
    assertWhole(list, first, second)
    assert.deepEqual(first.last.items.map(({ id }) => id), ["I2", "I3"])
    assert.deepEqual(first.last.items.map((item, index) => item === before.items[index + 1]), [true, true])
    assert.equal(first.last.complete, before.complete)
})

test("details have a snapshot too, and a thing that no screen shows says what is known of it", async () => {
    const world = new ScreenWorld(1)
    assert.deepEqual(world.screens.known(I1),
        { thing: I1, value: undefined, knowledge: "unknown", isWhole: false, failure: null, absence: null })
    const details = world.screens.details("details", I1), first = mount(details)
    await world.answerAll()
    assert.deepEqual([first.drawn.length, first.last.value.title], [2, "title 1"])
    world.incidents.get("I1").title = "changed"
    details.refresh()
    await world.answerAll()
    assertWhole(details, first)
    assert.equal(first.last.value.title, "changed")
    details.hide()
    assert.deepEqual(world.screens.known(I1), first.last)
})

test("screens say of all that they show how good it is", async () => {
    const world = new ScreenWorld(1), first = mount(world.screens)
    const good = { isComplete: true, hasFailed: false, isLoading: false, isUnauthorized: false }
    assert.deepEqual(first.last, good)
    world.screens.details("details", I1)
    assert.deepEqual(first.last, { ...good, isComplete: false, isLoading: true })
    await world.answerAll()
    assert.deepEqual(first.last, good)
    assertWhole(world.screens, first)
    const { length } = first.drawn
    world.screens.setVisible(false)
    assert.equal(first.drawn.length, length)
    // Neither the token nor the one behind it counts there.
    world.screens.details("other", { entity: "incident", id: "I2" })
    await world.settled()
    while (world.pending.length > 0) {
        world.pending.shift().reject(Object.assign(new Error("no"), { status: 401 }))
        await world.settled()
    }
    assert.equal(first.last.isUnauthorized, true)
})

test("pending actions are one array until another action is pending", async () => {
    const sent = []
    let release
    const actions = await openActions({
        store: new MemoryActionStore({ show: () => {} }), renewToken: async () => {}, settings: { coalescing: 0 },
        send: batch => new Promise(resolve => {
            sent.push(...batch)
            release = () => resolve(batch.map(({ key }) => ({ key, status: 200 })))
        }),
        environment: { locks: undefined },
    })
    const first = mount(actions), second = mount(actions), told = []
    actions.watchPending(pending => { told.push(pending.length) })
    assert.deepEqual(first.last, [])
    await actions.set("read", "I1", "true")
    assertWhole(actions, first, second)
    assert.deepEqual(first.last.map(({ id, value }) => [id, value]), [["I1", "true"]])
    const before = first.last
    await actions.set("read", "I1", "true", undefined, { unless: () => true })
    assert.equal(actions.getSnapshot(), before)
    // What `pending` gives is a copy, which may be written to.
    actions.pending.pop()
    assert.equal(actions.getSnapshot().length, 1)
    while (!release) await settle()
    release()
    while (first.last.length > 0) await settle()
    assert.deepEqual([sent.length, told], [1, [0, 1, 0]])
    actions.close()
})

test("each method can be handed on by itself", async () => {
    const world = new World(), { client } = world.client(), { environment } = client
    const machine = createMachine(client, { area: "a", snapshot: async () => [] })
    const store = new MemoryActionStore({ show: () => {} })
    const actions = await openActions({ store, send: async () => [], renewToken: async () => {}, environment: { locks: undefined } })
    const archive = new LiveArchive(client)
    const objects = {
        client, machine, actions, store, archive, gate: new LiveGate(environment), memory: new MemoryStore(),
        screens: new Screens({ api: {}, environment }), source: new ArchivePageSource(archive), counts: new RefreshCounts(),
    }
    for (const [name, object] of Object.entries(objects)) {
        const methods = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)))
            .filter(([method, { value }]) => method !== "constructor" && typeof value === "function").map(([method]) => method)
        assert.ok(methods.length > 0, name)
        for (const method of methods) assert.ok(Object.hasOwn(object, method), `${name}.${method}`)
        // They are in no one's way who looks at the object.
        assert.deepEqual(Object.keys(object).filter(key => methods.includes(key)), [], name)
    }
    const { get, subscribe, close } = machine, { set } = actions, { isShowing, known } = objects.screens
    assert.deepEqual([get(A), isShowing(A), known(A).value, typeof subscribe(() => {})], [undefined, false, undefined, "function"])
    await set("read", "I1", "true")
    assert.equal(actions.pending.length, 1)
    close()
    actions.close()
    client.close()
})
