// following.js: machines that join a stream which others follow already.
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"

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
