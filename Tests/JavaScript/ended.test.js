// update.js, machine.js, following.js, machinerequests.js: a connection that has ended for good.
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { UpdateMachine } from "../../Sources/LiveClientJS/core.js"
import { World, pageOf, settle } from "./world.js"

// As EndedMachineTests.swift: what brings a machine there, and where it then stands without a connection.
const loaded = [{ start: {} }, { loaded: {} }]
const stored = [{ start: {} }, { loaded: { stored: { finger: "F", lastSuccess: 0 } } }]
const begun = [...loaded, { finger: { number: 1, at: "F" } }]
for (const [name, inputs, state] of [
    ["the store is being read", [{ start: {} }], { notLoaded: {} }],
    ["a finger is asked for", loaded, { stale: {} }],
    ["a snapshot is under way", begun, { stale: {} }],
    ["a snapshot is being stored", [...begun, { snapshot: { number: 2 } }], { registering: {} }],
    ["a stream is open", [...stored, { live: { number: 1, at: "G" } }], { pollFailed: { retryAt: 1_000, failures: 0, cause: { notAsked: {} } } }],
    ["a token is asked for", [...loaded, { fingerFailed: { number: 1, failure: { unauthorized: {} } } }, { tokenFailed: {} }],
        { stale: {} }],
    ["it is in the background", [...stored, { background: {} }], { idle: { nextPoll: undefined } }],
]) {
    test(`${name}: a machine says why it has ended, asks for nothing, and waits for nothing but its age`, () => {
        const machine = new UpdateMachine({ pollInterval: 60_000 })
        for (const input of inputs) machine.handle(input, 0)
        assert.equal(machine.view.end, undefined)
        const effects = machine.handle({ ended: { error: { revoked: {} } } }, 1_000)
        assert.deepEqual([machine.view.end, machine.view.state], [{ revoked: {} }, state])
        assert.deepEqual(machine.view.freshness, { refused: {} })
        for (const input of [
            { finger: { number: 1, at: "F" } }, { snapshot: { number: 2 } }, { committed: { number: 3 } },
            { committed: { number: 2 } }, { lost: { number: 1 } }, { background: {} }, { wake: {} }, { foreground: {} },
            { network: { isSatisfied: false } }, { network: { isSatisfied: true } }, { token: { isValid: false } },
            { token: { isValid: true } }, { tokenFailed: {} }, { refresh: {} },
            { loaded: { stored: { finger: "F", lastSuccess: 0 } } },
        ]) effects.push(...machine.handle(input, 2_000))
        for (let minute = 1; minute <= 60; minute += 1) effects.push(...machine.handle({ wake: {} }, minute * 60_000))
        const asking = ["requestFinger", "requestSnapshot", "follow", "poll", "reload", "requestToken"]
        assert.deepEqual(effects.filter(effect => asking.includes(Object.keys(effect)[0])), [])
        const expires = machine.view.metadata.finger === undefined ? null : 86_400_000
        assert.ok([null, expires].includes(machine.wakeAt), `${machine.wakeAt}`)
        machine.handle({ ended: { error: { stopped: {} } } }, 4_000_000)
        assert.deepEqual(machine.view.end, { revoked: {} })
    })
}

/** A store with a state whose finger is good. */
async function storeWith(world, finger) {
    const store = new MemoryStore({ now: () => world.time })
    const put = [['["incident","I1"]', 1]]
    await store.commit("open", { metadata: { finger, lastSuccess: world.time, lastAttempt: world.time }, put, isWhole: true,
        whole: () => put })
    return store
}

/** A machine, and how often its watchers saw that it has ended. */
function machineOn(client, options = {}) {
    const machine = createMachine(client, {
        area: "open", entities: ["incident"], snapshot: async () => [], reload: async () => 1, ...options,
    })
    const told = { machine, ends: [] }
    machine.watch(() => { if (machine.end) told.ends.push(machine.end) })
    return told
}

test("a stream that is closed with 4403 ends its machines, which say so and keep what they know", async () => {
    const world = new World(), { client } = world.client()
    const { machine, ends } = machineOn(client, { store: await storeWith(world, "F") })
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "F" } })
    await settle()
    assert.deepEqual([machine.freshness, machine.end], [{ connected: {} }, undefined])
    world.socket.end(4403)
    await settle()
    assert.deepEqual([machine.end, ends[0]], [{ revoked: {} }, { revoked: {} }])
    assert.deepEqual(machine.freshness, { refused: {} })
    assert.deepEqual([...machine.entries.values()], [1])
    // Who comes later is told at once, and sends nothing.
    const asked = [world.sockets.length, world.questions.length]
    const late = machineOn(client, { area: "late" }).machine
    await world.pass(120_000)
    assert.deepEqual([late.end, late.state], [{ revoked: {} }, { stale: {} }])
    assert.deepEqual([world.sockets.length, world.questions.length], asked)
})

test("a finger that is refused for good ends the machine; a refusal of nobody's server is tried again", async () => {
    for (const status of [400, 403, 404, 426]) {
        for (const code of ["no_way", undefined]) {
            const world = new World(), { client } = world.client()
            const { machine } = machineOn(client)
            await world.pass(2_000)
            world.question.answer(status, { code })
            await settle()
            assert.deepEqual(machine.end, code && { refused: { status, code } }, `${status} ${code}`)
            const asked = world.questions.length
            // Before the client itself, whose stream nobody opens, goes another way.
            await world.pass(10_000)
            assert.equal(world.questions.length > asked, code === undefined)
            client.close()
        }
    }
})

test("a machine that is caught up beside another, and is refused for good, has ended alone", async () => {
    const world = new World(), { client } = world.client()
    const first = machineOn(client)
    await world.pass(2_000)
    world.question.answer(200, pageOf("F"))
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "F" } })
    await settle()
    const other = machineOn(client, { store: await storeWith(world, "E") })
    await settle()
    assert.equal(world.question.url.searchParams.get("since"), "E")
    world.question.answer(403, { code: "forbidden" })
    await settle()
    assert.deepEqual([other.machine.end, first.machine.end], [{ refused: { status: 403, code: "forbidden" } }, undefined])
    assert.deepEqual(first.machine.freshness, { connected: {} })
    const asked = world.questions.length
    await world.pass(30_000)
    assert.equal(world.questions.length, asked)
    client.close()
})

test("a client that the app has closed ends its machines, which say so, also those that come later", async () => {
    const world = new World(), { client } = world.client()
    const { machine } = machineOn(client)
    await settle()
    client.close()
    await settle()
    const late = machineOn(client, { area: "late" }).machine
    await settle()
    assert.deepEqual([machine.end, late.end], [{ stopped: {} }, { stopped: {} }])
})

test("an API that answers 404 to a snapshot, with a code of its own, ends nothing", async () => {
    const world = new World(), { client } = world.client()
    const { machine } = machineOn(client, {
        snapshot: async () => { throw Object.assign(new Error("no"), { status: 404, code: "no_team" }) },
    })
    await world.pass(2_000)
    world.question.answer(200, pageOf("F"))
    await settle()
    assert.deepEqual([machine.end, Object.keys(machine.state)], [undefined, ["registerFailed"]])
    client.close()
})
