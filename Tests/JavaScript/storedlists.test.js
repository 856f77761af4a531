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

    /** A visit, which shows the list at once, or after `late` ms. */
    async visit({ isOnline = true, late } = {}) {
        const visit = { pages: 0, reloads: [], states: [], client: new ScriptedClient(this.server, this.clock) }
        if (isOnline) visit.client.open()
        else visit.client.state = { waiting: { why: "offline" } }
        visit.machine = createMachine(visit.client, {
            area: "open", entities: ["incident"], store: this.store, snapshot: async () => [],
            screens: onReload => visit.screens = new Screens({
                environment: visit.client.environment, onReload,
                api: {
                    reload: async thing => {
                        if (!isOnline) throw new Error("offline")
                        visit.reloads.push(thing.id)
                        return { value: await this.server.reload(thing) }
                    },
                    page: async () => {
                        if (!isOnline) throw new Error("offline")
                        visit.pages += 1
                        const values = [...this.server.things.values()].filter(({ entity }) => entity === "incident")
                        return { items: values.map(value => ({ id: value.id, key: this.#keyOf(value), value })), isLast: true }
                    },
                },
            }),
        })
        if (late !== undefined) await this.clock.pass(late)
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

test("without a network the list is shown as old", async () => {
    const device = new Device()
    device.end(await device.visit())
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
            if (last.knowledge === "known" && last.items.every(({ knowledge }) => knowledge === "known")) {
                const expected = [...device.server.things.values()].map(({ id, version }) => `${id}${version} known`).sort()
                assert.equal(shown(last), expected.join(", "), `seed ${seed}, visit ${number}`)
            }
            device.end(visit)
        }
    }
})
