// JavaScriptArchive.md in LiveClient.docc: its code, block after block, on two devices of one person and a server that a test plays.
import assert from "node:assert/strict"
import { test } from "node:test"
import * as module from "../../Sources/LiveClientJS/livegate.js"
import { blocksOf, run } from "./articlecode.js"
import { answerOf } from "./archiveworld.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { World, pageOf, settle } from "./world.js"

const code = blocksOf("JavaScriptArchive.md").join("\n")

/** An archive with one person's marks, and the streams that are open. */
class Server {
    events = []
    devices = []
    #marks = []
    gaps = []
    /** Whether no token is good, but for a stream. */
    refusesTokens = false
    /** Answers that are due before an inbox. */
    refusals = []
    refusesMarks = false

    happen(id, time = this.events.length) {
        const event = { ent: "incident", id, type: "updated", ts: time, aid: `e${String(time).padStart(4, "0")}` }
        this.events.push(event)
        for (const device of this.devices) device.say({ ...event, at: `C${this.events.length}` })
    }

    unread({ ent, id }) {
        return this.events.filter(event => event.ent === ent && event.id === id && !this.#marks.some(mark => (
            (mark.ent === undefined || (mark.ent === ent && mark.id === id)) && event.aid <= mark.aid))).length
    }

    page({ before = "~", after = "", order, limit }) {
        const fits = this.events.filter(({ aid }) => aid < before && aid > after).sort((a, b) => a.aid < b.aid ? -1 : 1)
        if (order !== "asc") fits.reverse()
        return { events: fits.slice(0, limit), more: fits.length > limit, gaps: this.gaps }
    }

    inbox({ limit }) {
        const last = new Map()
        for (const event of this.events) last.set(event.id, event)
        const lines = [...last.values()].reverse().map(event => ({ ...event, unread: this.unread(event) }))
        const unread_things = lines.filter(({ unread }) => unread > 0).length
        return { things: lines.slice(0, limit), unread_things, more: lines.length > limit, at: `C${this.events.length}` }
    }

    answer(path, parameters, body) {
        if (this.refusesTokens && path !== "/sync/v1") return answerOf(401)()
        if (path === "/archive/v1") return answerOf(200, this.page(parameters))()
        if (path === "/inbox/v1") return (this.refusals.shift() ?? answerOf(200, this.inbox(parameters)))()
        if (path === "/sync/v1") return answerOf(200, pageOf(`C${this.events.length}`))()
        if (this.refusesMarks) return answerOf(400)()
        const mark = JSON.parse(body)
        this.#marks.push(mark)
        for (const device of this.devices) device.say({ read: mark })
        return answerOf(204)()
    }
}

/** One browser: what it keeps outlives its visits. */
class Device {
    storage = new Map()
    isOnline = true
    person = "amy"
    /** The store opens behind this. */
    opening = undefined

    /** @param tab `{browser, shelves}` that tabs of one browser share: where they are kept, by name, is `shelves` */
    constructor(server, { browser, shelves = new Map() } = {}) {
        Object.assign(this, { server, shelves, isShared: browser !== undefined })
        const { locks, BroadcastChannel } = browser?.tab().environment ?? {}
        this.tab = { locks, BroadcastChannel }
    }

    async visit() {
        const world = this.world = new World(), listeners = new Map()
        Object.assign(this, {
            listeners, shown: null, gaps: null, isLive: null, inbox: null, badge: null, failures: [], asked: [] })
        const fetch = async (url, { body } = {}) => {
            const { pathname, searchParams } = new URL(url)
            if (!this.isOnline) throw new TypeError("Failed to fetch")
            this.asked.push(pathname + (searchParams.has("before") ? ` before ${searchParams.get("before")}` : ""))
            return this.server.answer(pathname, Object.fromEntries(searchParams), body)
        }
        const environment = world.environment({ fetch })
        const livegate = {
            ...module,
            connect: options => {
                assert.deepEqual([options.url, options.asksForEventIDs], ["https://live.example.com", true])
                return module.connect({ ...options, environment })
            },
            openStore: async ({ name, account }) => {
                await this.opening
                assert.equal(account, "PACC1")
                if (!this.shelves.has(name)) this.shelves.set(name, new Map())
                this.shelf = this.shelves.get(name)
                return { name }
            },
            IndexedDBActionStore: class extends module.MemoryActionStore {
                constructor({ show, store }) {
                    super({ show, shelf: device.shelf, sharedName: device.isShared ? store.name : undefined })
                }
            },
            openActions: options => module.openActions({ ...options, environment: { ...environment, ...this.tab } }),
        }
        const device = this
        const around = {
            account: "PACC1", person: this.person, server: "https://live.example.com", accessToken: async () => "T",
            localStorage: { getItem: key => this.storage.get(key) ?? null, setItem: (key, value) => this.storage.set(key, value) },
            addEventListener: (name, listener) => listeners.set(name, [...listeners.get(name) ?? [], listener]),
            showPast: state => { this.shown = state }, showGaps: gaps => { this.gaps = gaps },
            showIsLive: isLive => { this.isLive = isLive },
            showInbox: (things, badge) => Object.assign(this, { inbox: things, badge }),
            showFailure: error => this.failures.push(error.kind),
        }
        this.app = await run(code, around, {
            livegate, gives: ["client", "actions", "showOlder", "exportAll", "read", "refreshInbox"] })
        await settle()
        return this
    }

    /** The stream opens where the visit goes on, and is live behind what was missed. */
    async connect() {
        const since = this.world.socket.url.searchParams.get("since")
        this.world.socket.open()
        this.isStreaming = true
        const missed = since === null ? [] : this.server.events.slice(Number(since.slice(1)))
        const first = this.server.events.length - missed.length
        missed.forEach((event, index) => this.say({ ...event, at: `C${first + index + 1}` }))
        this.say({ live: { at: `C${this.server.events.length}` } })
        if (!this.server.devices.includes(this)) this.server.devices.push(this)
        await this.world.pass(0)
        return this
    }

    /** So many seconds in which nothing happens. */
    async hear(seconds) {
        for (let second = 0; second < seconds; second += 5) {
            this.say({ beat: { at: `C${this.server.events.length}` } })
            await this.world.pass(5_000)
        }
    }

    say(message) { if (this.isStreaming) this.world.socket.say(message) }
    fire(name) { for (const listener of this.listeners.get(name) ?? []) listener() }

    leave() {
        this.fire("pagehide")
        this.isStreaming = false
        this.app.client.close()
        this.app.actions.close()
    }

    get ids() { return this.shown.stretch.ids.map(id => Number(id.slice(1))) }
    get unread() { return this.inbox.map(({ thing, unread }) => [thing.id, unread]) }
}

const down = (from, to) => Array.from({ length: from - to + 1 }, (_, index) => from - index)

test("a screen pages back, has what is new on top, and the next visit shows at once what this one had", async () => {
    const server = new Server()
    for (let number = 0; number < 120; number += 1) server.happen(`I${number % 3}`)
    server.gaps = [{ from: 5 }]
    const device = await (await new Device(server).visit()).connect()
    assert.deepEqual([device.ids, device.gaps, device.isLive], [down(119, 70), [{ from: 5 }], true])
    server.happen("new")
    await device.world.pass(0)
    assert.deepEqual([device.ids[0], device.ids.length], [120, 51])
    server.gaps = [{ from: 2, to: 3 }, { from: 4, to: 6 }]
    device.app.showOlder(500)
    await device.world.pass(0)
    assert.deepEqual([device.ids, device.shown.stretch.isComplete, device.shown.stretch.isStale], [down(120, 0), true, false])
    const written = []
    await device.app.exportAll(events => written.push(...events))
    assert.deepEqual(written.map(({ ts }) => ts), down(120, 0).reverse())
    device.leave()
    // While nobody looks something happens, and the next visit has all of it without asking for what it had.
    server.happen("while away")
    await device.visit()
    assert.deepEqual([device.ids, device.shown.stretch.isStale], [down(120, 0), false])
    // Nor does it look whole, or new, where it is not.
    assert.deepEqual([device.gaps, device.isLive], [server.gaps, false])
    await device.connect()
    assert.deepEqual([device.ids, device.isLive], [down(121, 0), true])
    for (const state of ["stalled", "live"]) {
        device.say({ source: { state, ts: 1 } })
        assert.equal(device.isLive, state === "live")
    }
    assert.deepEqual(device.asked.filter(path => path.startsWith("/archive")), [])
    // What was missed cannot be given: it is old until it is loaded again.
    device.say({ resync: { why: "expired", at: "C200" } })
    assert.deepEqual([device.shown.stretch.isStale, device.gaps], [true, []])
    server.events = server.events.slice(1)
    server.gaps = [{ from: 7, to: 9 }]
    device.say({ live: { at: "C200" } })
    await device.world.pass(0)
    // As far as it is drawn.
    assert.deepEqual([device.ids, device.shown.stretch.isStale, device.gaps], [down(121, 1), false, [{ from: 7, to: 9 }]])
    device.world.socket.end(1006)
    assert.equal(device.isLive, false)
    device.leave()
})

test("the badge is right on two devices, also of marks that were made without a network", async () => {
    const server = new Server()
    for (const id of ["A", "B", "A", "C"]) server.happen(id)
    const open = async () => (await new Device(server).visit()).connect()
    const [phone, desk] = [await open(), await open()]
    const badges = () => [phone, desk].map(({ badge, unread }) => [badge, Object.fromEntries(unread)])
    const pass = async milliseconds => { for (const { world } of [phone, desk]) await world.pass(milliseconds) }
    assert.deepEqual(badges(), Array(2).fill([3, { C: 1, A: 2, B: 1 }]))
    const lineOf = (device, id) => device.inbox.find(({ thing }) => thing.id === id)
    // In a tunnel: shown here at once, kept over a restart, and told to the other device when there is a network.
    phone.isOnline = false
    phone.fire("offline")
    await phone.app.read(lineOf(phone, "A"))
    assert.deepEqual(badges(), [[2, { C: 1, A: 0, B: 1 }], [3, { C: 1, A: 2, B: 1 }]])
    phone.leave()
    await phone.visit()
    assert.equal(phone.shelf.size, 1)
    await pass(1_000)
    phone.isOnline = true
    phone.fire("online")
    await phone.connect()
    // It is not sent yet, and counts here.
    assert.deepEqual(badges(), [[2, { C: 1, A: 0, B: 1 }], [3, { C: 1, A: 2, B: 1 }]])
    await pass(25_000)
    assert.deepEqual([badges(), phone.shelf.size], [Array(2).fill([2, { C: 1, A: 0, B: 1 }]), 0])
    // What happens behind a mark is unread on both.
    server.happen("A")
    await pass(0)
    assert.deepEqual(badges(), Array(2).fill([3, { A: 1, C: 1, B: 1 }]))
    for (const id of ["A", "C", "B"]) await desk.app.read(lineOf(desk, id))
    assert.equal(desk.badge, 0)
    // Whoever has just asked waits a moment before asking again.
    for (const milliseconds of [4_000, 1_500]) await pass(milliseconds)
    assert.deepEqual(badges(), Array(2).fill([0, { A: 0, C: 0, B: 0 }]))
    // A failure is told, and mended by asking again.
    phone.isOnline = false
    phone.app.refreshInbox()
    await pass(1_500)
    assert.deepEqual(phone.failures.slice(-1), ["unreachable"])
    phone.isOnline = true
    phone.asked.length = 0
    for (const id of ["D", "E", "D", "D", "E"]) server.happen(id)
    await pass(8_000)
    assert.deepEqual(badges().map(([badge]) => badge), [2, 2])
    assert.equal(phone.asked.length, 1)
    for (const device of [phone, desk]) device.leave()
})

test("who signs in behind somebody else on a device neither sees nor sends what is theirs", async () => {
    const server = new Server(), device = new Device(server)
    server.happen("A")
    await (await device.visit()).connect()
    device.isOnline = false
    device.fire("offline")
    await device.app.read(device.inbox[0])
    device.leave()
    Object.assign(device, { person: "bob", isOnline: true })
    await device.visit()
    assert.equal(device.world.socket.url.searchParams.get("since"), null)
    await device.connect()
    await device.world.pass(30_000)
    assert.deepEqual([device.badge, device.unread], [1, [["A", 1]]])
    device.leave()
    // It is still there when its own person comes back.
    device.person = "amy"
    await (await device.visit()).connect()
    await device.world.pass(30_000)
    assert.deepEqual([device.unread, device.shelf.size], [[["A", 0]], 0])
    device.leave()
})

test("who was refused with other tokens is served when the stream has one that is good", async () => {
    const server = new Server(), device = new Device(server)
    for (const id of ["A", "B"]) server.happen(id)
    server.refusesTokens = true
    await (await device.visit()).connect()
    await device.app.read({ thing: { entity: "incident", id: "A" }, last: { aid: "e0000" } })
    await device.hear(60)
    assert.deepEqual([device.shown.isUnauthorized, device.ids, device.shelf.size], [true, [], 1])
    server.refusesTokens = false
    const { socket } = device.world
    socket.end(1006)
    while (device.world.socket === socket) await device.world.pass(500)
    await device.connect()
    assert.deepEqual([device.shown.isUnauthorized, device.ids], [false, [1, 0]])
    await device.hear(30)
    assert.deepEqual([device.badge, device.shelf.size], [1, 0])
    device.leave()
})

test("the inbox is asked for where the stream was live while the store was opened, and stalls since", async () => {
    const server = new Server(), device = new Device(server)
    server.happen("A")
    let open
    device.opening = new Promise(resolve => { open = resolve })
    const visit = device.visit()
    await settle()
    await device.connect()
    device.say({ source: { state: "stalled", ts: 1 } })
    open()
    await visit
    assert.deepEqual([device.isLive, device.badge], [false, 1])
    device.leave()
})

test("there is no badge before a server has told one, and a question that failed is asked again", async () => {
    const server = new Server(), device = new Device(server)
    for (const id of ["A", "B"]) server.happen(id)
    const asked = () => device.asked.filter(path => path === "/inbox/v1").length
    device.isOnline = false
    await device.visit()
    await device.app.read({ thing: { entity: "incident", id: "A" }, last: { aid: "e0000" } })
    await device.app.actions.set("pin", "A", "yes")
    assert.equal(device.badge, null)
    await device.connect()
    assert.deepEqual([device.badge, device.failures], [null, ["unreachable"]])
    server.refusals = [answerOf(503, "", { "Retry-After": "31" })]
    device.isOnline = true
    await device.world.pass(1_000)
    assert.deepEqual([device.badge, device.failures], [null, ["unreachable", "unavailable"]])
    // Not before the server wants it, whatever happens.
    assert.equal(asked(), 1)
    server.happen("C")
    await device.hear(30)
    assert.equal(asked(), 1)
    await device.hear(20)
    assert.deepEqual([asked(), device.badge], [2, 2])
    // What comes in a row is asked for at once and, behind a wait, once more.
    for (const id of ["D", "E", "F"]) {
        server.happen(id)
        await device.world.pass(0)
        assert.deepEqual([asked(), device.badge], [3, 3])
    }
    await device.world.pass(1_500)
    assert.deepEqual([asked(), device.badge], [4, 5])
    device.leave()
})

test("a mark counts in each tab, and one that was refused in none", async () => {
    const server = new Server(), browser = new SharedBrowser(new World().environment()), shelves = new Map()
    for (const id of ["A", "B"]) server.happen(id)
    const open = async () => (await new Device(server, { browser, shelves }).visit()).connect()
    const tabs = [await open(), await open()]
    const badges = () => tabs.map(({ badge }) => badge)
    for (const refusesMarks of [true, false]) {
        server.refusesMarks = refusesMarks
        await tabs[1].app.read(tabs[1].inbox[0])
        await settle()
        assert.deepEqual(badges(), [1, 1])
        for (const { world } of tabs) await world.pass(10_000)
        assert.deepEqual([badges(), tabs[0].shelf.size], [refusesMarks ? [2, 2] : [1, 1], 0])
    }
    for (const tab of tabs) tab.leave()
})
