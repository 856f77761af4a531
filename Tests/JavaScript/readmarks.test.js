// core/eventid.js, shell/readmarks.js: ids by their bytes, read marks at once and as deferrable actions (EventIDTests.swift,
// ReadMarkTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { eventIDAfter, eventIDBefore } from "../../Sources/LiveClientJS/core/eventid.js"
import {
    compareEventIDs, eventKey, isEventID, markCovers, markRead, readKind, readMarkID, readMarkOf,
} from "../../Sources/LiveClientJS/archive.js"
import { MemoryActionStore, compareKeys, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { ArchiveWorld, answerOf } from "./archiveworld.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { settle } from "./world.js"

const incident = { entity: "incident", id: "a\"é" }
const body = '{"ent":"incident","id":"a\\"é","aid":"m"}'

test("an id is 1 to 40 bytes that a URL carries unchanged", () => {
    for (const id of ["a", "AZ09-_az", "0".repeat(40)]) assert.ok(isEventID(id), id)
    for (const id of ["", "0".repeat(41), "a b", "a/b", "a.b", "a%41", "é", "a\n", 7, null, undefined]) assert.ok(!isEventID(id), id)
})

test("ids stand in the order of their bytes, whatever a language thinks of their letters, and lists agree", () => {
    const ids = ["-", "0", "9", "A", "Z", "_", "a", "aa", "b", "z"]
    assert.deepEqual([...ids].reverse().sort(compareEventIDs), ids)
    assert.deepEqual([...ids].reverse().sort((a, b) => compareKeys(eventKey(a), eventKey(b))), ids)
    for (const id of ids) assert.equal(compareEventIDs(id, id), 0)
})

test("the places beside an id lie between it and every other of its length", () => {
    const rows = [["a", "_", "b"], ["a-", "_z", "a0"], ["az", "ay", "b-"], ["0zz", "0zy", "1--"], ["0--", "-zz", "0-0"]]
    for (const [id, before, after] of rows) assert.deepEqual([eventIDBefore(id), eventIDAfter(id)], [before, after], id)
    // What no server has given stays as it is.
    assert.deepEqual([eventIDBefore("é"), eventIDAfter("é")], ["é", "é"])
})

test("a mark covers what happened up to its event, of its thing or of everything", () => {
    const other = { entity: "incident", id: "B" }, mark = { thing: incident, upTo: "m" }
    const rows = [[mark, "l", incident, true], [mark, "m", incident, true], [mark, "n", incident, false], [mark, "l", other, false],
        [{ upTo: "m" }, "m", other, true], [{ upTo: "m" }, "ma", incident, false]]
    for (const [of, aid, thing, isCovered] of rows) assert.equal(markCovers(of, aid, thing), isCovered)
})

test("an action of a mark is that mark again, and what is no mark is taken for none", () => {
    for (const thing of [undefined, incident, { entity: "a", id: "]" }]) {
        assert.deepEqual(readMarkOf({ id: readMarkID(thing), value: "m" }), thing ? { thing, upTo: "m" } : { upTo: "m" })
    }
    const none = ["", "{}", "[1,2]", '["a"]', '["a","b","c"]', '["",""]', "incident", "null", "[null,null]"]
    for (const id of none) assert.equal(readMarkOf({ id, value: "m" }), null, id)
    assert.equal(readMarkOf({ id: "[]", value: "" }), null)
})

const bodiesOf = world => world.requests.map(request => request.body)

test("a mark is posted as it is, and sent again after a 401 with another token", async () => {
    const world = new ArchiveWorld(answerOf(401), answerOf(204))
    await world.archive().markRead({ thing: incident, upTo: "m" })
    assert.deepEqual(bodiesOf(world), [body, body])
    assert.deepEqual(world.requests.map(({ path, method, token, headers }) => [path, method, token, headers["Content-Type"]]),
        ["t1", "t2"].map(token => ["/inbox/v1/read", "POST", token, "application/json"]))
    await world.archive().markRead({ upTo: "m" })
    assert.equal(bodiesOf(world).at(-1), '{"aid":"m"}')
})

test("a mark that is refused says why, and whoever answers 200 has none", async () => {
    for (const [status, kind] of [[403, "forbidden"], [200, "unreachable"], [404, "off"]]) {
        await assert.rejects(new ArchiveWorld(answerOf(status)).archive().markRead({ upTo: "m" }), { kind })
    }
})

const actionOf = (thing, key) => ({ kind: readKind, id: readMarkID(thing), value: "m", key, at: 0 })

test("each action has its own result, until the server cannot answer", async () => {
    const world = new ArchiveWorld(
        answerOf(204), answerOf(400), answerOf(503, "", { "Retry-After": "7" }), answerOf(204))
    const sent = [actionOf(incident, "1"), { ...actionOf(undefined, "2"), id: "incident" }, ...["3", "4", "5"].map(key => (
        actionOf(undefined, key)))]
    assert.deepEqual(await world.archive().sendReadMarks(sent), [
        { key: "1", status: 204 }, { key: "2", status: 400 }, { key: "3", status: 400 }, { key: "4", status: 503, retryAfter: 7_000 }])
    // What was not answered is no result, and a first one of that kind fails as a whole.
    for (const [answers, results, status] of [[[answerOf(204), answerOf(401)], 1], [[answerOf(401)], 0, 401],
        [[answerOf(204), answerOf(200, "<html>")], 1], [[answerOf(200)], 0, undefined],
        [[() => { throw new TypeError("Failed to fetch") }], 0, undefined]]) {
        const sending = new ArchiveWorld(...answers).archive().sendReadMarks([actionOf(incident, "1"), actionOf(undefined, "2")])
        if (results > 0) assert.deepEqual(await sending, [{ key: "1", status: 204 }])
        else await assert.rejects(sending, { name: "RequestError", status })
    }
})

test("on a slow way marks are given in parts, before the actions give all of them up", async () => {
    for (const [each, count] of [[100, 50], [3_000, 7], [25_000, 1]]) {
        const world = new ArchiveWorld(() => {
            world.time += each
            return answerOf(204)()
        })
        const sent = Array.from({ length: 50 }, (_, index) => actionOf(undefined, `${index}`))
        const results = await world.archive().sendReadMarks(sent)
        assert.deepEqual(results, sent.slice(0, count).map(({ key }) => ({ key, status: 204 })))
        assert.equal(world.requests.length, count)
    }
})

/** A device with marks: what its store has outlives its starts. */
class Device {
    shelf = new Map()
    shown = []

    constructor(...answers) {
        this.world = new ArchiveWorld(...answers)
        this.archive = this.world.archive()
    }

    open(environment = this.world.environment(), sharedName) {
        return openActions({
            environment, renewToken: async () => {}, send: (actions, signal) => this.archive.sendReadMarks(actions, signal),
            store: new MemoryActionStore({ shelf: this.shelf, sharedName, show: (_, id, value) => this.shown.push(value) }),
        })
    }
}

test("a mark never goes back on the device, in whatever order marks reach the store", async () => {
    const device = new Device(answerOf(204)), actions = await device.open()
    actions.networkChanged(false)
    const numbers = Array.from({ length: 50 }, (_, index) => `m${(index * 37) % 50 + 10}`)
    await Promise.all(numbers.map(upTo => markRead(actions, { thing: incident, upTo })))
    assert.deepEqual(actions.pending.map(({ value }) => value), ["m59"])
    assert.deepEqual(device.shown, [...device.shown].sort())
    assert.equal(device.shown.at(-1), "m59")
    // Nor behind what the app knows to be read.
    await markRead(actions, { upTo: "a" }, { from: "b" })
    await markRead(actions, { upTo: "b" }, { from: "b" })
    assert.equal(actions.pending.length, 1)
    await assert.rejects(markRead(actions, { upTo: "" }), TypeError)
    actions.close()
})

test("a mark survives a restart, and is gone once the server has it", async () => {
    const device = new Device(answerOf(204)), first = await device.open()
    first.networkChanged(false)
    for (const upTo of ["m", "m", "l"]) await markRead(first, { thing: incident, upTo })
    first.close()
    assert.deepEqual([device.shelf.size, device.world.requests], [1, []])
    const second = await device.open()
    await device.world.pass(3_000)
    assert.deepEqual([bodiesOf(device.world), device.shelf.size, second.pending], [[body], 0, []])
    second.close()
})

test("a 401 has another token asked for once, and the marks are sent then", async () => {
    const device = new Device(answerOf(204), answerOf(401), answerOf(204)), actions = await device.open()
    for (const id of ["A", "B"]) await markRead(actions, { thing: { entity: "incident", id }, upTo: "m" })
    await device.world.pass(30_000)
    assert.deepEqual([device.world.requests.length, device.shelf.size], [3, 0])
    actions.close()
})

test("of two tabs neither takes a mark back that the other has made", async () => {
    const device = new Device(answerOf(204)), world = device.world, browser = new SharedBrowser(world.environment())
    const open = async () => device.open({ ...world.environment(), ...browser.tab().environment }, "marks")
    const [one, other] = [await open(), await open()]
    for (const tab of [one, other]) tab.networkChanged(false)
    await settle()
    await Promise.all([markRead(one, { upTo: "n" }), markRead(other, { upTo: "m" })])
    await markRead(one, { upTo: "m" })
    await settle()
    assert.deepEqual([[...device.shelf.values()].map(({ value }) => value), device.shown.at(-1)], [["n"], "n"])
    for (const tab of [one, other]) tab.close()
})
