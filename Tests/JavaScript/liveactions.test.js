// shell/actions.js, shell/actionstore.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { ActionError, LiveActions, MemoryActionStore, openActions, RequestError }
    from "../../Sources/LiveClientJS/livegate.js"

/** Time that a test moves on. */
class Clock {
    time = 1_795_392_000_000
    timers = new Set()
    words = 0
    environment = {
        now: () => this.time,
        setTimer: (callback, wait) => {
            const timer = { at: this.time + wait, callback }
            this.timers.add(timer)
            return timer
        },
        clearTimer: timer => this.timers.delete(timer),
        random: () => ++this.words,
    }

    /** Lets everything happen that needs no time. */
    async settle() { for (let turn = 0; turn < 50; turn += 1) await null }

    /** Lets the next timer fire. */
    async fire() {
        const [next] = [...this.timers].sort((a, b) => a.at - b.at)
        assert.ok(next, "no timer is set")
        this.timers.delete(next)
        this.time = Math.max(this.time, next.at)
        next.callback()
        await this.settle()
    }
}

/** A server that honours keys: it does nothing twice. */
class KeyServer {
    statuses = new Map()
    results = new Map()
    done = []

    handle(actions) {
        return actions.map(({ key, kind, id, value }) => {
            if (!this.results.has(key)) {
                this.results.set(key, { key, status: 200 })
                this.statuses.set(`${kind} ${id}`, value)
                this.done.push(`${kind} ${id} ${value}`)
            }
            return this.results.get(key)
        })
    }
}

/** A device: what its store has outlives its starts. */
class Device {
    clock = new Clock()
    shelf = new Map()
    shown = new Map()
    server = new KeyServer()
    news = []
    sent = []
    send = async actions => this.server.handle(actions)
    renewToken = async () => {}

    async start(settings = {}) {
        this.store = new MemoryActionStore({
            shelf: this.shelf, show: (kind, id, value) => this.shown.set(`${kind} ${id}`, value) })
        this.actions = await openActions({
            store: this.store, settings, environment: this.clock.environment, report: news => this.news.push(news),
            renewToken: () => this.renewToken(),
            send: async actions => { this.sent.push(actions); return this.send(actions) },
        })
        return this.actions
    }
}

test("an action is shown and kept when it is taken, sent after a while, and gone when the server has it", async () => {
    const device = new Device()
    const actions = await device.start()
    await actions.set("read", "1", "true", "false")
    assert.equal(device.shown.get("read 1"), "true")
    assert.equal(device.shelf.size, 1)
    assert.equal(actions.pendingValue("read", "1"), "true")
    assert.deepEqual(device.sent, [])
    await device.clock.fire()
    assert.deepEqual(device.server.done, ["read 1 true"])
    assert.equal(device.shelf.size, 0)
    assert.deepEqual(actions.pending, [])
})

test("who follows what is pending is given it at once and after each change, and keeps it while the store is away", async () => {
    const device = new Device()
    const actions = await device.start()
    const told = []
    const leave = actions.watchPending(pending => told.push(pending.map(({ kind, id, value, at }) => [kind, id, value, at])))
    const begun = device.clock.time
    await actions.set("read", "1", "true", "false")
    device.clock.time += 1_000
    await actions.set("read", "2", "true", "false")
    const both = [["read", "1", "true", begun], ["read", "2", "true", begun + 1_000]]
    assert.deepEqual(told, [[], [both[0]], both])
    device.store.beforeCommit = () => { throw new Error("no room") }
    await assert.rejects(actions.set("read", "3", "true", "false"), /no room/)
    assert.deepEqual(actions.pending.map(({ id }) => id), ["1", "2"])
    device.store.beforeCommit = () => {}
    await device.clock.fire()
    assert.deepEqual(told.slice(3), [[]])
    leave()
    await actions.set("read", "4", "true", "false")
    assert.equal(told.length, 4)
    actions.close()
})

test("what is pending lies on top of what is reloaded", async () => {
    const device = new Device()
    const actions = await device.start()
    await actions.set("read", "1", "true", "false")
    device.shown.set("read 1", "false")
    await actions.reloaded("read", "1", "false", actions.now())
    assert.equal(device.shown.get("read 1"), "true")
})

test("a store that refuses leaves nothing shown, and is read again: what was kept before is sent", async () => {
    const device = new Device()
    const actions = await device.start()
    await actions.set("read", "1", "true", "false")
    device.store.beforeCommit = () => { throw new Error("disk full") }
    await assert.rejects(actions.set("read", "2", "true", "false"), /disk full/)
    assert.equal(device.shown.has("read 2"), false)
    device.store.beforeCommit = () => {}
    await device.clock.fire()
    await device.clock.fire().catch(() => {})
    assert.deepEqual(device.server.done, ["read 1 true"])
    assert.equal(device.shelf.size, 0)
})

test("an answer that cannot be written is got again by its key, not done again", async () => {
    const device = new Device()
    const actions = await device.start()
    await actions.set("read", "1", "true", "false")
    device.store.beforeCommit = () => { throw new Error("disk full") }
    await device.clock.fire()
    assert.equal(device.shelf.size, 1)
    device.store.beforeCommit = () => {}
    await device.clock.fire()
    assert.equal(device.sent.length, 2)
    assert.deepEqual(device.server.done, ["read 1 true"])
    assert.equal(device.shelf.size, 0)
    actions.close()
})

test("a send that never ends is given up, and its late answer changes nothing", async () => {
    const device = new Device()
    const actions = await device.start()
    let answer
    device.send = () => new Promise(resolve => { answer = resolve })
    await actions.set("read", "1", "true", "false")
    await device.clock.fire()
    assert.equal(device.sent.length, 1)
    await device.clock.fire()
    answer([{ key: device.sent[0][0].key, status: 422 }])
    await device.clock.settle()
    assert.equal(device.shown.get("read 1"), "true")
    device.send = async actions => device.server.handle(actions)
    await device.clock.fire()
    assert.equal(device.sent[1][0].key, device.sent[0][0].key)
    assert.deepEqual(device.news, [])
    assert.equal(device.shelf.size, 0)
})

test("a rejection is undone and told, a 401 renews the token once, what is no list of results is sent again", async () => {
    const device = new Device()
    const actions = await device.start()
    const answers = [() => ({ ok: true }), () => { throw new RequestError(401) }, () => { throw new RequestError(422) }]
    let renewed = 0
    device.renewToken = async () => { renewed += 1 }
    device.send = async () => answers.shift()()
    await actions.set("read", "1", "true", "false")
    await device.clock.fire()
    await device.clock.fire()
    assert.equal(renewed, 1)
    assert.equal(device.sent.length, 3)
    assert.equal(device.shown.get("read 1"), "false")
    assert.equal(device.news.length, 1)
    assert.equal(device.news[0].rejected.status, 422)
})

test("who says that nobody is signed in is believed, and any other failure to get a token is tried again", async () => {
    for (const [error, count, kinds] of [[{ kind: "unauthorized" }, 1, ["unauthorized"]], [{}, 3, []]]) {
        const device = new Device()
        const actions = await device.start()
        let asked = 0
        device.send = async () => { throw new RequestError(401) }
        device.renewToken = async () => { asked += 1; throw Object.assign(new Error("no token"), error) }
        await actions.set("read", "1", "true", "false")
        await device.clock.fire()
        for (let turn = 1; turn < count; turn += 1) await device.clock.fire()
        assert.deepEqual([asked, device.news.flatMap(Object.keys)], [count, kinds])
        device.send = async actions => device.server.handle(actions)
        actions.tokenChanged()
        await device.clock.settle()
        assert.equal(device.shelf.size, 0)
        actions.close()
    }
})

test("no more are taken than are kept, and none after the end", async () => {
    const device = new Device()
    const actions = await device.start({ maximumRows: 1 })
    await actions.set("read", "1", "true")
    await assert.rejects(actions.set("read", "2", "true"), error => error instanceof ActionError && error.kind === "full")
    actions.close()
    await assert.rejects(actions.set("read", "1", "false"), { kind: "closed" })
    assert.equal(device.clock.timers.size, 0)
    assert.equal(device.shelf.size, 1)
})

test("an immediate action is done now or fails with its reason, and is never kept", async () => {
    const device = new Device()
    const actions = await device.start()
    assert.equal(await actions.perform(async () => 7), 7)
    const fails = async (error, kind) => assert.rejects(actions.perform(async () => { throw error }), { kind })
    await fails(new RequestError(409), "rejected")
    await fails(new RequestError(503, 5_000), "unavailable")
    await fails(new RequestError(), "unknown")
    await fails(new TypeError("fetch failed"), "unknown")
    let asked = 0
    device.renewToken = async () => { asked += 1 }
    await fails(new RequestError(401), "unauthorized")
    assert.equal(asked, 1)
    const statuses = [401, 200]
    assert.equal(await actions.perform(async () => {
        const status = statuses.shift()
        if (status !== 200) throw new RequestError(status)
        return "done"
    }), "done")
    actions.networkChanged(false)
    let ran = false
    await assert.rejects(actions.perform(async () => { ran = true }), { kind: "notReachable" })
    assert.equal(ran, false)
    assert.equal(device.shelf.size, 0)
})

/** Does some things on a device that dies at its n-th step; true: it did not. */
async function live(device, nth) {
    let steps = 0
    const step = () => {
        steps += 1
        if (steps >= nth) throw new Error("the process has ended")
    }
    const actions = await device.start()
    device.store.beforeCommit = step
    const commit = device.store.commit.bind(device.store)
    device.store.commit = async changes => { await commit(changes); step() }
    device.send = async batch => {
        step()
        const results = device.server.handle(batch)
        if (batch.some(action => action.value === "acknowledged")) await actions.set("status", "2", "resolved")
        step()
        return results
    }
    try {
        await actions.set("read", "1", "true", "false")
        await actions.set("status", "2", "acknowledged", "triggered")
        while (actions.pending.length > 0 && steps < nth) await device.clock.fire()
        await actions.set("read", "1", "false", "true")
        while (actions.pending.length > 0 && steps < nth) await device.clock.fire()
    } catch (error) {
        assert.match(error.message, /has ended/)
    }
    actions.close()
    return steps < nth
}

test("wherever a process ends, each action is done once and the device shows what the server has", async () => {
    let nth = 0
    for (let isWhole = false; !isWhole;) {
        nth += 1
        const device = new Device()
        isWhole = await live(device, nth)
        device.send = async actions => device.server.handle(actions)
        const actions = await device.start()
        await device.clock.settle()
        while (actions.pending.length > 0) await device.clock.fire()
        const { done, statuses } = device.server
        assert.equal(new Set(done).size, done.length, `step ${nth}: done twice: ${done}`)
        for (const [name, value] of device.shown) {
            assert.equal(statuses.get(name), value, `step ${nth}: ${name} is ${statuses.get(name)}, shown as ${value}`)
        }
        assert.equal(device.shelf.size, 0, `step ${nth}`)
        if (isWhole) assert.deepEqual([...statuses], [["read 1", "false"], ["status 2", "resolved"]])
    }
    assert.ok(nth > 12, `${nth} steps`)
})
