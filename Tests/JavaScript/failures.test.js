// shell/failures.js, gate.js: what an app's own functions throw reaches it (AppFailureTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { RequestError, Screens, createMachine, gateOf } from "../../Sources/LiveClientJS/livegate.js"
import { World, pageOf, settle } from "./world.js"

/** What `work` writes to the console. */
async function warnings(work) {
    const { warn } = console, lines = []
    console.warn = (text, error) => lines.push(`${text} ${error}`)
    try { await work() } finally { console.warn = warn }
    return lines
}

test("a fault of an app's function reaches it, and is in the console once, with its function and thing", async () => {
    const world = new World(), told = []
    const { client } = world.client({ onError: failure => told.push(failure) })
    let isFaulty = true
    const read = () => { if (isFaulty) JSON.parse("<html>") }
    const lines = await warnings(async () => {
        const machine = createMachine(client, { area: "incidents", snapshot: async () => { read(); return [] }, reload: async () => read() })
        await world.pass(2_000)
        world.question.answer(200, pageOf("C"))
        await settle()
        assert.deepEqual([told[0].call, told[0].name, told[0].error.name], ["snapshot", "incidents", "SyntaxError"])
        assert.equal(gateOf(client).lastError, told.at(-1))
        assert.deepEqual(machine.state.registerFailed.cause, { request: { failure: { unreadable: {} } } })
        // The same again is told, and not written again.
        await world.pass(60_000)
        machine.close()
    })
    assert.ok(told.length > 1)
    assert.equal(lines.length, 1, lines.join("\n"))
    assert.match(lines[0], /^livegate: snapshot of incidents: SyntaxError/)
})

test("what an API answers is told and not written, a list says why its page did not come, and a thing that is gone has not failed", async () => {
    const told = [], states = [], world = new World()
    const { client } = world.client({ onError: ({ call, thing, name, error }) => told.push([call, thing?.id ?? name, error.status]) })
    const lines = await warnings(async () => {
        const screens = new Screens({
            environment: client.environment, gate: gateOf(client),
            api: {
                reload: async ({ id }) => { throw new RequestError(id === "gone" ? 404 : 400) },
                page: async () => { throw new RequestError(400) },
            },
        })
        screens.setFinger(true)
        const list = screens.list({ name: "open", entity: "incident", key: () => null, listener: state => states.push(state) })
        list.show({ from: { beginning: {} }, direction: "forward", count: 10 })
        for (const id of ["A", "gone"]) screens.details("details", { entity: "incident", id }, () => {})
        screens.details("other", { entity: "incident", id: "B" }, () => {})
        await settle()
        assert.deepEqual(states.at(-1).failure, { rejected: { status: 400 } })
        screens.close()
    })
    assert.deepEqual([told, lines], [[["page", "open", 400], ["reload", "B", 400]], []])
})

test("a token function that throws is told", async () => {
    const world = new World(), told = []
    const fault = new RangeError("no keychain")
    const lines = await warnings(async () => {
        world.client({ token: () => { throw fault }, onError: failure => told.push(failure) })
        await settle()
    })
    assert.deepEqual(told, [{ call: "token", name: "client", error: fault }])
    assert.deepEqual(lines, ["livegate: token of client: RangeError: no keychain"])
})
