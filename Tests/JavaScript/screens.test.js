// screens.js, screenrequests.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { Screens } from "../../Sources/LiveClientJS/livegate.js"

/** A server of incidents by rank, whose answers are released one by one, and a clock that stands still. */
class World {
    incidents = new Map()
    now = 0
    timers = new Map()
    pending = []
    reloads = []
    aborted = 0

    constructor(count = 0) {
        for (let rank = 1; rank <= count; rank += 1) this.incidents.set(`I${rank}`, { rank, title: `title ${rank}` })
        let last = 0
        this.screens = new Screens({
            environment: {
                now: () => this.now,
                setTimeout: (work, wait) => { this.timers.set(last += 1, { work, at: this.now + wait }); return last },
                clearTimeout: timer => this.timers.delete(timer),
            },
            api: {
                reload: (thing, { signal }) => this.#answer("reload", thing.id, signal, () => (
                    this.incidents.has(thing.id) ? { value: { ...this.incidents.get(thing.id) } } : { gone: {} })),
                page: ({ request, signal }) => this.#answer("page", JSON.stringify(request.from), signal, () => (
                    this.#page(request))),
            },
            onReload: result => this.reloads.push(result),
            settings: { lists: { pageLimit: 3 } },
        })
        this.screens.setFinger(true)
        this.screens.setLive(true)
    }

    #page({ from, limit, isInclusive }) {
        const after = from.at ? from.at.key.rank + (isInclusive ? 0 : 1) : -Infinity
        const all = [...this.incidents].filter(([, { rank }]) => rank >= after).sort(([, a], [, b]) => a.rank - b.rank)
        const items = all.slice(0, limit).map(([id, value]) => ({ id, key: World.key(value), value: { ...value } }))
        return { items, isLast: all.length <= limit }
    }

    static key({ rank }) { return rank > 0 ? { rank, text: "" } : null }

    /** What the server has now is what it answers later. */
    #answer(kind, what, signal, make) {
        signal.addEventListener("abort", () => { this.aborted += 1 })
        const found = make()
        return new Promise((resolve, reject) => {
            this.pending.push({ kind, what, resolve: () => resolve(found), reject })
        })
    }

    list(listener, name = "open") {
        return this.screens.list({ name, entity: "incident", key: World.key, listener })
    }

    async settled() { for (let turn = 0; turn < 10; turn += 1) await null }

    /** Releases what waits, until nothing does. */
    async answerAll() {
        await this.settled()
        while (this.pending.length > 0) {
            this.pending.shift().resolve()
            await this.settled()
        }
    }

    change(number, id, type) { this.screens.reload({ number, thing: { entity: "incident", id }, types: [type] }) }
}

test("a list loads the pages that its screen has use for, and shows their values", async () => {
    const world = new World(8)
    let state
    const list = world.list(next => { state = next })
    list.show({ from: { beginning: {} }, direction: "forward", count: 5 })
    assert.equal(state.knowledge, "unknown")
    await world.answerAll()
    assert.equal(state.knowledge, "known")
    assert.deepEqual(state.items.map(({ id, value }) => `${id} ${value.title}`),
        [1, 2, 3, 4, 5, 6].map(rank => `I${rank} title ${rank}`))
    assert.ok(state.items.every(item => item.knowledge === "known"))
})

test("a change is fetched and stands where it belongs; what leaves the list, or is gone, goes off it", async () => {
    const world = new World(3)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 9 })
    await world.answerAll()
    world.incidents.set("I2", { rank: 9, title: "moved" })
    world.change(1, "I2", "updated")
    world.incidents.set("N", { rank: 2, title: "new" })
    world.change(2, "N", "created")
    world.incidents.set("I1", { rank: 0, title: "resolved" })
    world.change(3, "I1", "updated")
    world.change(4, "elsewhere", "updated")
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.value.title), ["new", "title 3", "moved"])
    assert.deepEqual(world.reloads.map(({ reloaded }) => [reloaded.number, reloaded.outcome]).sort(),
        [[1, "value"], [2, "value"], [3, "value"], [4, "value"]])
    assert.equal(world.reloads.find(({ reloaded }) => reloaded.number === 2).reloaded.value.title, "new")
    world.incidents.delete("N")
    world.change(5, "N", "deleted")
    assert.deepEqual(state.items.map(item => item.value.title), ["title 3", "moved"])
    assert.deepEqual(world.pending, [])
    assert.ok(world.screens.sawLive({ entity: "incident", id: "I2" }, 1_000))
    assert.ok(world.screens.isShowing({ entity: "incident", id: "I2" }))
})

test("details are fetched when they are shown, and given up when they are hidden", async () => {
    const world = new World(2)
    const states = []
    const details = world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    assert.equal(states.at(-1).knowledge, "unknown")
    await world.answerAll()
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["known", "title 1"])
    world.incidents.get("I1").title = "changed"
    world.change(1, "I1", "updated")
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["knownStale", "title 1"])
    await world.settled()
    details.hide()
    assert.equal(world.aborted, 1)
    assert.deepEqual(world.reloads, [{ reloaded: { number: 1, outcome: "value", value: undefined } }])
    const count = states.length
    await world.answerAll()
    assert.equal(states.length, count)
    world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["knownStale", "title 1"])
    await world.answerAll()
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["known", "changed"])
})

test("a list that was hidden when something new came is old when it is shown again", async () => {
    const world = new World(2)
    let state
    const list = world.list(next => { state = next })
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    list.show(place)
    await world.answerAll()
    list.hide()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    world.incidents.get("I1").title = "changed"
    world.change(2, "I1", "updated")
    assert.deepEqual(world.pending, [])
    assert.equal(world.screens.counts.avoided, 2)
    list.show(place)
    assert.equal(state.knowledge, "knownStale")
    await world.answerAll()
    assert.equal(state.knowledge, "known")
    assert.deepEqual(state.items.map(item => item.value.title), ["changed", "title 2", "new"])
})

test("a list that is hidden while something new is fetched for it does not say that nothing is missing", async () => {
    const world = new World(2)
    let state
    const list = world.list(next => { state = next })
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    list.show(place)
    await world.answerAll()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    list.hide()
    assert.equal(world.reloads.length, 1)
    await world.answerAll()
    list.show(place)
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.id), ["I1", "I2", "N"])
})

test("what changed while a page was on its way is fetched behind it", async () => {
    const world = new World(2)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await world.settled()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    world.incidents.delete("I1")
    world.change(2, "I1", "deleted")
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.id), ["I2", "N"])
    assert.equal(state.knowledge, "known")
})

test("a failure is told and tried again: what the server refuses is not", async () => {
    const world = new World(1)
    const states = []
    const details = world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    await world.settled()
    world.pending.shift().reject(Object.assign(new Error("later"), { kind: "retry", retryAfter: 2_000 }))
    await world.settled()
    assert.deepEqual(states.at(-1).failure, { retry: { after: 2_000 } })
    const [{ work, at }] = world.timers.values()
    assert.ok(at >= 2_000 && at < 3_000, `${at}`)
    world.now = at
    work()
    await world.settled()
    world.pending.shift().reject(Object.assign(new Error("no"), { kind: "rejected", status: 400 }))
    await world.settled()
    assert.deepEqual([states.at(-1).failure, world.timers.size], [{ rejected: { status: 400 } }, 0])
    details.refresh()
    await world.answerAll()
    assert.deepEqual([states.at(-1).failure, states.at(-1).value.title], [null, "title 1"])
})

test("a resync shows all as old and loads it again; closed screens ask and say nothing", async () => {
    const world = new World(3)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await world.answerAll()
    world.screens.setFinger(false)
    assert.deepEqual([state.knowledge, state.items[0].knowledge, state.items.length], ["knownStale", "knownStale", 3])
    world.incidents.delete("I2")
    world.screens.setFinger(true)
    await world.answerAll()
    assert.deepEqual([state.knowledge, state.items.map(item => item.id)], ["known", ["I1", "I3"]])
    world.screens.setFinger(false)
    world.screens.setFinger(true)
    await world.settled()
    state = null
    world.screens.close()
    await world.answerAll()
    assert.equal(state, null)
})
