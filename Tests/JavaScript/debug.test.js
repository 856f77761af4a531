// shell/debug.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryActionStore, RequestError, Screens, createMachine, gateOf, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { World, settle } from "./world.js"

/** What was written to the console while `work` ran, and what else of it was called. */
async function written(work) {
    const { debug } = console, lines = []
    console.debug = (...texts) => { lines.push(texts) }
    try { await work() } finally { console.debug = debug }
    return lines
}

/** A client by a ticket whose first token is refused; its machine, screens and actions; and an API in trouble. */
async function visit(options) {
    const world = new World()
    world.tokens = ["secret-token-1", "secret-token-2"]
    const { client } = world.client({ ticket: true, ...options })
    let list
    const machine = createMachine(client, {
        area: "incidents", snapshot: async () => [],
        screens: onReload => {
            const screens = new Screens({
                environment: client.environment, onReload,
                api: { reload: async () => { throw new RequestError(503) }, page: async () => ({ items: [], isLast: true }) },
            })
            list = screens.list({ name: "open", entity: "incident", key: () => null })
            return screens
        },
    })
    const actions = await openActions({
        client, store: new MemoryActionStore({ show: () => {} }), settings: { coalescing: 0 },
        send: async sent => sent.map(({ key }) => ({ key, status: 200 })), environment: { locks: undefined },
    })
    await settle()
    world.question.answer(401, { code: "invalid_token" })
    await settle()
    world.question.answer(200, { ticket: "secret-ticket-1", expires_in: 30 })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say({ expiring: { exp: 1 } })
    await world.pass(1_000)
    list.show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await settle()
    world.socket.say({ ent: "incident", id: "I1", type: "created", at: "C1" })
    await actions.set("incident.note", "I1", "a private word")
    await world.pass(5_000)
    assert.notEqual(Object.keys(gateOf(client).state)[0], "open")
    machine.close()
    actions.close()
    client.close()
    assert.match(world.socket.url.search, /ticket=secret-ticket-1/)
}

test("what is decided is written in one line each, and no token, no ticket and no value of a person", async () => {
    const lines = await written(() => visit({ debug: true }))
    for (const texts of lines) {
        assert.equal(texts.length, 1)
        assert.match(texts[0], /^livegate [^:\n]+: \w+( \{[^\n]*)?$/)
        assert.ok(texts[0].length < 300)
    }
    const all = lines.join("\n")
    assert.doesNotMatch(all, /secret|private|c2VjcmV0/)
    for (const line of [
        "livegate connection: fetchToken", "livegate connection: open", "livegate connection is: connected",
        "livegate machine incidents: requestSnapshot", "livegate machine incidents: reload", "livegate machine incidents is: live",
        "livegate list open: loadPage", "livegate screens: fetch", "livegate gate is: closed", "livegate actions: send {\"batch\":",
    ]) assert.ok(all.includes(line), `${line} is not in\n${all}`)
})

test("nothing is written unless somebody asks for it", async () => {
    assert.deepEqual(await written(() => visit({})), [])
})
