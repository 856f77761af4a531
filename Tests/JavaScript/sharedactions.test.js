// core/sharedactions.js, shell/actiontabs.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { Jitter, SharedActionQueue } from "../../Sources/LiveClientJS/core.js"
import { MemoryActionStore, RequestError, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { StoredKeys, expectRow, expectedRows } from "../../Sources/LiveClientJS/core/sharedactions.js"
import { Clock } from "./server.js"
import { SharedBrowser } from "./sharedbrowser.js"

const actionOf = (id, value, key, at = 0) => ({ kind: "read", id, value, before: "false", key, at })

/** A queue that has loaded some rows. */
function queueOf(...actions) {
    const queue = new SharedActionQueue({ keyPrefix: "K" })
    queue.handle({ loaded: { actions } }, 0)
    return queue
}

test("what another tab has stored is taken: new rows, newer values, and what is gone", () => {
    const queue = queueOf()
    queue.handle({ set: { kind: "read", id: "1", value: "true", before: "false" } }, 0)
    queue.handle({ set: { kind: "read", id: "2", value: "true", before: "false" } }, 0)
    const actions = [actionOf("2", "false", "X-1", 5), actionOf("3", "true", "X-2", 6)]
    assert.deepEqual(queue.handle({ taken: { actions } }, 10), [])
    assert.deepEqual(queue.view.pending, actions)
    assert.equal(queue.wakeAt, 3_000)
    const [{ send }] = queue.handle({ wake: {} }, 3_000)
    assert.deepEqual(send.actions, actions)
})

test("what was taken waits like any other action, and no longer than what was there", () => {
    const queue = queueOf()
    queue.handle({ taken: { actions: [actionOf("1", "true", "X-1")] } }, 10)
    assert.equal(queue.wakeAt, 3_010)
    queue.handle({ taken: { actions: [actionOf("1", "true", "X-1"), actionOf("2", "true", "X-2")] } }, 2_000)
    assert.equal(queue.wakeAt, 3_010)
})

test("what the server asks to wait is waited for, whatever is taken meanwhile", () => {
    const queue = queueOf(actionOf("1", "true", "X-1"))
    queue.handle({ failed: { batch: 1, status: 503, retryAfter: 60_000 } }, 0)
    queue.handle({ taken: { actions: [actionOf("1", "true", "X-1"), actionOf("2", "true", "X-2")] } }, 10)
    assert.ok(queue.wakeAt >= 60_000)
})

test("an answer to what another tab has replaced leaves the new row, which is sent", () => {
    const queue = queueOf(actionOf("1", "true", "X-1"))
    queue.handle({ taken: { actions: [actionOf("1", "false", "Y-1")] } }, 10)
    const effects = queue.handle({ answered: { batch: 1, results: [{ key: "X-1", status: 200 }] } }, 20)
    assert.deepEqual(effects, [{ persist: { action: { ...actionOf("1", "false", "Y-1"), before: "true" } } }])
    const [{ send }] = queue.handle({ wake: {} }, 3_010)
    assert.equal(send.actions[0].key, "Y-1")
})

test("what another tab may have sent is not undone as if nobody had seen it", () => {
    for (const [mayBeSent, name] of [[true, "persist"], [false, "delete"]]) {
        const queue = queueOf()
        const [{ persist }] = queue.handle({ set: { kind: "read", id: "1", value: "true", before: "false" } }, 0)
        queue.handle({ taken: { actions: [persist.action], mayBeSent } }, 10)
        const [effect] = queue.handle({ set: { kind: "read", id: "1", value: "false" } }, 20)
        assert.deepEqual(Object.keys(effect), [name])
    }
})

test("a change says which row is meant, the first of each row, and only that row is accepted", () => {
    const keys = new StoredKeys([actionOf("1", "true", "X-1"), actionOf("2", "true", "X-2")])
    const { changes, next } = keys.after([
        { persist: { action: actionOf("1", "false", "K-1") } }, { apply: { kind: "read", id: "1", value: "false" } },
        { delete: { kind: "read", id: "1" } }, { persist: { action: actionOf("3", "true", "K-2") } },
        { delete: { kind: "read", id: "2" } }, { undo: { kind: "read", id: "2", value: "false" } }, { requestToken: {} },
    ])
    assert.deepEqual(changes.map(({ persist, delete: removal, show }) => (
        persist ? persist.over : removal ? removal.key : show.value)), ["X-1", "false", "K-1", null, "X-2", "false"])
    assert.deepEqual(expectedRows(changes).map(({ id, key }) => [id, key]), [["1", "X-1"], ["3", null], ["2", "X-2"]])
    assert.deepEqual(next.after([{ delete: { kind: "read", id: "3" } }]).changes[0].delete.key, "K-2")
    const [first, third] = expectedRows(changes)
    expectRow(first, actionOf("1", "true", "X-1"))
    expectRow(third, undefined)
    const other = actionOf("1", "true", "Y")
    for (const [row, found] of [[first, undefined], [first, other], [third, other]]) {
        assert.throws(() => expectRow(row, found), { name: "ActionConflict" })
    }
    assert.deepEqual(expectedRows([{ persist: { action: actionOf("1", "true", "X-1") } }]), [])
})

/** A browser with some tabs, a store that they share, and a server that does nothing twice. */
class Shared {
    clock = new Clock()
    browser = new SharedBrowser(this.clock)
    shelf = new Map()
    shown = new Map()
    statuses = new Map()
    done = []
    results = new Map()
    /** Answers are held back while this is a promise. */
    answer = null
    /** How long an answer takes, in ms. */
    latency = () => 0

    async open() {
        const tab = this.browser.tab()
        tab.sent = []
        tab.news = []
        tab.changes = 0
        tab.actions = await openActions({
            store: new MemoryActionStore({
                shelf: this.shelf, sharedName: "store", show: (kind, id, value) => this.shown.set(id, value) }),
            environment: tab.environment, renewToken: async () => {}, report: news => tab.news.push(news),
            changed: () => { tab.changes += 1 },
            send: actions => {
                tab.sent.push(...actions.map(({ id, value }) => `${id} ${value}`))
                const results = actions.map(action => this.#handle(action))
                return new Promise((resolve, reject) => {
                    const give = tab.inTab(() => resolve(results))
                    Promise.resolve(this.answer).then(() => this.clock.setTimer(give, this.latency()), tab.inTab(reject))
                })
            },
        })
        await this.clock.settle()
        return tab
    }

    #handle({ key, id, value }) {
        if (!this.results.has(key)) {
            this.results.set(key, { key, status: value === "refused" ? 422 : 200 })
            if (value !== "refused") {
                this.statuses.set(id, value)
                this.done.push(`${id} ${value}`)
            }
        }
        return this.results.get(key)
    }

    close(tab) {
        tab.close()
        tab.actions.close()
    }
}

test("each tab takes actions, and one of them sends them all, each once", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    const told = []
    a.actions.watchPending(pending => told.push(pending.map(({ id }) => id)))
    await a.actions.set("read", "1", "true", "false")
    await b.actions.set("read", "2", "true", "false")
    assert.deepEqual([...shared.shown], [["1", "true"], ["2", "true"]])
    await shared.clock.settle()
    assert.deepEqual(told, [[], ["1"], ["1", "2"]])
    assert.deepEqual([a, b].map(tab => [tab.actions.pending.length, tab.actions.pendingValue("read", "2")]),
        [[2, "true"], [2, "true"]])
    assert.ok(a.changes > 0)
    await shared.clock.pass(3_000)
    assert.deepEqual([a.sent, b.sent], [["1 true", "2 true"], []])
    assert.deepEqual([shared.done, shared.shelf.size], [["1 true", "2 true"], 0])
    assert.deepEqual(b.actions.pending, [])
})

test("a value that another tab sets while the old one is on its way is sent behind it", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    let release
    shared.answer = new Promise(resolve => { release = resolve })
    await a.actions.set("read", "1", "true", "false")
    await shared.clock.pass(3_000)
    await b.actions.set("read", "1", "false", "true")
    shared.answer = null
    release()
    await shared.clock.pass(4_000)
    assert.deepEqual([shared.done, shared.shelf.size, shared.shown.get("1")], [["1 true", "1 false"], 0, "false"])
    assert.deepEqual(b.sent, [])
})

test("what a tab undoes while another has it on its way is undone at the server too", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    shared.latency = () => 2_000
    await b.actions.set("read", "1", "true", "false")
    await shared.clock.pass(4_000)
    assert.deepEqual(a.sent, ["1 true"])
    await b.actions.set("read", "1", "false", "true")
    await shared.clock.pass(20_000)
    assert.deepEqual([shared.done, shared.shelf.size], [["1 true", "1 false"], 0])
})

test("an answer that comes before the news of another tab's value does not take that value away", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    shared.latency = () => 2_000
    await a.actions.set("read", "1", "true", "false")
    await shared.clock.pass(3_000)
    a.isDeaf = true
    await b.actions.set("read", "1", "false", "true")
    await shared.clock.pass(2_000)
    shared.close(a)
    await shared.clock.pass(20_000)
    assert.deepEqual([shared.done, shared.shelf.size], [["1 true", "1 false"], 0])
})

test("what another tab has replaced is not sent any more, whoever hears of that late", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    await a.actions.set("read", "1", "true", "false")
    a.isDeaf = true
    await b.actions.set("read", "1", "other", "true")
    await shared.clock.pass(3_000)
    a.hear()
    await shared.clock.pass(20_000)
    assert.deepEqual([shared.done, b.sent, shared.shelf.size], [["1 other"], [], 0])
})

test("when the tab that sends is closed, another goes on with what both have taken", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    await a.actions.set("read", "1", "true", "false")
    await b.actions.set("read", "2", "true", "false")
    shared.close(a)
    await shared.clock.pass(1)
    assert.deepEqual([a.sent, b.sent.sort(), shared.shelf.size], [[], ["1 true", "2 true"], 0])
})

test("when the tab that sends is frozen, another takes over, and the first sends nothing that was replaced", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    await a.actions.set("read", "1", "true", "false")
    a.freeze()
    await b.actions.set("read", "1", "false", "true")
    await shared.clock.pass(30_000)
    assert.deepEqual([a.sent, b.sent], [[], ["1 false"]])
    a.thaw(held => [...held.filter(work => work.isTimer), ...held.filter(work => !work.isTimer)])
    await shared.clock.pass(30_000)
    assert.deepEqual([shared.done, shared.statuses.get("1"), shared.shelf.size], [["1 false"], "false", 0])
    await a.actions.set("read", "3", "true", "false")
    await shared.clock.pass(30_000)
    assert.equal(shared.statuses.get("3"), "true")
})

test("what a tab sets that is looked at does not wait for the slow timers of the hidden one that sends", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    a.isSlow = true
    await b.actions.set("read", "1", "true", "false")
    await shared.clock.pass(3_100)
    assert.deepEqual([a.sent, b.sent, shared.shelf.size], [["1 true"], [], 0])
    // Nor does what has to be tried again.
    shared.answer = Promise.reject(new RequestError(503))
    shared.answer.catch(() => {})
    await b.actions.set("read", "2", "true", "false")
    await shared.clock.pass(3_100)
    shared.answer = null
    await shared.clock.pass(12_000)
    assert.deepEqual([b.sent, shared.shelf.size], [[], 0])
})

test("what the server rejects is told in each tab, and a flush reaches who sends", async () => {
    const shared = new Shared()
    const [a, b] = [await shared.open(), await shared.open()]
    await b.actions.set("read", "1", "refused", "false")
    b.actions.flush()
    await shared.clock.pass(1)
    assert.deepEqual([a.news, b.news].map(news => news.map(({ rejected }) => rejected.status)), [[422], [422]])
    assert.deepEqual([shared.shown.get("1"), shared.shelf.size], ["false", 0])
})

test("without locks, and with a store of its own, a tab sends for itself", async () => {
    const shared = new Shared()
    const sent = []
    const open = changes => openActions({
        store: new MemoryActionStore({ show: () => {}, sharedName: "store" }), renewToken: async () => {},
        environment: { ...shared.browser.tab().environment, ...changes },
        send: async actions => actions.map(({ key, id }) => { sent.push(id); return { key, status: 200 } }),
    })
    const refusing = { request: async () => { throw new Error("not for this page") } }
    for (const changes of [{ locks: undefined }, { locks: refusing }]) {
        const actions = await open(changes)
        await actions.set("read", "1", "true", "false")
        await shared.clock.pass(4_000)
        actions.close()
    }
    assert.deepEqual(sent, ["1", "1"])
})

/** Tabs that set, sleep and end in an order that a seed draws; then all go on until nothing is left to do. */
async function live(seed) {
    const random = new Jitter(seed), shared = new Shared(), last = new Map(), open = []
    const pick = list => list[random.next() % list.length]
    const mix = held => held.map(work => [random.next(), work]).sort(([a], [b]) => a - b).map(([, work]) => work)
    shared.latency = () => pick([0, 10, 1_000, 4_000])
    for (let step = 0; step < 40; step += 1) {
        if (open.length === 0 || random.next() % 8 === 0 && open.length < 4) open.push(await shared.open())
        const tab = pick(open), awake = open.filter(tab => !tab.isFrozen)
        const what = random.next() % 12
        if (what === 0) tab.freeze()
        else if (what === 1) tab.thaw(mix)
        else if (what === 2 && open.length > 1) shared.close(...open.splice(open.indexOf(tab), 1))
        else if (what < 8 && awake.length > 0) {
            const id = pick(["1", "2", "3"]), value = pick(["true", "false"])
            await pick(awake).actions.set("read", id, value, last.get(id) ?? "false")
            last.set(id, value)
        } else await shared.clock.pass(pick([0, 1, 500, 3_000, 20_000]))
    }
    for (const tab of open) tab.thaw(mix)
    await shared.clock.pass(120_000)
    for (const tab of open) shared.close(tab)
    return { shared, last }
}

test("whatever tabs do, and whoever is closed or frozen, the server ends with what was set last", async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
        const { shared, last } = await live(seed)
        for (const [id, value] of last) {
            assert.equal(shared.statuses.get(id) ?? "false", value, `seed ${seed}: ${id} of ${shared.done}`)
            assert.equal(shared.shown.get(id) ?? "false", value, `seed ${seed}: ${id} is shown as it is not`)
        }
        assert.equal(shared.shelf.size, 0, `seed ${seed}`)
    }
})
