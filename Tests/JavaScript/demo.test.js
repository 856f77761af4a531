// The parts of the demo's page that need no browser: what is known, and what waits to be sent.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

import { Board } from "../../Sources/DemoPage/page/board.js"
import { Outbox } from "../../Sources/DemoPage/page/outbox.js"

const sources = fileURLToPath(new URL("../../Sources/", import.meta.url))
const incident = (id, number, more = {}) => ({ id, number, status: "triggered", updated_at: number, ...more })

test("a list is as long as what is known of it without a gap", () => {
    const board = new Board()
    assert.equal(board.lists("A"), false)
    board.reset({ incidents: [incident("C", 3), incident("B", 2)], more: true }, null)
    board.put(incident("A", 1))
    assert.deepEqual(board.rows().map(row => row.id), ["C", "B"])
    board.put(incident("D", 4))
    assert.deepEqual(board.rows().map(row => row.id), ["D", "C", "B"])
    assert.equal(board.last, "B")
    board.append({ incidents: [incident("A", 1)], more: false })
    assert.deepEqual([board.rows().map(row => row.id), board.more], [["D", "C", "B", "A"], false])
    board.remove("C")
    assert.deepEqual(board.rows().map(row => row.id), ["D", "B", "A"])
})

test("an answer that is older than what is shown changes nothing, and a list's answer keeps the notes", () => {
    const board = new Board()
    board.reset({ incidents: [], more: false }, null)
    board.put(incident("A", 1, { updated_at: 20, status: "resolved", notes: ["n"] }))
    board.put(incident("A", 1, { updated_at: 10, status: "acknowledged" }))
    board.put(incident("A", 1, { updated_at: 20, status: "resolved" }))
    assert.deepEqual(board.get("A"), incident("A", 1, { updated_at: 20, status: "resolved", notes: ["n"] }))
    board.reset({ incidents: [incident("B", 2)], more: false }, "A")
    assert.deepEqual(board.rows().map(row => row.id), ["B", "A"])
})

/** localStorage, as far as it is used. */
class Storage {
    map = new Map()
    get length() { return this.map.size }
    key(index) { return [...this.map.keys()][index] }
    getItem(name) { return this.map.get(name) ?? null }
    setItem(name, text) { this.map.set(name, text) }
    removeItem(name) { this.map.delete(name) }
}

/** An outbox over a server that answers as the list says, one after the other, and then well. */
function outbox(storage, answers) {
    const made = { sent: [], told: [] }
    made.outbox = new Outbox({
        account: "ONE", storage, changed: () => {}, done: () => {},
        send: async (id, verb, key) => {
            made.sent.push([id, verb, key])
            const status = answers.shift() ?? 200
            if (status !== 200) throw Object.assign(new Error(), { status })
            return { id }
        },
        rejected: (id, status) => made.told.push([id, status]), unauthorized: () => made.told.push("unauthorized"),
    })
    return made
}

/** Until nothing waits any more. */
async function settled({ outbox }) {
    for (let turns = 0; outbox.count > 0; turns++) {
        assert.ok(turns < 10_000, "it is never sent")
        outbox.network(false)
        outbox.network(true)
        await new Promise(resolve => setImmediate(resolve))
    }
}

test("what was not sent is sent by the next visit with the same key, and then nothing is left", async () => {
    const storage = new Storage()
    const first = outbox(storage, [])
    first.outbox.network(false)
    first.outbox.set("A", "acknowledged", "triggered")
    first.outbox.set("A", "resolved", "triggered")
    assert.equal(first.outbox.pending("A"), "resolved")
    assert.equal(storage.length, 1)
    const key = JSON.parse(storage.getItem("livegate.demo.ONE.A")).key
    clearTimeout(first.outbox.timer)
    const second = outbox(storage, [0, 503])
    second.outbox.start()
    await settled(second)
    assert.deepEqual(second.sent, Array(3).fill(["A", "resolve", key]))
    assert.deepEqual([storage.length, second.told, first.sent], [0, [], []])
})

test("what is refused is given up and told", async () => {
    const storage = new Storage()
    const made = outbox(storage, [409])
    made.outbox.start()
    made.outbox.set("A", "acknowledged", "triggered")
    await settled(made)
    assert.deepEqual([made.told, storage.length, made.outbox.pending("A")], [[["A", 409]], 0, undefined])
})

test("a row that another tab has put there is left to it", async () => {
    const storage = new Storage()
    const made = outbox(storage, [])
    made.outbox.start()
    made.outbox.set("A", "acknowledged", "triggered")
    const theirs = { kind: "status", id: "A", value: "resolved", key: "theirs" }
    storage.setItem("livegate.demo.ONE.A", JSON.stringify(theirs))
    await settled(made)
    assert.equal(JSON.parse(storage.getItem("livegate.demo.ONE.A")).key, "theirs")
})

test("the binary has every file that the page imports", () => {
    const list = readFileSync(`${sources}DemoPage/DemoPage.c`, "utf8")
    const listed = new Set([...list.matchAll(/FILE\("([^"]+)"/g)].map(match => match[1]))
    const open = ["/DemoPage/page/main.js"]
    const seen = new Set()
    while (open.length > 0) {
        const path = open.pop()
        if (seen.has(path)) continue
        seen.add(path)
        assert.ok(listed.has(path), `${path}: add it to Sources/DemoPage/DemoPage.c`)
        const text = readFileSync(sources + path.slice(1), "utf8")
        for (const [, name] of text.matchAll(/(?:import|export)[^;]*? from "(\.[^"]+)"/g)) {
            open.push(new URL(name, `http://x${path}`).pathname)
        }
    }
    assert.ok(seen.size > 8)
})
