// following.js: machines that join a stream which others follow already.
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, eventOf, pageOf, settle } from "./world.js"

test("a machine whose finger the server has let go of takes one snapshot, however young the stream is", async () => {
    for (const age of [0, 5_000, 20_000]) {
        const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock), snapshots = []
        const store = new MemoryStore({ now: clock.now })
        server.change("A", "created")
        await store.commit("late", { metadata: { finger: "c0", lastSuccess: clock.now() - 1_000 } })
        const make = area => createMachine(client, {
            area, entities: ["incident"], store, reload: thing => server.reload(thing),
            snapshot: () => {
                snapshots.push(area)
                return server.snapshot("incident")
            },
        })
        client.open()
        const first = make("first")
        await clock.pass(age)
        server.change("A")
        server.kept = 2
        const late = make("late")
        await clock.pass(1_000)
        server.change("B", "created")
        await clock.pass(30_000)
        assert.deepEqual(snapshots, ["first", "late"], `${age} ms`)
        for (const machine of [first, late]) {
            assert.deepEqual(Object.fromEntries(machine.entries), server.expected("incident"), `${age} ms`)
            assert.deepEqual(machine.freshness, { connected: {} }, `${age} ms`)
        }
    }
})

test("an event without a cursor is applied, and moves the finger no further than what came before it", async () => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    const store = new MemoryStore({ now: clock.now })
    let commits = 0
    store.beforeCommit = () => { assert.ok(++commits < 20, "commits without end") }
    const make = area => createMachine(client, {
        area, entities: ["incident"], store, snapshot: () => server.snapshot("incident"), reload: thing => server.reload(thing),
    })
    server.change("A", "created")
    client.open()
    const machines = [make("first")]
    await clock.pass(1_000)
    server.things.set("incident/A", { entity: "incident", id: "A", version: 2 })
    client.deliver({ event: { entity: "incident", id: "A", type: "updated" } })
    await clock.pass(1_000)
    assert.equal((await store.load("first")).metadata.finger, "c1")
    // Another one that stands there joins behind that cursor.
    await store.commit("second", { metadata: { finger: "c1", lastSuccess: clock.now() }, put: [['["incident","A"]', { version: 1 }]] })
    machines.push(make("second"))
    await clock.pass(1_000)
    for (const machine of machines) {
        assert.deepEqual(Object.fromEntries(machine.entries), server.expected("incident"))
        assert.deepEqual(machine.freshness, { connected: {} })
    }
})

/** A client whose first stream opens as the machine is made; `told` says where the stream begins. */
async function visit() {
    const world = new World(), { client } = world.client()
    const snapshots = []
    const machine = createMachine(client, { area: "incidents", reload: async () => 1, snapshot: async () => {
        snapshots.push(client.cursor)
        return []
    } })
    await settle()
    return { world, client, machine, snapshots }
}

test("a first visit opens one stream, asks for no finger, and goes on from where the stream begins", async () => {
    const { world, machine, snapshots } = await visit()
    assert.deepEqual([world.sockets.length, world.questions.length, snapshots], [1, 0, []])
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    await settle()
    assert.deepEqual([world.sockets.length, world.questions.length, snapshots], [1, 0, ["C0"]])
    assert.deepEqual(machine.freshness, { connected: {} })
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual([...machine.entries.keys()], ['["incident","I1"]'])
})

test("a first visit whose stream says nothing in 2 s asks for a finger", async () => {
    const { world, machine } = await visit()
    await world.pass(1_999)
    assert.equal(world.questions.length, 0)
    await world.pass(1)
    assert.equal(world.question.url.pathname, "/sync/v1")
    world.question.answer(200, pageOf("C0"))
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    await settle()
    assert.deepEqual(machine.freshness, { connected: {} })
})

test("an app that has its client go on from another cursor makes what follows it old, and read again", async () => {
    const { world, client, machine, snapshots } = await visit()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    await settle()
    assert.equal(snapshots.length, 1)
    client.restart({ since: "C9" })
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "C9" } })
    await world.pass(5_000)
    assert.equal(snapshots.length, 2)
    assert.deepEqual(machine.freshness, { connected: {} })
})
