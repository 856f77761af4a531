// core/tabs.js, shell/tabs.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { TabMachine } from "../../Sources/LiveClientJS/livegate.js"
import { runScenarios } from "./scenarios.js"
import { World, eventOf, pageOf, settle, short } from "./world.js"

runScenarios("tabs", TabMachine)

/** One browser: its locks and its channels. A tab that is frozen gets no message. */
class Browser {
    world = new World()
    #channels = new Set()
    #locks = {}

    tab(options = {}) {
        const browser = this, tab = { isFrozen: false }
        class Channel {
            constructor(name) {
                this.name = name
                browser.#channels.add(this)
            }
            get isFrozen() { return tab.isFrozen }
            postMessage(message) {
                const data = structuredClone(message)
                const others = [...browser.#channels].filter(other => other !== this && other.name === this.name)
                for (const other of others) queueMicrotask(() => { if (!other.isFrozen) other.onmessage({ data }) })
            }
            close() { browser.#channels.delete(this) }
        }
        const locks = { request: (name, settings, hold) => this.#request(name, settings, hold) }
        const changes = { locks, BroadcastChannel: Channel, page: null, random: () => this.#channels.size + 3 }
        return Object.assign(tab, this.world.client({ share: true, account: "PACC1", ...options }, changes))
    }

    #request(name, { signal, steal }, hold) {
        return new Promise((resolve, reject) => {
            const lock = this.#locks[name] ??= { holder: null, waiting: [] }
            const wish = { hold, resolve, reject }
            signal?.addEventListener("abort", () => {
                if (lock.waiting.includes(wish)) reject(signal.reason)
                lock.waiting = lock.waiting.filter(other => other !== wish)
            })
            if (!steal) lock.waiting.push(wish)
            else {
                lock.holder?.reject(new Error("stolen"))
                this.#grant(lock, wish)
            }
            this.#next(lock)
        })
    }

    #next(lock) { if (!lock.holder && lock.waiting.length > 0) this.#grant(lock, lock.waiting.shift()) }

    #grant(lock, wish) {
        lock.holder = wish
        queueMicrotask(async () => {
            wish.resolve(await wish.hold())
            if (lock.holder !== wish) return
            lock.holder = null
            this.#next(lock)
        })
    }
}

async function two() {
    const browser = new Browser(), { world } = browser
    const leader = browser.tab()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    const follower = browser.tab()
    await settle()
    return { browser, world, leader, follower }
}

test("a second tab uses the connection of the first", async () => {
    const { world, leader, follower } = await two()
    assert.deepEqual([leader.client.isLeader, follower.client.isLeader], [true, false])
    assert.deepEqual(short(follower.updates), ["connected", "resync", "live"])
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(short(follower.updates).slice(3), ["I1"])
    assert.deepEqual(short(leader.updates), ["connected", "resync", "live", "I1"])
    assert.equal(follower.client.cursor, "C1")
    assert.deepEqual(follower.client.state, { connected: {} })
    assert.equal(world.sockets.length, 1)
})

test("a tab that comes with a cursor catches up by itself, and misses nothing meanwhile", async () => {
    const { browser, world } = await two()
    const late = browser.tab({ since: "A1" })
    await settle()
    assert.equal(world.question.url.search, "?since=A1")
    world.socket.say(eventOf("I2", "C2"))
    await settle()
    world.question.answer(200, pageOf("C1", ["I0", "I1"]))
    await settle()
    assert.deepEqual(short(late.updates), ["connected", "I0", "I1", "beat", "live", "I2"])
    assert.equal(late.client.cursor, "C2")
})

test("when the leading tab is closed, the other goes on where it was", async () => {
    const { world, leader, follower } = await two()
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    leader.client.close()
    await settle()
    assert.equal(world.sockets[0].closedWith, 1000)
    assert.equal(follower.client.isLeader, true)
    assert.equal(world.socket.url.searchParams.get("since"), "C1")
    world.socket.open()
    world.socket.say(eventOf("I2", "C2"))
    world.socket.say({ live: { at: "C2" } })
    assert.deepEqual(short(follower.updates).slice(3), ["I1", "disconnected", "connected", "I2", "live"])
})

test("when the leading tab is frozen, the other takes the lead, and the first follows when it is back", async () => {
    const { world, leader, follower } = await two()
    leader.isFrozen = true
    await world.pass(10_500)
    assert.equal(follower.client.isLeader, true)
    assert.equal(world.sockets.length, 2)
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    leader.isFrozen = false
    await world.pass(10_000)
    assert.equal(leader.client.isLeader, false)
    assert.equal(world.sockets[0].closedWith, 1000)
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(short(leader.updates).slice(-1), ["I1"])
    assert.deepEqual(short(follower.updates).slice(-1), ["I1"])
})

test("a tab that is only hidden keeps the connection for the one that is looked at", async () => {
    const { world, leader, follower } = await two()
    leader.client.enterBackground()
    await world.pass(20_000)
    world.socket.say({ beat: { at: "C1" } })
    await world.pass(20_000)
    assert.deepEqual(leader.client.state, { connected: {} })
    assert.equal(world.sockets[0].closedWith, null)
    assert.equal(follower.client.isLeader, false)
    follower.client.enterBackground()
    await world.pass(1_000)
    assert.deepEqual(leader.client.state, { idle: {} })
    follower.client.enterForeground()
    await world.pass(1_000)
    assert.ok(leader.client.state.connecting)
})

test("people do not share: another account is another connection", async () => {
    const browser = new Browser()
    browser.tab()
    browser.tab({ account: "PACC2" })
    await settle()
    assert.equal(browser.world.sockets.length, 2)
})
