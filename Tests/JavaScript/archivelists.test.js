// shell/archivelist.js: pages of the archive load what is unknown of a list, from both of its ends and from the middle.
import assert from "node:assert/strict"
import { test } from "node:test"
import { ArchivePageSource, eventKey } from "../../Sources/LiveClientJS/archive.js"
import { Screens } from "../../Sources/LiveClientJS/livegate.js"
import { ArchiveWorld, answerOf, lineOf } from "./archiveworld.js"

/** An archive that answers as a gateway does, a screen of the past on it, and what comes live. */
class Past extends ArchiveWorld {
    /** The oldest first. */
    aids = []
    /** Answers that are due before those of the archive. */
    refusals = []
    states = []
    gaps = []
    told = []
    #last = 0

    constructor(aids) {
        super(() => this.refusals.shift()?.() ?? answerOf(200, this.#page(this.requests.at(-1).parameters))())
        this.aids = aids
        this.source = new ArchivePageSource(this.archive(), { entities: ["incident"] }, { onGaps: gaps => this.told.push(gaps) })
        this.screens = new Screens({
            environment: this.environment(), settings: { lists: { pageLimit: 3 } },
            api: { page: options => this.source.page(options), reload: (thing, options) => this.source.reload(thing, options) },
        })
        this.screens.setFinger(true)
        this.screens.setLive(true)
        this.list = this.screens.list({
            name: "past", entity: "past", key: ({ aid }) => eventKey(aid), listener: state => this.states.push(state) })
    }

    #page({ before = "~", after = "", order, limit }) {
        const fits = this.aids.filter(aid => aid < before && aid > after)
        if (order !== "asc") fits.reverse()
        return { events: fits.slice(0, limit).map(aid => lineOf(aid)), more: fits.length > limit, gaps: this.gaps }
    }

    happen(aid, isWritten = true) {
        if (isWritten) this.aids = [...this.aids, aid].sort()
        this.source.keep({ entity: "incident", id: `P${aid}`, type: "created", aid })
        this.screens.reload({ number: this.#last += 1, thing: { entity: "past", id: aid }, types: ["created"] })
    }

    get stretch() { return this.states.at(-1).stretch }
    /** Behind which ids pages were asked for, since the last time. */
    takePlaces() { return this.requests.splice(0).map(({ parameters: { before, after } }) => before ?? after ?? "an end") }
}

const alphabet = [..."abcdefghijkl"]

test("from now backwards page by page, with what comes live on top, and nothing is asked for twice", async () => {
    const past = new Past(alphabet)
    past.list.show({ from: { end: {} }, direction: "backward", count: 4 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.stretch.isComplete, past.takePlaces()], ["lkjihg", false, ["an end", "j"]])
    past.happen("m")
    // One that is late, where nothing is known yet, and one where it is.
    for (const late of ["bb", "hh"]) past.happen(late)
    await past.pass(0)
    assert.deepEqual(past.stretch.ids, ["m", "l", "k", "j", "i", "hh", "h", "g"])
    past.list.show({ from: { end: {} }, direction: "backward", count: 50 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(" "), past.stretch.isComplete], ["m l k j i hh h g f e d c bb b a", true])
    assert.deepEqual(past.takePlaces(), ["g", "d", "b"])
    assert.deepEqual(past.states.at(-1).knowledge, "known")
})

test("an event that came late is not lost to a page which the archive gives before it has it", async () => {
    const past = new Past(alphabet)
    past.list.show({ from: { end: {} }, direction: "backward", count: 3 })
    await past.pass(0)
    for (const late of ["_", "bb", "ee", "hh"]) past.happen(late, false)
    // Not the list's.
    past.source.keep({ entity: "note", id: "N", type: "created", aid: "cc" })
    await past.pass(0)
    assert.deepEqual(past.stretch.ids.slice(0, 3), ["l", "k", "j"])
    past.list.show({ from: { end: {} }, direction: "backward", count: 50 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(" "), past.stretch.isComplete], ["l k j i hh h g f ee e d c bb b a _", true])
    // What was erased does not come back.
    past.source.forget()
    past.screens.setFinger(false)
    past.screens.setFinger(true)
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.stretch.isStale], ["lkjihgfedcba", false])
    // From the oldest on.
    const forward = new Past(["b", "d"])
    forward.source.keep({ entity: "incident", id: "Pc", type: "created", aid: "c" })
    forward.list.show({ from: { beginning: {} }, direction: "forward", count: 9 })
    await forward.pass(0)
    assert.deepEqual([forward.stretch.ids.join(""), forward.stretch.isComplete], ["bcd", true])
})

test("a screen that jumps into the middle knows two stretches, which become one when they meet", async () => {
    const past = new Past(alphabet)
    past.list.show({ from: { end: {} }, direction: "backward", count: 3 })
    await past.pass(0)
    // At an event that is there, and with it, in both directions.
    past.list.show({ from: { at: { key: eventKey("f") } }, direction: "backward", count: 2 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.states.at(-1).complete.length, past.takePlaces()], ["fed", 2, ["an end", "g"]])
    past.list.show({ from: { at: { key: eventKey("f") } }, direction: "forward", count: 9 })
    await past.pass(0)
    // Whether anything lies between "i" and "j" nobody has said yet.
    assert.deepEqual([past.stretch.ids.join(""), past.stretch.isComplete, past.takePlaces()], ["fghijkl", true, ["f", "i"]])
    assert.equal(past.states.at(-1).complete.length, 1)
    past.list.show({ from: { beginning: {} }, direction: "forward", count: 12 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.stretch.isComplete, past.takePlaces()], ["abcdefghijkl", true, ["an end", "c"]])
})

test("after a resync all of it is old, and loaded again from where somebody looks", async () => {
    const past = new Past(alphabet)
    past.list.show({ from: { end: {} }, direction: "backward", count: 12 })
    await past.pass(0)
    past.takePlaces()
    past.screens.setFinger(false)
    past.aids = [...past.aids.filter(aid => aid !== "k"), "n"]
    assert.deepEqual([past.stretch.isStale, past.stretch.ids.length], [true, 12])
    past.screens.setFinger(true)
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.stretch.isStale, past.takePlaces().length], ["nljihgfedcba", false, 4])
})

test("a page that fails is asked for again behind a wait, and a refusal when somebody looks again", async () => {
    const past = new Past(alphabet)
    past.refusals = [answerOf(500), answerOf(200, "<html>"), answerOf(404)]
    past.list.show({ from: { end: {} }, direction: "backward", count: 3 })
    await past.pass(60_000)
    // Two that may be mended, and one that says that there is no archive.
    assert.deepEqual([past.takePlaces().length, past.stretch.ids, past.states.at(-1).isLoading], [3, [], false])
    past.list.show({ from: { end: {} }, direction: "backward", count: 3 })
    await past.pass(0)
    assert.deepEqual([past.stretch.ids.join(""), past.takePlaces()], ["lkj", ["an end"]])
})

test("a screen that goes away gives its page up", async () => {
    const past = new Past(alphabet)
    past.refusals = [() => new Promise(() => {})]
    past.list.show({ from: { end: {} }, direction: "backward", count: 3 })
    await past.pass(0)
    const [{ signal }] = past.requests
    assert.equal(signal.aborted, false)
    past.list.hide()
    await past.pass(0)
    assert.deepEqual([signal.aborted, past.timers.length], [true, 0])
})

test("a list is told where the archive lacks something", async () => {
    const past = new Past(alphabet)
    past.gaps = [{ from: 5 }]
    past.list.show({ from: { end: {} }, direction: "backward", count: 6 })
    await past.pass(0)
    assert.deepEqual(past.told, [[{ from: 5 }], [{ from: 5 }]])
})

test("an event that came live is known without asking, and any other is asked for by its id alone", async () => {
    const past = new Past(["am", "an", "ao"]), { source } = past
    for (let number = 0; number <= 1_000; number += 1) source.keep({ ...lineOf(`k${number}`), entity: "incident" })
    assert.equal((await source.reload({ id: "k1000" })).value.aid, "k1000")
    assert.deepEqual(past.requests, [])
    assert.equal((await source.reload({ id: "an" })).value.id, "Pan")
    assert.deepEqual(past.requests[0].parameters, { before: "ao", after: "am", ent: "incident", limit: "1" })
    // The oldest was let go; and what is not there is gone.
    for (const id of ["k0", "ab"]) assert.deepEqual(await source.reload({ id }), { gone: {} })
    // What is none of the list's is not kept, so it is not there either.
    const foreign = [{ ...lineOf("zz"), entity: "note" }, { entity: "incident", id: "P", type: "created" }]
    assert.deepEqual(foreign.map(event => source.keep(event)), [false, false])
    assert.deepEqual(await source.reload({ id: "zz" }), { gone: {} })
    const limited = new ArchivePageSource(past.archive(), { after: "am", before: "ao" })
    const kept = past.aids.map(aid => limited.keep({ ...lineOf(aid), entity: "incident" }))
    assert.deepEqual(kept, [false, true, false])
    past.requests.length = 0
    for (const id of ["am", "ao"]) assert.deepEqual(await limited.reload({ id }), { gone: {} })
    assert.deepEqual(past.requests, [])
    past.refusals = [answerOf(503)]
    await assert.rejects(source.reload({ id: "an" }), { name: "RequestError", status: 503 })
})
