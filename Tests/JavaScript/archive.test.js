// archive.js, core/archive.js, shell/archive.js, archiverequests.js, archiveerror.js, archivelist.js: pages and
// inboxes, against a server that answers as it is told (LiveArchiveTests.swift, ArchiveErrorTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { readArchivePage, readInboxPage } from "../../Sources/LiveClientJS/core/archive.js"
import { ArchivePageSource, LiveArchive } from "../../Sources/LiveClientJS/archive.js"
import { LivegateError, RequestError } from "../../Sources/LiveClientJS/livegate.js"
import { ArchiveWorld, answerOf, cutBody, inboxOf, lineOf, pastOf } from "./archiveworld.js"
import { settle } from "./world.js"

const aidsOf = page => page.events.map(({ aid }) => aid)

async function all(pages) {
    const found = []
    for await (const page of pages) found.push(page)
    return found
}

test("pages lead backwards until the end, and the first says where to be live from", async () => {
    const gaps = [{ from: 5, to: 9 }, { to: 3 }, { from: 7 }, "gap", { from: -1, to: "9" }]
    const world = new ArchiveWorld(answerOf(200, pastOf(["e", "d"], true, { at: "here", gaps })),
        answerOf(200, pastOf(["c", "b"], true)), answerOf(200, pastOf(["a"])))
    const pages = world.archive().pages({ thing: { entity: "incident", id: "a b" }, entities: ["note"], limit: 2 })
    const found = await all(pages)
    assert.deepEqual(found.map(aidsOf), [["e", "d"], ["c", "b"], ["a"]])
    assert.deepEqual(found.map(({ more, at }) => [more, at]), [[true, "here"], [true, undefined], [false, undefined]])
    assert.deepEqual(found[0].gaps, [{ from: 5, to: 9 }, { from: 0, to: 3 }, { from: 7 }, { from: 0 }, { from: 0 }])
    assert.deepEqual(found[0].events[0], { entity: "incident", id: "Pe", type: "created", ts: 1795240000000, aid: "e" })
    const asked = { ent: "incident", id: "a b", limit: "2" }
    assert.deepEqual(world.requests.map(({ path, parameters }) => [path, parameters]), [
        ["/archive/v1", asked], ["/archive/v1", { ...asked, before: "d" }], ["/archive/v1", { ...asked, before: "b" }]])
    assert.deepEqual(world.requests.map(({ redirect }) => redirect), ["error", "error", "error"])
    // Each iteration begins again.
    assert.deepEqual((await all(pages)).map(aidsOf), [["a"]])
    assert.deepEqual(world.requests.at(-1).parameters, asked)
})

test("a page that failed is asked for again, and none is left out, also where two are asked for at once", async () => {
    const world = new ArchiveWorld(answerOf(200, pastOf(["a"], true)), answerOf(500), answerOf(200, pastOf(["b"], true)),
        answerOf(200, pastOf(["c"])))
    const pages = world.archive().pages({ order: "oldestFirst" })[Symbol.asyncIterator]()
    assert.deepEqual(aidsOf((await pages.next()).value), ["a"])
    await assert.rejects(pages.next(), { name: "LivegateError", kind: "unavailable", status: 500 })
    const [second, third] = await Promise.all([pages.next(), pages.next()])
    assert.deepEqual([second, third].map(({ value }) => aidsOf(value)), [["b"], ["c"]])
    assert.deepEqual(await pages.next(), { done: true, value: undefined })
    assert.deepEqual(world.requests.map(({ parameters }) => parameters),
        [{ order: "asc" }, { order: "asc", after: "a" }, { order: "asc", after: "a" }, { order: "asc", after: "b" }])
})

test("a reader that leaves asks for no further page", async () => {
    const world = new ArchiveWorld(answerOf(200, pastOf(["a"], true)))
    const pages = world.archive().pages()[Symbol.asyncIterator]()
    for await (const page of pages) if (page) break
    assert.deepEqual([await pages.next(), world.requests.length], [{ done: true, value: undefined }, 1])
    // Nor where a page is on its way when he leaves.
    const again = world.archive().pages()[Symbol.asyncIterator](), coming = again.next()
    await null
    await again.return()
    assert.deepEqual(aidsOf((await coming).value), ["a"])
    assert.deepEqual([(await again.next()).done, world.requests.length], [true, 2])
})

test("every parameter is asked for as it stands", async () => {
    const rows = [
        [{}, { ent: "incident,note" }],
        [{ before: "b&limit=1", after: "a", entities: ["call"] }, { before: "b&limit=1", after: "a", ent: "call" }],
        [{ from: 1.2, to: 2.7, entities: ["é ü"] }, { from: "2", to: "3", ent: "é ü" }],
        [{ from: -5, to: Infinity, limit: 500 }, { from: "0", to: "9007199254740991", ent: "incident,note", limit: "500" }],
        [{ thing: { entity: "call", id: "é/?" }, order: "newestFirst" }, { ent: "call", id: "é/?" }],
    ]
    const world = new ArchiveWorld(answerOf(200, pastOf(["a"])))
    const archive = world.archive({ entities: ["incident", "note"] })
    for (const [request, parameters] of rows) {
        await archive.page(request)
        assert.deepEqual(world.requests.at(-1).parameters, parameters)
    }
    // What would ask for something else, without a word.
    const wrong = [
        { before: "" }, { after: 7 }, { order: "asc" }, { thing: {} }, { thing: { entity: "incident", id: "" } },
        { entities: ["a,b"] }, { entities: [""] },
    ]
    for (const request of wrong) await assert.rejects(archive.page(request), TypeError)
    await assert.rejects(archive.inbox({ before: "" }), TypeError)
    await assert.rejects(archive.markRead({ thing: { entity: "incident" }, upTo: "a" }), TypeError)
    await assert.rejects(archive.markRead({ upTo: "" }), TypeError)
    assert.equal(world.requests.length, rows.length)
})

const good = answerOf(200, pastOf(["a"])), text = JSON.stringify(pastOf(["a"]))
const without = name => answerOf(200, JSON.stringify(pastOf(["a"]), (key, value) => key === name ? undefined : value))
const large = "x".repeat(2 ** 20)
/** What is answered, the error's kind and facts, and how many requests and ms it took. */
const rows = [
    [[good], null],
    [[answerOf(200, "<html>")], { kind: "unreachable" }], [[answerOf(200, "null")], { kind: "unreachable" }],
    [[answerOf(200, "")], { kind: "unreachable" }], [[answerOf(204)], { kind: "unreachable" }],
    ...["events", "more", "gaps", "aid", "ent", "type"].map(name => [[without(name)], { kind: "unreachable" }]),
    [[answerOf(200, pastOf(["a"], "yes"))], { kind: "unreachable" }],
    [[answerOf(200, pastOf([], false, { events: {} }))], { kind: "unreachable" }],
    [[answerOf(200, pastOf([], false, { events: [null] }))], { kind: "unreachable" }],
    [[answerOf(200, pastOf([7]))], { kind: "unreachable" }],
    // Cut, no UTF-8, too large, and by a connection that ends.
    [[answerOf(200, text.slice(0, -1))], { kind: "unreachable" }], [[answerOf(200, cutBody(text))], { kind: "unreachable" }],
    [[answerOf(200, new TextEncoder().encode(text).map(byte => byte === 0x50 ? 0xFF : byte))], { kind: "unreachable" }],
    [[answerOf(200, text + " ".repeat(2 ** 24))], { kind: "unreachable" }],
    [[() => { throw new TypeError("Failed to fetch") }], { kind: "unreachable" }],
    [[answerOf(401), good], null, 2], [[answerOf(401)], { kind: "unauthorized", status: 401 }, 2],
    [[answerOf(401), answerOf(503, "", { "Retry-After": "0" }), answerOf(401)], { kind: "unauthorized", status: 401 }, 3, 1_000],
    [[answerOf(400, { code: "bad_parameter", detail: "limit" })],
        { kind: "badRequest", status: 400, code: "bad_parameter", detail: "limit" }],
    [[answerOf(400, "no")], { kind: "badRequest", status: 400 }],
    [[answerOf(403, { code: "forbidden" })], { kind: "forbidden", status: 403, code: "forbidden" }],
    [[answerOf(404, { code: "not_found" })], { kind: "off", status: 404, code: "not_found" }],
    [[answerOf(408)], { kind: "unavailable", status: 408 }],
    [[answerOf(410, { code: "resync", at: "C" })], { kind: "refused", status: 410, code: "resync" }],
    [[answerOf(302)], { kind: "refused", status: 302 }], [[answerOf(499, large)], { kind: "refused", status: 499 }],
    [[answerOf(500, "", { "Retry-After": "1" })], { kind: "unavailable", status: 500, retryAfter: 1_000 }],
    [[answerOf(503)], { kind: "unavailable", status: 503 }],
    [[answerOf(503, "", { "Retry-After": "soon" })], { kind: "unavailable", status: 503 }],
    [[answerOf(503, "", { "Retry-After": "1" }), answerOf(429, "", { "Retry-After": "2" }), good], null, 3, 5_000],
    [[answerOf(503, "", { "Retry-After": "60" })], { kind: "unavailable", status: 503, retryAfter: 60_000 }],
    [[answerOf(503, "", { "Retry-After": "0" })], { kind: "unavailable", status: 503, retryAfter: 0 }, 5, 4_000],
]
rows.forEach(([answers, expected, requests = 1, milliseconds = 0], index) => {
    test(`each answer is a page, or says why there is none: ${index} ${expected?.kind ?? "a page"}`, async () => {
        const world = new ArchiveWorld(...answers)
        const { value, error } = await world.result(world.archive().page(), milliseconds)
        if (expected) {
            const { name, kind, status, code, detail, retryAfter } = error ?? {}
            assert.deepEqual({ name, kind, status, code, detail, retryAfter }, {
                name: "LivegateError", status: undefined, code: undefined, detail: undefined, retryAfter: undefined, ...expected })
            assert.ok(error.requestError instanceof RequestError && error.message)
            const { status: asked } = error.requestError
            assert.equal(asked, expected.kind === "unauthorized" ? 401 : expected.status)
        } else assert.deepEqual(aidsOf(value), ["a"])
        // Each request shows the token that the app has then, and a fresh one only after a 401.
        assert.deepEqual(world.requests.map(({ token }) => token), Array.from({ length: requests }, (_, at) => `t${at + 1}`))
        assert.deepEqual(world.asked.map((fresh, at) => fresh && at), world.asked.map((_, at) => (
            at > 0 && answers[Math.min(at, answers.length) - 1]().status === 401 ? at : false)))
    })
})

for (const [what, token, kind] of [
    ["nobody is signed in", () => null, "unauthorized"], ["a token is refused to the app", () => {
        throw Object.assign(new Error("signed out"), { isUnauthorized: true })
    }, "unauthorized"],
    ["a token cannot be got", () => { throw new RequestError(503) }, "unreachable"],
]) {
    test(`${what}: nothing is asked of the server`, async () => {
        const world = new ArchiveWorld(good)
        const { error } = await world.result(world.archive({ token }).page())
        assert.deepEqual([error.kind, error.requestError.status, world.requests.length],
            [kind, kind === "unauthorized" ? 401 : undefined, 0])
    })
}

test("a token that never comes, an answer that never begins or that stops is given up", async () => {
    const late = new ArchiveWorld(good)
    const { error } = await late.result(late.archive({ token: () => new Promise(() => {}) }).page(), 30_000)
    assert.equal(error.kind, "unreachable")
    for (const [answer, milliseconds] of [[() => new Promise(() => {}), 12_000],
        [answerOf(200, new ReadableStream({ start: controller => controller.enqueue(new TextEncoder().encode("{")) })), 30_000]]) {
        const world = new ArchiveWorld(answer), asked = world.archive().page()
        assert.deepEqual(await world.result(asked, milliseconds - 1), { isPending: true })
        assert.equal((await world.result(asked, 1)).error.kind, "unreachable")
        assert.equal(world.timers.length, 0)
    }
})

test("whoever gives a request up ends it with his own reason, while it waits too; and so does the client's end", async () => {
    const reason = new Error("no longer shown")
    for (const answer of [() => new Promise(() => {}), answerOf(503, "", { "Retry-After": "9" }), good]) {
        const world = new ArchiveWorld(answer), abort = new AbortController()
        if (answer === good) abort.abort(reason)
        const asked = world.archive().page({}, { signal: abort.signal })
        asked.catch(() => {})
        await settle()
        abort.abort(reason)
        assert.deepEqual((await world.result(asked)).error, reason)
        assert.equal(world.timers.length, 0)
    }
    const world = new ArchiveWorld(() => new Promise(() => {}))
    const { client } = world.client()
    const archive = new LiveArchive(client), asked = archive.inbox()
    asked.catch(() => {})
    await settle()
    client.close()
    for (const again of [() => asked, () => archive.inbox()]) {
        const { error } = await world.result(again())
        assert.ok(error instanceof LivegateError && error.kind === "closed", error)
    }
})

test("a cookie takes the place of the token", async () => {
    const world = new ArchiveWorld(good)
    await world.archive({ token: undefined, cookie: true }).page()
    assert.equal(world.requests[0].token, undefined)
})

test("an inbox has its things, what is unread of each, and the badge", async () => {
    const world = new ArchiveWorld(answerOf(200, inboxOf([lineOf("c", { unread: 3 }), lineOf("b", { unread: 999 })], true)),
        answerOf(200, inboxOf([lineOf("a", { unread: 0 })])))
    const archive = world.archive(), pages = await all(archive.inboxPages({ isUnreadOnly: true, limit: 2 }))
    assert.deepEqual(pages.map(({ things }) => things.map(({ thing, unread, last }) => [thing.id, unread, last.aid])),
        [[["Pc", 3, "c"], ["Pb", 999, "b"]], [["Pa", 0, "a"]]])
    assert.deepEqual(pages.map(({ unreadThings, at, more }) => [unreadThings, at, more]), [[17, "here", true], [17, "here", false]])
    assert.deepEqual(world.requests.map(({ path, parameters }) => [path, parameters]),
        [["/inbox/v1", { unread: "1", limit: "2" }], ["/inbox/v1", { unread: "1", limit: "2", before: "b" }]])
})

test("what is no inbox is taken for none", () => {
    const read = (...given) => readInboxPage(JSON.stringify(inboxOf(...given)))
    assert.equal(read([lineOf("a", { unread: 1 })]).things.length, 1)
    for (const unread of [undefined, -1, 1.5, "1", null, 1e300]) assert.equal(read([lineOf("a", { unread })]), null)
    for (const rest of [{ unread_things: undefined }, { unread_things: "1" }, { at: undefined }, { at: 7 }, { things: null }]) {
        assert.equal(read([], false, rest), null)
    }
    assert.equal(read([], "no"), null)
    for (const none of ["", "[]", "{}", text]) assert.equal(readInboxPage(none), null)
    assert.equal(readArchivePage(JSON.stringify(inboxOf([]))), null)
})

test("a list asks from its ends, and at an item with it or without", async () => {
    const world = new ArchiveWorld(good)
    const source = new ArchivePageSource(world.archive(), { entities: ["incident"] })
    const asked = (from, direction, isInclusive = false) => source.asking({ from, direction, limit: 7, isInclusive })
    const item = { at: { key: { rank: 0, text: "a-" } } }, base = { entities: ["incident"], limit: 7 }
    assert.deepEqual(asked({ end: {} }, "backward"), { ...base, order: "newestFirst" })
    assert.deepEqual(asked({ beginning: {} }, "forward"), { ...base, order: "oldestFirst" })
    assert.equal(asked(item, "backward").before, "a-")
    assert.equal(asked(item, "backward", true).before, "a0")
    assert.equal(asked(item, "forward").after, "a-")
    assert.equal(asked(item, "forward", true).after, "_z")
    const page = await source.page({ request: { from: { end: {} }, direction: "backward", limit: 7, isInclusive: false } })
    assert.deepEqual(page.items.map(({ id, key }) => [id, key]), [["a", { rank: 0, text: "a" }]])
    assert.equal(page.isLast, true)
    const refusing = new ArchivePageSource(new ArchiveWorld(answerOf(403)).archive())
    const request = { from: { end: {} }, direction: "backward", limit: 7, isInclusive: false }
    await assert.rejects(refusing.page({ request }), { name: "RequestError", status: 403 })
})
