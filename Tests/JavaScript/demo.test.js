// The parts of the demo's page that need no browser: what is known, what waits to be sent, and what people are told.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

import { Incidents, idOf } from "../../Sources/DemoPage/page/incidents.js"
import { Outbox } from "../../Sources/DemoPage/page/outbox.js"
import { Sign } from "../../Sources/DemoPage/page/sign.js"
import { MemoryActionStore, MemoryStore } from "../../Sources/LiveClientJS/livegate.js"
import { World, settle } from "./world.js"

const sources = fileURLToPath(new URL("../../Sources/", import.meta.url))
const names = incidents => incidents.map(({ id }) => id)
const refusal = status => Object.assign(new Error(`status ${status}`), { status })

/** The demo's API. A question waits in `held` where the test wants it, and is answered as it was when it was asked. */
class FakeAPI {
    incidents = []
    held = null
    asked = []

    constructor(count) { for (let number = 1; number <= count; number++) this.add(number) }

    add(number) { this.incidents.push({ id: `I${number}`, number, status: "triggered", updated_at: number }) }
    get(id) { return this.incidents.find(incident => incident.id === id) }
    change(id, changes) { this.incidents = this.incidents.map(old => old.id === id ? { ...old, ...changes } : old) }
    remove(id) { this.incidents = this.incidents.filter(incident => incident.id !== id) }

    list(from, limit) {
        return this.#answer(`list ${from} ${limit}`, () => {
            if (from && !this.get(from)) throw refusal(404)
            const newest = this.incidents.filter(({ number }) => !from || number < this.get(from).number).reverse()
            return { incidents: newest.slice(0, limit), more: newest.length > limit }
        })
    }

    details(id) {
        return this.#answer(`details ${id}`, () => {
            if (!this.get(id)) throw refusal(404)
            return { ...this.get(id), notes: [`note of ${id}`] }
        })
    }

    /** Answers what waits, or of that what begins so. */
    release(beginning = "") {
        for (const { question, resolve } of this.held) if (question.startsWith(beginning)) resolve()
        if (beginning === "") this.held = null
    }

    async #answer(question, answer) {
        this.asked.push(question)
        const now = (() => { try { return { value: answer() } } catch (error) { return { error } } })()
        if (this.held) await new Promise(resolve => this.held.push({ question, resolve }))
        if (now.error) throw now.error
        return now.value
    }
}

/** The page's incidents on a gateway that the test plays. */
async function begun(api, store = null) {
    const world = new World()
    const { client } = world.client()
    const incidents = new Incidents({ api, client, store, now: () => world.time, read: () => {}, changed: () => {} })
    incidents.showList(true)
    return { world, client, incidents, api }
}

/** The gateway lets it register and follow: its stream says where it begins. */
async function connected(scene) {
    const { world } = scene
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "F" } })
    await settle()
    return scene
}

const say = ({ world }, id, type, at) => world.socket.say({ ent: "incident", id, type, at })

test("the list is as long as what is known without a gap, changes by itself and is loaded by the page", async () => {
    const scene = await connected(await begun(new FakeAPI(60)))
    const { incidents, api } = scene
    assert.deepEqual([names(incidents.list.incidents).at(-1), incidents.list.incidents.length], ["I36", 25])
    assert.deepEqual([incidents.list.hasMore, incidents.list.isOld, incidents.isConnected], [true, false, true])
    api.add(61)
    say(scene, "I61", "created", "C1")
    api.change("I50", { status: "resolved" })
    say(scene, "I50", "resolved", "C2")
    say(scene, "I2", "resolved", "C3")
    await settle()
    assert.deepEqual([names(incidents.list.incidents)[0], incidents.list.incidents.length], ["I61", 26])
    assert.equal(incidents.list.incidents.find(({ id }) => id === "I50").status, "resolved")
    assert.deepEqual(api.asked.filter(question => question.startsWith("details")), ["details I61", "details I50"])
    // What stood last is deleted: the API knows no page behind it any more.
    api.remove("I36")
    say(scene, "I36", "deleted", "C4")
    await settle()
    incidents.showMore()
    await settle()
    assert.deepEqual(names(incidents.list.incidents).slice(24, 27), ["I37", "I35", "I34"])
    assert.deepEqual([incidents.list.hasMore, names(incidents.list.incidents).at(-1)], [false, "I1"])
    scene.client.close()
})

test("it counts how long events take to the screen, what was fetched for them, and who reloads the page", async () => {
    const scene = await connected(await begun(new FakeAPI(60)))
    const { incidents, api, world } = scene
    const before = { day: "1969-12-01", screen: "incidents", manual: 2, automatic: 3 }
    incidents.goOn([before], true)
    api.change("I50", { status: "resolved" })
    world.socket.say({ ent: "incident", id: "I50", type: "resolved", at: "C1", ts: world.time - 300 })
    // Nobody sees it.
    world.socket.say({ ent: "incident", id: "I2", type: "resolved", at: "C2", ts: world.time - 900 })
    await settle()
    const [{ manual, automatic }, today] = incidents.refreshes()
    assert.deepEqual([manual, automatic], [2, 3])
    const { screen, latency, made, merged, avoided } = today
    assert.deepEqual([screen, today.manual, today.automatic, latency], ["incidents", 1, 1, [0, 0, 1, 0, 0, 0, 0, 0, 0]])
    assert.deepEqual({ made, merged, avoided }, { made: 1, merged: 0, avoided: 1 })
    // What was looked at once is not counted twice.
    assert.deepEqual(incidents.refreshes()[1], today)
    scene.client.close()
})

test("an older page that comes after a resync leaves no hole in the list", async () => {
    const scene = await connected(await begun(new FakeAPI(60)))
    const { incidents, api, world } = scene
    api.held = []
    incidents.showMore()
    await settle()
    const older = api.held[0].resolve
    for (let number = 61; number <= 100; number++) api.add(number)
    world.socket.say({ resync: { why: "expired", at: "R" } })
    await settle()
    assert.equal(incidents.list.isOld, true)
    older()
    await settle()
    api.release()
    await world.pass(1_000)
    const numbers = incidents.list.incidents.map(({ number }) => number)
    assert.deepEqual(numbers, Array.from(numbers, (_, index) => 100 - index))
    assert.equal(incidents.list.isOld, false)
    scene.client.close()
})

test("an event whose incident does not come makes the connection's sign say so after five seconds", async () => {
    const scene = await connected(await begun(new FakeAPI(3)))
    const { incidents, api, world } = scene
    api.held = []
    say(scene, "I3", "resolved", "C1")
    await world.pass(4_000)
    assert.equal(incidents.isConnected, true)
    await world.pass(2_000)
    assert.deepEqual([incidents.isConnected, Object.keys(incidents.sign)], [false, ["connecting"]])
    api.release()
    await settle()
    assert.deepEqual([incidents.isConnected, incidents.sign], [true, undefined])
    scene.client.close()
})

test("details have notes, keep them when a page comes, say what is gone, and count what was just done", async () => {
    const scene = await connected(await begun(new FakeAPI(30)))
    const { incidents, api, world } = scene
    incidents.showDetails("I30")
    await settle()
    assert.deepEqual(incidents.details.incident.notes, ["note of I30"])
    incidents.answered({ ...api.get("I30"), status: "resolved", updated_at: 100, notes: ["another"] })
    assert.equal(incidents.details.incident.status, "resolved")
    assert.equal(incidents.list.incidents[0].status, "resolved")
    api.change("I30", { status: "triggered", updated_at: 101 })
    api.held = []
    world.socket.say({ resync: { why: "expired", at: "R" } })
    await settle()
    // The page is answered before the details.
    api.release("list")
    await settle()
    const { status, notes } = incidents.details.incident
    assert.deepEqual([status, notes], ["triggered", ["note of I30"]])
    api.release()
    await world.pass(1_000)
    api.remove("I30")
    say(scene, "I30", "deleted", "C1")
    await settle()
    assert.deepEqual([incidents.details.isGone, incidents.details.incident], [true, undefined])
    scene.client.close()
})

test("the next visit begins with what the last one knew, and goes on from there", async () => {
    const shelf = new Map()
    const first = await connected(await begun(new FakeAPI(3), new MemoryStore({ shelf })))
    await first.world.pass(1_000)
    first.client.close()
    const api = new FakeAPI(4)
    api.held = []
    const scene = await begun(api, new MemoryStore({ shelf }))
    const { incidents, client, world } = scene
    await world.pass(1_000)
    assert.deepEqual([names(incidents.list.incidents), incidents.isConnected], [["I3", "I2", "I1"], false])
    world.socket.open()
    api.change("I2", { status: "resolved" })
    say(scene, "I2", "resolved", "C1")
    say(scene, "I4", "created", "C2")
    world.socket.say({ live: { at: "C2" } })
    await settle()
    api.release()
    await settle()
    assert.deepEqual(names(incidents.list.incidents), ["I4", "I3", "I2", "I1"])
    assert.equal(incidents.list.incidents.find(({ id }) => id === "I2").status, "resolved")
    assert.deepEqual([incidents.list.isOld, incidents.isConnected], [false, true])
    client.close()
})

test("an address names an incident, or nothing", () => {
    const rows = [["", null], ["#list", null], ["#I1", "I1"], ["#a%20b", "a b"], ["#%", null], ["#%E0", null]]
    for (const [hash, id] of rows) assert.equal(idOf(hash), id, hash)
})

test("the sign's words come of what is shown, and those of a short gap late", () => {
    const sign = new Sign()
    const good = { sign: undefined, isConnected: true, isListOld: false, isOnline: true }
    const lost = { ...good, sign: { cannotConnect: { since: 1 } }, isConnected: false }
    const rows = [
        [0, { ...good, isConnected: false, isListOld: true }, null], [299, { ...good, isListOld: true }, null],
        [300, { ...good, isListOld: true }, "connecting"], [400, good, "connected"],
        [500, { ...good, isListOld: true }, null], [600, good, "connected"],
        [700, { ...good, sign: { connecting: { since: 1 } } }, "connecting"], [800, lost, "cannot connect"],
        [900, { ...lost, isOnline: false }, "offline"],
        [1_000, { ...good, sign: { sourceStalled: { since: 1 } } }, "the source of events is silent"],
    ]
    for (const [now, facts, text] of rows) assert.equal(sign.words(facts, now)?.[0] ?? null, text, `at ${now}`)
})

/** An outbox over a server that answers as the list says, one after the other, and then well. */
async function outboxOf(shelf, answers) {
    const made = { sent: [], told: [], done: [] }
    made.outbox = new Outbox({
        api: {
            act: async (id, verb, key) => {
                made.sent.push([id, verb, key])
                const status = answers.shift() ?? 200
                if (status !== 200) throw status ? refusal(status) : new TypeError("Failed to fetch")
                return { id }
            },
        },
        renewToken: async () => {}, changed: () => {}, done: ({ id }) => made.done.push(id),
        rejected: (id, status) => made.told.push([id, status]), unauthorized: () => made.told.push("unauthorized"),
    })
    await made.outbox.open(new MemoryActionStore({ shelf, show: () => {} }))
    return made
}

/** Until nothing waits any more. */
async function settled({ outbox }) {
    for (let turns = 0; outbox.count > 0; turns++) {
        assert.ok(turns < 10_000, "it is never sent")
        outbox.networkChanged(false)
        outbox.networkChanged(true)
        await new Promise(resolve => setImmediate(resolve))
    }
    outbox.close()
}

test("what was not sent is sent by the next visit with the same key, and then nothing is left", async () => {
    const shelf = new Map()
    const first = await outboxOf(shelf, [])
    first.outbox.networkChanged(false)
    await first.outbox.set("A", "acknowledged", "triggered")
    await first.outbox.set("A", "resolved", "triggered")
    assert.equal(first.outbox.pending("A"), "resolved")
    assert.equal(shelf.size, 1)
    const [{ key }] = shelf.values()
    first.outbox.close()
    const second = await outboxOf(shelf, [0, 503])
    await settled(second)
    assert.deepEqual(second.sent, Array(3).fill(["A", "resolve", key]))
    assert.deepEqual([shelf.size, second.told, second.done, first.sent], [0, [], ["A"], []])
})

test("what is refused is given up and told, and a note that cannot be added is not kept", async () => {
    const shelf = new Map()
    const made = await outboxOf(shelf, [409, 503])
    await made.outbox.set("A", "acknowledged", "triggered")
    made.outbox.flush()
    for (let turns = 0; made.told.length === 0 && turns < 10_000; turns++) await settle()
    assert.deepEqual([made.told, shelf.size, made.outbox.pending("A")], [[["A", 409]], 0, undefined])
    await assert.rejects(made.outbox.addNote("A", "text"), { kind: "unavailable" })
    await made.outbox.addNote("A", "text")
    assert.deepEqual([made.done, shelf.size], [["A"], 0])
    made.outbox.close()
})

test("a note that may have been added is sent again with its key, and another one with another", async () => {
    const made = await outboxOf(new Map(), [0])
    await assert.rejects(made.outbox.addNote("A", "text"), { kind: "unknown" })
    for (const [id, text] of [["A", "text"], ["A", "text"], ["A", "more"]]) await made.outbox.addNote(id, text)
    const keys = made.sent.map(([, , key]) => key)
    assert.deepEqual([keys[0] === keys[1], new Set(keys).size], [true, 3])
    made.outbox.close()
})

test("a note has a key on a page of plain http too", async context => {
    context.mock.method(crypto, "randomUUID", () => { throw new TypeError("crypto.randomUUID is not a function") })
    const made = await outboxOf(new Map(), [])
    await made.outbox.addNote("A", "text")
    assert.match(made.sent[0][2], /^[0-9a-z]+(-[0-9a-z]+){3}$/)
    made.outbox.close()
})

/** Addresses of others in the code, without its comments; the name of SVG's elements is none. */
function outside(text) {
    const code = text.split("\n").filter(line => !/^\s*(\/\/|\*|\/\*\*)/.test(line)).join("\n")
    return [...code.matchAll(/https?:\/\/[\w.]+/g)].map(([url]) => url).filter(url => url !== "http://www.w3.org")
}

test("the page has its scripts and styles in files, of which the binary has every one, and asks nobody else", () => {
    const list = readFileSync(`${sources}DemoPage/DemoPage.c`, "utf8")
    const listed = new Set([...list.matchAll(/FILE\("([^"]+)"/g)].map(match => match[1]))
    const page = readFileSync(`${sources}DemoPage/page/index.html`, "utf8")
    const open = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
    assert.ok(open.includes("/DemoPage/page/main.js") && open.includes("/DemoPage/page/page.css"))
    assert.doesNotMatch(page, /<script(?! type="module" src=)|<style|\son\w+=|\sstyle=/)
    const seen = new Set()
    while (open.length > 0) {
        const path = open.pop()
        if (seen.has(path)) continue
        seen.add(path)
        assert.ok(listed.has(path), `${path}: add it to Sources/DemoPage/DemoPage.c`)
        const text = readFileSync(sources + path.slice(1), "utf8")
        assert.deepEqual(outside(text), [], `${path} asks somebody else`)
        for (const [, name] of text.matchAll(/(?:import|export)[^;]*? from "(\.[^"]+)"/g)) {
            open.push(new URL(name, `http://x${path}`).pathname)
        }
    }
    const unused = [...listed].filter(path => path.endsWith(".js") && !seen.has(path))
    assert.deepEqual(unused, [], "nothing imports these: take them out of Sources/DemoPage/DemoPage.c")
})
