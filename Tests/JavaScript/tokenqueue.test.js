// core/tokens.js, shell/tokens.js: one token is fetched at a time, for the whole client (TokenQueueTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { TokenQueue } from "../../Sources/LiveClientJS/core/tokens.js"
import { MemoryActionStore, RequestError, Screens, createMachine, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { runScenarios } from "./scenarios.js"
import { World, pageOf, settle } from "./world.js"

runScenarios("tokens", TokenQueue)

/** An app that keeps its token until it is told that it was refused; calls of its function are answered by `give`. */
class Session {
    token = "T1"
    asked = []
    #waiting = []

    ask = question => {
        this.asked.push(question)
        if (!question.fresh) return this.token
        return new Promise(resolve => this.#waiting.push(() => resolve(this.token = "T2")))
    }

    async give() {
        for (const give of this.#waiting.splice(0)) give()
        await settle()
    }
}

test("what is refused together has one token fetched, which says what was refused; the old token's late refusal has none", async () => {
    const world = new World(), session = new Session()
    const { client } = world.client({ token: session.ask })
    await settle()
    const pages = [client.sync(), client.sync(), client.sync()]
    await settle()
    const questions = [...world.questions]
    for (const question of questions.slice(0, 2)) question.answer(401, {})
    await settle()
    await session.give()
    questions[2].answer(401, {})
    await settle()
    assert.deepEqual(session.asked.filter(({ fresh }) => fresh), [{ fresh: true, replacing: "T1" }])
    const again = world.questions.slice(3)
    assert.deepEqual(again.map(({ options }) => options.headers.Authorization), Array(3).fill("Bearer T2"))
    for (const question of again) question.answer(200, pageOf("C"))
    assert.deepEqual((await Promise.all(pages)).map(({ page }) => page.at), ["C", "C", "C"])
})

test("a machine, screens and actions that an API refuses together have the client's function called once", async () => {
    const world = new World(), session = new Session(), sent = []
    const { client } = world.client({ token: session.ask })
    const ask = async value => {
        if (session.token === "T1") throw new RequestError(401)
        return value
    }
    let screens
    const machine = createMachine(client, {
        area: "incidents", entities: ["incident"], snapshot: () => ask([]),
        screens: onReload => screens = new Screens({
            api: { reload: () => ask({ value: "title" }), page: () => ask({ items: [], isLast: true }) },
            environment: client.environment, onReload,
        }),
    })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C" } })
    const seen = []
    screens.details("details", { entity: "incident", id: "A" }, state => seen.push(state.value))
    const actions = await openActions({
        client, store: new MemoryActionStore({ show: () => {} }), environment: { ...client.environment },
        send: async batch => {
            sent.push(session.token)
            return batch.map(({ key }) => ({ key, status: session.token === "T1" ? 401 : 200 }))
        },
    })
    const done = actions.perform(() => ask("done"))
    await actions.set("read", "A", true)
    await world.pass(3_000)
    assert.deepEqual(session.asked.filter(({ fresh }) => fresh), [{ fresh: true, replacing: "T1" }])
    await session.give()
    assert.equal(await done, "done")
    await world.pass(3_000)
    assert.deepEqual([sent, actions.pending, seen.at(-1), Object.keys(machine.state)], [["T1", "T2"], [], "title", ["live"]])
    assert.equal(session.asked.filter(({ fresh }) => fresh).length, 1)
    machine.close()
    actions.close()
})
