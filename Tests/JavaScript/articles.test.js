// Browsers.md, JavaScriptConnection.md, JavaScriptMachine.md and Counting.md in LiveClient.docc, README.md of the module: their code
// runs as it stands there; that of JavaScriptTutorial.md in tutorial.test.js, of JavaScriptArchive.md in archivearticle.test.js, of TanStackQuery.md,
// NextJS.md, ReactNative.md and ServiceWorkers.md in toolarticles.test.js.
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import * as module from "../../Sources/LiveClientJS/livegate.js"
import { articles, blocksOf, run } from "./articlecode.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, eventOf, settle } from "./world.js"

const browsers = blocksOf("Browsers.md")
const connections = blocksOf("JavaScriptConnection.md")
const machines = blocksOf("JavaScriptMachine.md")
const counting = blocksOf("Counting.md")
const tutorial = blocksOf("JavaScriptTutorial.md")
const past = blocksOf("JavaScriptArchive.md")
const tools = ["TanStackQuery.md", "NextJS.md", "ReactNative.md", "ServiceWorkers.md"].flatMap(blocksOf)
const readme = blocksOf("../../LiveClientJS/README.md")

test("each block is one that runs here", () => {
    const blocks = [browsers, connections, machines, counting, tutorial, past, tools]
    assert.deepEqual([...blocks, readme].map(list => list.length), [5, 1, 3, 1, 6, 5, 7, 1])
    const all = readdirSync(articles).filter(name => name.endsWith(".md"))
        .reduce((sum, name) => sum + blocksOf(name).length, 0)
    assert.equal(all, blocks.flat().length)
})

// README.md

test("the module's README: what has changed is loaded again, and everything after a resync", async () => {
    const world = new World(), done = []
    let client
    const livegate = { ...module, connect: options => (
        client = module.connect({ ...options, environment: world.environment() })) }
    const running = run(readme[0], {
        session: { accessToken: () => "T" }, reloadAll: async () => { done.push("all") },
        reload: async (entity, id) => { done.push(`${entity} ${id}`) },
    }, { livegate })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(done, ["all", "incident I1"])
    client.close()
    await running
})

// Browsers.md

/** What a page has of its browser, and what was asked of it. */
class Page {
    sockets = []
    streams = []
    requests = []
    timers = []
    answer = {}

    constructor() {
        const page = this
        this.WebSocket = class {
            sent = []
            constructor(url, protocols) {
                Object.assign(this, { url, protocols })
                page.sockets.push(this)
            }
            send(text) { this.sent.push(JSON.parse(text)) }
        }
        this.EventSource = class {
            isClosed = false
            constructor(url) {
                this.url = url
                page.streams.push(this)
            }
            close() { this.isClosed = true }
        }
        this.fetch = async (url, options) => {
            this.requests.push([url, options])
            return new Response(JSON.stringify(this.answer))
        }
        this.setTimeout = (work, wait) => { this.timers.push({ work, wait }) }
    }
}

test("a WebSocket shows its token as the module does, and gets the next one in time", async () => {
    const page = new Page(), world = new World(), token = "T\u00e9+/?", { WebSocket, setTimeout } = page
    let seconds = 100
    const performance = { now: () => seconds * 1_000 }
    const fetchToken = async () => "next"
    await run(browsers[0] + browsers[1], { token, WebSocket, setTimeout, performance, fetchToken })
    const [socket] = page.sockets
    assert.equal(socket.url, "wss://live.example.com/live/v1?with=at")
    // `btoa` takes what is below 256, which tokens are: the module has the same for ASCII.
    assert.equal(Buffer.from(socket.protocols[1].slice(7), "base64url").toString("latin1"), token)
    world.client({ token: "abc?>" })
    await settle()
    await run(browsers[0], { token: "abc?>", WebSocket })
    assert.deepEqual(page.sockets[1].protocols, world.socket.protocols)
    // The first is sent at once, the second half a minute later.
    const expiring = { data: JSON.stringify({ expiring: { exp: 1 } }) }
    socket.onmessage({ data: JSON.stringify(eventOf("I1", "C1")) })
    socket.onmessage(expiring)
    assert.deepEqual(page.timers.map(({ wait }) => wait), [0])
    await page.timers[0].work()
    assert.deepEqual(socket.sent, [{ token: "next" }])
    seconds += 10
    socket.onmessage(expiring)
    assert.equal(page.timers[1].wait, 20_000)
})

test("an EventSource is bought a ticket for each attempt, and goes on behind what was kept", async () => {
    const page = new Page(), fetched = [], { EventSource, fetch, setTimeout } = page
    page.answer = { ticket: "t1", expires_in: 30 }
    // What an app keeps is its own variable.
    const { connect } = await run("let kept = 'C0'\nconst keep = id => { kept = id }\n" + browsers[2], {
        token: "T", EventSource, fetch, setTimeout, fetchFromAPI: event => { fetched.push(event.id) },
    }, { gives: ["connect"] })
    await connect("C0")
    assert.deepEqual(page.requests, [
        ["https://live.example.com/ticket/v1", { method: "POST", headers: { Authorization: "Bearer T" } }]])
    assert.equal(page.streams[0].url, "https://live.example.com/live/v1?ticket=t1&since=C0")
    page.streams[0].onmessage({ lastEventId: "C1", data: JSON.stringify(eventOf("I1", "C1")) })
    assert.deepEqual(fetched, ["I1"])
    page.answer = { ticket: "t2", expires_in: 30 }
    page.streams[0].onerror()
    assert.ok(page.streams[0].isClosed && page.timers[0].wait >= 1_000 && page.timers[0].wait < 5_000)
    await page.timers[0].work()
    assert.equal(page.streams[1].url, "https://live.example.com/live/v1?ticket=t2&since=C1")
})

test("a page asks from another origin with its token, or with its cookie", async () => {
    const page = new Page(), { WebSocket, fetch } = page
    const { answer } = await run(browsers[3], { token: "T", cursor: "C1", fetch }, { gives: ["answer"] })
    assert.ok(answer instanceof Response)
    await run(browsers[4], { cursor: "C1", WebSocket, fetch })
    assert.deepEqual(page.requests, [
        ["https://live.example.com/sync/v1?wait=30&since=C1", { headers: { Authorization: "Bearer T" } }],
        ["https://live.example.com/sync/v1?since=C1", { credentials: "include" }],
    ])
    assert.deepEqual(page.sockets[0].protocols, ["livegate.v1"])
})

// JavaScriptConnection.md

test("a page's connection says where it stands, and what to load again", async () => {
    const world = new World(), done = []
    const livegate = { ...module, connect: options => module.connect({ ...options, environment: world.environment() }) }
    const { client } = await run(connections[0], {
        session: { accessToken: ({ fresh }) => `T ${fresh}` }, showConnection: state => { done.push(state) },
        reloadAll: () => { done.push("all") }, reload: (entity, id) => { done.push(`${entity} ${id}`) },
    }, { livegate, gives: ["client"] })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual(done, ["connecting", "connected", "all", "incident I1"])
    client.close()
})

// JavaScriptMachine.md

test("an area is as the server has it, and comes out of the store at the next start", async () => {
    const server = new Server(), clock = new Clock(), store = new module.MemoryStore(), rendered = []
    for (const id of ["A", "B"]) server.change(id, "created")
    let client
    const livegate = {
        ...module, openStore: async () => store,
        connect: options => {
            assert.deepEqual([options.url, options.account], ["https://live.example.com", "PACC1"])
            return client = new ScriptedClient(server, clock)
        },
    }
    const fetch = async url => {
        const id = url.split("/")[3], things = [...server.things.values()].filter(({ entity }) => entity === "incident")
        const found = id === undefined ? things : things.find(thing => thing.id === id)
        return found ? new Response(JSON.stringify(found)) : new Response("", { status: 404 })
    }
    const render = (...seen) => { rendered.push(seen) }
    const around = { fetchToken: async () => "T", fetch, render }
    const { incidents } = await run(machines[0], around, { livegate, gives: ["incidents"] })
    client.open()
    await clock.pass(1_000)
    for (const [id, type] of [["A", "updated"], ["B", "deleted"], ["C", "created"]]) server.change(id, type)
    await clock.pass(1_000)
    const [isLoaded, values, sign] = rendered.at(-1)
    assert.equal(isLoaded, true)
    assert.deepEqual(values, [...server.things.values()])
    assert.equal(sign, undefined)
    incidents.close()
    await clock.settle()
    // Nothing is open yet, and what was stored is shown.
    await run(machines[0], around, { livegate })
    await clock.settle()
    assert.deepEqual(rendered.at(-1)[1], values)
})

test("with screens what is shown is fetched, and a list shows it", async () => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock), shown = []
    for (const id of ["A", "B"]) server.change(id, "created")
    client.open()
    const placeOf = ({ id }) => ({ rank: 0, text: id })
    const api = {
        reload: async ({ id }) => ({ value: server.things.get(`incident/${id}`) }),
        page: async () => ({
            items: [...server.things.values()].map(value => ({ id: value.id, key: placeOf(value), value: { ...value } })),
            isLast: true,
        }),
    }
    const { createMachine, Screens } = module
    await run(machines[1], { createMachine, Screens, client, api, placeOf, showList: state => { shown.push(state) } })
    await clock.pass(1_000)
    server.change("A")
    server.change("C", "created")
    await clock.pass(1_000)
    assert.deepEqual(shown.at(-1).items.map(({ id, value }) => [id, value.version]), [["A", 2], ["B", 1], ["C", 1]])
})

test("an app's tables are brought up to date", async () => {
    const made = []
    const openStore = async ({ account, server, schema, tables }) => {
        assert.deepEqual([account, server, schema], ["PACC1", "S", 2])
        for (const old of [0, 2]) tables({ createObjectStore: (...given) => { made.push(given) } }, null, old)
        return new module.MemoryStore()
    }
    await run(machines[2], { account: "PACC1", server: "S", openStore })
    assert.deepEqual(made, [["drafts", { keyPath: "id" }]])
})

// Counting.md

test("what events bring to the screen is counted by its time", async () => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    client.open()
    const { counts } = await run(counting[0], {
        client, snapshot: () => server.snapshot("incident"), reload: thing => server.reload(thing),
    }, { gives: ["counts"] })
    await clock.settle()
    server.ts = clock.now() - 600
    server.change("A", "created")
    await clock.settle()
    const [{ screen, latency }] = counts.view.counts
    assert.deepEqual([screen, latency], ["incidents", [0, 0, 0, 1, 0, 0, 0, 0, 0]])
})
