// update.js, machine.js, client.js, link.js, following.js: somebody pulls the screen, and a connection that is dead is noticed.
import assert from "node:assert/strict"
import { test } from "node:test"
import { refreshEnded } from "../../Sources/LiveClientJS/core/update.js"
import { createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, settle } from "./world.js"

test("a refresh is over when all of it is there, or cannot be had now", () => {
    const connected = { connected: {} }, connecting = { connecting: {} }, cannot = { cannotConnect: {} }
    for (const [state, freshness, ended, others] of [
        [{ notLoaded: {} }, connecting, undefined], [{ stale: {} }, connecting, undefined], [{ stale: {} }, cannot, false],
        [{ registering: {} }, connecting, undefined], [{ registering: {} }, cannot, undefined],
        [{ registerFailed: {} }, connecting, false], [{ pollFailed: {} }, connecting, false], [{ idle: {} }, connecting, false],
        [{ live: {} }, connecting, undefined], [{ live: {} }, cannot, undefined], [{ live: {} }, connected, true],
        [{ live: {} }, { sourceStalled: {} }, true], [{ live: {} }, connected, false, { isUnauthorized: true }],
        [{ live: {} }, connected, false, { end: { stopped: {} } }],
    ]) assert.equal(refreshEnded({ state, freshness, ...others }), ended, JSON.stringify([state, freshness, others]))
})

function scene() {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    server.change("A", "created")
    client.open()
    client.refreshes = 0
    client.refresh = () => { client.refreshes += 1 }
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"], snapshot: () => server.snapshot("incident"),
        reload: thing => server.reload(thing),
    })
    return { server, clock, client, machine }
}

test("a machine's refresh tests the connection, and is fulfilled when the snapshot is there, failed, or given up", async () => {
    const { server, clock, client, machine } = scene()
    await clock.pass(1_000)
    let release
    server.point = name => name === "snapshot" ? new Promise(resolve => { release = resolve }) : undefined
    const told = []
    machine.refresh().then(isThere => told.push(isThere))
    machine.refresh().then(isThere => told.push(isThere))
    await clock.pass(1_000)
    assert.deepEqual([told, client.refreshes], [[], 2])
    release()
    await clock.settle()
    assert.deepEqual([told, machine.freshness], [[true, true], { connected: {} }])
    server.point = name => { if (name === "snapshot") throw new TypeError("Failed to fetch") }
    assert.equal(await machine.refresh(), false)
    server.point = () => new Promise(() => {})
    const given = machine.refresh()
    machine.close()
    assert.deepEqual([await given, await machine.refresh()], [false, false])
})

test("an epoch's resync is spread over 3 s, and a person does not wait for it", async () => {
    const { server, clock, client, machine } = scene()
    await clock.pass(31_000)
    let snapshots = 0
    server.point = async name => { if (name === "snapshot") snapshots += 1 }
    client.deliver({ resync: { why: "epoch", at: "c1" } })
    assert.ok("stale" in machine.state)
    client.deliver({ live: { at: "c1" } })
    await clock.pass(3_000)
    assert.deepEqual([snapshots, machine.freshness], [1, { connected: {} }])
    await clock.pass(31_000)
    client.deliver({ resync: { why: "epoch", at: "c1" } })
    client.deliver({ live: { at: "c1" } })
    await machine.refresh()
    assert.equal(snapshots, 2)
})

test("a beat is asked for as the app says, and a stream without one is given up 5 s later", async () => {
    for (const [beat, asked, lost] of [[undefined, "25", 30_000], [10_000, "10", 15_000], [1, "5", 10_000], [9_000_000, "300", 305_000]]) {
        const world = new World()
        const { client } = world.client({ beat })
        await settle()
        assert.equal(world.socket.url.searchParams.get("beat"), asked)
        world.socket.open()
        await world.pass(lost - 1)
        assert.equal(world.sockets.length, 1)
        await world.pass(1)
        assert.ok(!client.state.connected)
        client.close()
    }
})

test("a client that is refreshed tests what is open, and waits for nothing", async () => {
    const world = new World(), { client } = world.client()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    client.refresh()
    assert.deepEqual(world.socket.sent, [{ token: "T" }])
    world.socket.say({ token: {} })
    await world.pass(5_000)
    assert.equal(world.sockets.length, 1)
    client.refresh()
    await world.pass(2_000)
    assert.equal(world.sockets.length, 2)
    world.socket.open()
    world.socket.end(1013, "retry_ms=60000")
    await world.pass(1_000)
    assert.equal(world.sockets.length, 2)
    client.refresh()
    await world.pass(1)
    assert.equal(world.sockets.length, 3)
    client.close()
})
