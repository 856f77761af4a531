// storedlists.js, and what screenlists.js keeps and restores
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore, Screens, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"

const place = { from: { beginning: {} }, direction: "forward", count: 10 }

/** A server with some incidents, and a device that visits it again and again. */
class Device {
    server = new Server()
    clock = new Clock()
    store = new MemoryStore({ now: this.clock.now })

    constructor(ids = ["A", "B", "C"]) { for (const id of ids) this.server.change(id, "created") }

    /** A visit, which shows the list at once, or after `late` ms, or not at all. */
    async visit({ isOnline = true, late, hasList = true, details, slow } = {}) {
        const visit = {
            isOnline, pages: 0, reloads: [], states: [], details: [], client: new ScriptedClient(this.server, this.clock),
        }
        if (isOnline) visit.client.open()
        else visit.client.state = { waiting: { why: "offline" } }
        visit.machine = createMachine(visit.client, {
            area: "open", entities: ["incident"], store: this.store, snapshot: async () => [],
            screens: onReload => visit.screens = new Screens({
                environment: visit.client.environment, onReload,
                api: {
                    reload: async thing => {
                        if (!visit.isOnline) throw new Error("offline")
                        visit.reloads.push(thing.id)
                        if (slow) await new Promise(resolve => this.clock.setTimer(resolve, slow))
                        return { value: await this.server.reload(thing) }
                    },
                    page: async () => {
                        if (!visit.isOnline) throw new Error("offline")
                        visit.pages += 1
                        const values = [...this.server.things.values()].filter(({ entity }) => entity === "incident")
                        values.sort((one, other) => one.id < other.id ? -1 : 1)
                        return { items: values.map(value => ({ id: value.id, key: this.#keyOf(value), value })), isLast: true }
                    },
                },
            }),
        })
        const thing = { entity: "incident", id: details }
        if (details) visit.screens.details("details", thing, state => visit.details.push(state))
        if (late !== undefined) await this.clock.pass(late)
        if (!hasList) {
            await this.clock.pass(3_000)
            return visit
        }
        visit.list = visit.screens.list({
            name: "open", entity: "incident", key: value => this.#keyOf(value), listener: state => visit.states.push(state),
        })
        visit.list.show(place)
        await this.clock.pass(3_000)
        return visit
    }

    #keyOf({ id }) { return { rank: 0, text: id } }

    end(visit) {
        visit.machine.close()
        visit.client.close({ idle: {} })
        this.server.clients.delete(visit.client)
    }
}

const shown = ({ items }) => items.map(({ id, value, knowledge }) => `${id}${value?.version} ${knowledge}`).join(", ")

test("the next visit shows the list at once, as good as the finger, and follows from there", async () => {
    const device = new Device(), before = await device.visit()
    // The finger moves on, and the list does not change.
    device.server.change("N", "created", "note")
    await device.clock.pass(3_000)
    device.end(before)
    device.server.change("B")
    device.server.change("D", "created")
    const visit = await device.visit()
    const first = visit.states.find(state => state.items.length > 0)
    assert.equal(shown(first), "A1 known, B1 known, C1 known")
    assert.equal(visit.states.at(-1).knowledge, "known")
    assert.equal(shown(visit.states.at(-1)), "A1 known, B2 known, C1 known, D1 known")
    assert.deepEqual(visit.machine.freshness, { connected: {} })
})

test("details that were asked for before the list was read are told what it has, and what changed since", async () => {
    const device = new Device(), before = await device.visit()
    device.end(before)
    device.server.change("B")
    const visit = await device.visit({ details: "A", slow: 500 })
    const { value, knowledge } = visit.details.at(-1)
    assert.deepEqual([value?.version, knowledge], [1, "known"])
    device.server.change("A")
    await device.clock.pass(3_000)
    assert.deepEqual([visit.details.at(-1).value.version, visit.details.at(-1).knowledge], [2, "known"])
    device.end(visit)
})

test("a visit that does not make the list leaves none to be believed", async () => {
    const device = new Device()
    device.end(await device.visit())
    const without = await device.visit({ hasList: false })
    device.server.change("C", "deleted")
    device.server.change("B")
    device.server.change("D", "created")
    await device.clock.pass(5_000)
    device.end(without)
    const visit = await device.visit()
    assert.equal(shown(visit.states.at(-1)), "A1 known, B2 known, D1 known")
})

test("lists that were read too late are not left to be believed", async () => {
    const device = new Device(), { store } = device
    device.end(await device.visit())
    let isLate = true
    device.store = {
        load(area) {
            if (area !== "open lists" || !isLate) return store.load(area)
            isLate = false
            return new Promise(() => {})
        },
        commit: (...given) => store.commit(...given),
    }
    const without = await device.visit({ hasList: false })
    await device.clock.pass(15_000)
    device.server.change("C", "deleted")
    await device.clock.pass(5_000)
    device.end(without)
    const visit = await device.visit()
    assert.equal(shown(visit.states.at(-1)), "A1 known, B1 known")
})

test("a list asks for no page before a slow store was read, and shows what that has", async () => {
    const device = new Device(), before = await device.visit()
    device.end(before)
    const { store } = device
    const slow = area => new Promise(resolve => { device.clock.setTimer(() => resolve(store.load(area)), 800) })
    device.store = { load: slow, commit: (...of) => store.commit(...of) }
    device.server.change("B")
    const visit = await device.visit()
    const first = visit.states.find(state => state.items.length > 0)
    assert.equal(shown(first), "A1 known, B1 known, C1 known")
    assert.equal(shown(visit.states.at(-1)), "A1 known, B2 known, C1 known")
    assert.equal(visit.pages, 0)
})

test("what changed unseen in a list that nobody showed is fetched when the next visit shows it", async () => {
    const device = new Device()
    const before = await device.visit()
    before.list.hide()
    await device.clock.pass(3_000)
    device.server.change("B")
    await device.clock.pass(3_000)
    assert.deepEqual(before.reloads, [])
    device.end(before)
    const visit = await device.visit()
    assert.equal(shown(visit.states.at(-1)), "A1 known, B2 known, C1 known")
})

test("lists that are not as the finger of the state are old, and loaded again", async () => {
    const device = new Device()
    const before = await device.visit()
    // From here on the state is stored, and its lists are not.
    device.store.beforeCommit = area => { if (area === "open lists") throw new Error("no room") }
    device.server.change("C", "deleted")
    await device.clock.pass(5_000)
    device.end(before)
    const visit = await device.visit()
    assert.equal(shown(visit.states.find(state => state.items.length > 0)), "A1 knownStale, B1 knownStale, C1 knownStale")
    assert.equal(shown(visit.states.at(-1)), "A1 known, B1 known")
    assert.ok(visit.pages > 0)
})

test("a list that a visit does not make, or closes, is not believed with a finger that has gone on without it", async () => {
    for (const isMade of [false, true]) {
        const device = new Device()
        device.end(await device.visit())
        const between = await device.visit({ isMade })
        between.list?.hide()
        await device.clock.pass(3_000)
        between.list?.close()
        device.server.change("B")
        device.server.change("C", "deleted")
        await device.clock.pass(5_000)
        device.end(between)
        const visit = await device.visit({ isOnline: false })
        assert.notEqual(visit.states.at(-1).knowledge, "known", `isMade ${isMade}`)
        device.end(visit)
        const last = await device.visit()
        assert.equal(shown(last.states.at(-1)), "A1 known, B2 known", `isMade ${isMade}`)
    }
})

test("what was old when it was kept is not shown in place of what is on a screen", async () => {
    const clock = new Clock(), states = [], answers = []
    const screens = new Screens({
        environment: clock, api: { reload: () => new Promise(resolve => { answers.push(resolve) }), page: async () => { throw new Error() } },
    })
    screens.setFinger(true)
    screens.details("details", { entity: "incident", id: "A" }, state => states.push(state))
    const key = { rank: 0, text: "A" }
    const kept = { name: "open", entity: "incident", intervals: [{ lower: { beginning: {} }, upper: { end: {} } }] }
    screens.restore([{ ...kept, items: [{ id: "A", key, value: { version: 1 }, isOld: true }] }])
    screens.list({ name: "open", entity: "incident", key: () => key }).show(place)
    await clock.settle()
    assert.deepEqual(states.map(({ value }) => value), states.map(() => undefined))
    for (const answer of answers) answer({ value: { version: 2 } })
    await clock.settle()
    assert.deepEqual([states.at(-1).value, states.at(-1).knowledge], [{ version: 2 }, "known"])
    screens.close()
})

test("a finger is not kept beside lists whose writing has failed", async () => {
    const device = new Device(), before = await device.visit()
    const late = { isOver: false }
    device.store.beforeCommit = area => {
        if (area !== "open lists" || late.isOver) return
        late.isOver = true
        return new Promise((_, reject) => device.clock.setTimer(() => reject(new Error("no room")), 4_000))
    }
    device.server.change("C", "deleted")
    await device.clock.pass(2_000)
    device.server.change("N", "created", "note")
    await device.clock.pass(20_000)
    device.end(before)
    const visit = await device.visit()
    assert.equal(shown(visit.states.at(-1)), "A1 known, B1 known")
})

test("without a network the list is as good as the finger, and the machine says that it cannot connect", async () => {
    const device = new Device()
    device.end(await device.visit())
    const visit = await device.visit({ isOnline: false })
    assert.equal(shown(visit.states.at(-1)), "A1 known, B1 known, C1 known")
    assert.equal(visit.states.at(-1).knowledge, "known")
    assert.deepEqual(Object.keys(visit.machine.freshness), ["cannotConnect"])
    assert.ok(visit.machine.state.pollFailed)
    // The network is back: it goes on from the finger.
    device.server.change("B")
    visit.isOnline = true
    visit.client.open()
    await device.clock.pass(30_000)
    assert.deepEqual(visit.machine.freshness, { connected: {} })
    assert.equal(shown(visit.states.at(-1)), "A1 known, B2 known, C1 known")
    assert.equal(visit.pages, 0)
})

test("a list whose state is hopelessly old is old, also without a network", async () => {
    const device = new Device()
    device.end(await device.visit())
    await device.clock.pass(86_400_000)
    const visit = await device.visit({ isOnline: false })
    assert.equal(shown(visit.states.at(-1)), "A1 knownStale, B1 knownStale, C1 knownStale")
    assert.equal(visit.states.at(-1).knowledge, "knownStale")
})

test("a list that is made when things have gone on is old as a whole, and shows nothing old as new", async () => {
    const device = new Device()
    device.end(await device.visit())
    device.server.change("A", "deleted")
    device.server.change("B")
    const visit = await device.visit({ late: 5_000 })
    const first = visit.states[0]
    assert.equal(first.knowledge, "knownStale")
    assert.equal(shown(first), "A1 knownStale, B1 knownStale, C1 known")
    assert.equal(shown(visit.states.at(-1)), "B2 known, C1 known")
})

test("whatever happens between and in visits, a list that says it is whole is as the server has it", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
        let state = seed * 2_654_435_761
        const next = bound => { state = Math.imul(state ^ (state >>> 15), 2_246_822_519) + seed; return (state >>> 0) % bound }
        const device = new Device()
        const change = () => {
            const id = ["A", "B", "C", "D", "E"][next(5)]
            const isThere = device.server.things.has(`incident/${id}`)
            device.server.change(id, !isThere ? "created" : next(3) === 0 ? "deleted" : "updated")
        }
        for (let number = 0; number < 6; number += 1) {
            for (let count = next(4); count > 0; count -= 1) change()
            const visit = await device.visit({ isOnline: next(4) > 0, late: next(2) ? undefined : next(3_000) })
            for (let step = next(6); step > 0; step -= 1) {
                const what = next(4)
                if (what === 0) visit.list.hide()
                else if (what === 1) visit.list.show(place)
                else change()
                await device.clock.pass([0, 10, 1_500][next(3)])
            }
            visit.list.show(place)
            await device.clock.pass(next(2) * 30_000)
            const last = visit.states.at(-1)
            // Without a connection it is as the finger says, and the machine says that there is none.
            if ("connected" in visit.machine.freshness && last.knowledge === "known" && last.items.every(({ knowledge }) => knowledge === "known")) {
                const expected = [...device.server.things.values()].map(({ id, version }) => `${id}${version} known`).sort()
                assert.equal(shown(last), expected.join(", "), `seed ${seed}, visit ${number}`)
            }
            device.end(visit)
        }
    }
})
