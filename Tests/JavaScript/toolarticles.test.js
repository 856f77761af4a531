// TanStackQuery.md, NextJS.md, ReactNative.md and ServiceWorkers.md in LiveClient.docc: their code runs as it stands there.
import assert from "node:assert/strict"
import { test } from "node:test"
import * as module from "../../Sources/LiveClientJS/livegate.js"
import { blocksOf, run } from "./articlecode.js"
import * as react from "./fakereact.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, eventOf, settle } from "./world.js"

const hooks = await import("../../Sources/LiveClientJS/react.js")
const fetchToken = async () => "T"
/** The module with a world's client. */
const moduleOf = world => ({ ...module, connect: options => module.connect({ ...options, environment: world.environment() }) })

test("TanStack Query: an event invalidates its thing and the lists, and a resync everything", async () => {
    const world = new World(), invalidated = [], asked = []
    class QueryClient {
        constructor({ defaultOptions: { queries } }) { assert.equal(queries.staleTime, Infinity) }
        invalidateQueries(filter) { invalidated.push(filter?.queryKey ?? "all") }
    }
    const [live, keys] = blocksOf("TanStackQuery.md")
    const { client, incidentQuery, incidentsQuery } = await run(live + keys, {
        fetchToken, readJSON: async (...question) => { asked.push(question) },
    }, { livegate: moduleOf(world), others: { "@tanstack/react-query": { QueryClient } }, gives: ["client", "incidentQuery", "incidentsQuery"] })
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    world.socket.say(eventOf("I1", "C1"))
    assert.deepEqual(invalidated, ["all", ["incident", "I1"], ["incident", "list"]])
    // The keys of queries begin with those that events invalidate.
    const [one, list] = [incidentQuery("I1"), incidentsQuery("open")], { signal } = new AbortController()
    assert.deepEqual([one.queryKey, list.queryKey.slice(0, 2)], invalidated.slice(1))
    await one.queryFn({ signal })
    await list.queryFn({ signal })
    const options = { signal, cache: "no-store" }
    assert.deepEqual(asked, [["/api/incidents/I1", options], ["/api/incidents?status=open", options]])
    client.close()
})

test("Next.js: the server's answer is there first, and the live list after it", async () => {
    const server = new Server(), clock = new Clock(), clients = []
    server.change("A", "created")
    const livegate = {
        ...module, connect: () => {
            const client = new ScriptedClient(server, clock)
            Object.defineProperty(client, "close", { value: state => { client.isClosed = state === undefined } })
            clients.push(client)
            return client
        },
    }
    const placeOf = ({ id }) => ({ rank: 0, text: id }), Rows = "rows"
    const api = {
        reload: async ({ id }) => ({ value: server.things.get(`incident/${id}`) }),
        page: async () => ({ items: [...server.things.values()].map(value => ({ id: value.id, key: placeOf(value), value })), isLast: true }),
    }
    const { createElement } = react
    const { Session, LiveProvider, Incidents, LiveIncidents } = await run(blocksOf("NextJS.md")[0], { api, placeOf, fetchToken, Rows, createElement }, {
        livegate, others: { react, "livegate/react": hooks }, gives: ["Session", "LiveProvider", "Incidents", "LiveIncidents"],
    })
    const initial = [{ id: "of the server" }]
    const first = react.render(Incidents, { initial })
    assert.deepEqual([first.last.type, first.last.props.incidents], [Rows, initial])
    // Strict mode: the first one is closed.
    const provider = react.render(LiveProvider, { account: "PACC1", children: [] })
    assert.deepEqual(clients.map(({ isClosed }) => isClosed), [true, undefined])
    Session.value = provider.last.props.value
    for (const client of clients.slice(-1)) client.open()
    first.update({ initial })
    assert.equal(first.last.type, LiveIncidents)
    const rows = react.render(LiveIncidents, first.last.props)
    assert.deepEqual(rows.last.props.incidents, initial)
    await clock.pass(1_000)
    server.change("B", "created")
    await clock.pass(1_000)
    assert.deepEqual(rows.last.props.incidents.map(({ id }) => id), ["A", "B"])
    rows.unmount()
    provider.unmount()
    assert.deepEqual(clients.map(({ isClosed }) => isClosed), [true, true])
})

test("React Native: the app's state and the network decide about the connection", async () => {
    const world = new World(), told = {}
    const others = {
        "@react-native-async-storage/async-storage": { default: {} },
        "@react-native-community/netinfo": { default: { addEventListener: listener => { told.network = listener } } },
        "react-native": { AppState: { addEventListener: (name, listener) => { told[name] = listener } } },
    }
    const livegate = { ...module, connect: options => module.connect({ ...options, environment: { ...world.environment(), page: null } }) }
    const { client } = await run(blocksOf("ReactNative.md")[0], { fetchToken }, { livegate, others, gives: ["client"] })
    await settle()
    world.socket.open()
    const state = () => Object.keys(client.state)[0]
    for (const [name, expected] of [["inactive", "connected"], ["background", "idle"], ["active", "connecting"]]) {
        told.change(name)
        assert.equal(state(), expected, name)
        if (name === "background") await world.pass(60_000)
    }
    await settle()
    world.socket.open()
    told.network({ isConnected: null, type: "unknown" })
    await settle()
    assert.notEqual(state(), "waiting")
    told.network({ isConnected: false, type: "none" })
    world.socket.end(1006)
    assert.deepEqual(client.state.waiting.why, "offline")
    client.close()
})

test("React Native: the store gives back what a machine has committed, with its cursor", async () => {
    const items = new Map(), AsyncStorage = {
        getItem: async key => items.get(key) ?? null, setItem: async (key, text) => { items.set(key, text) },
    }
    const { PhoneStore } = await run(blocksOf("ReactNative.md")[1], { AsyncStorage }, { gives: ["PhoneStore"] })
    const server = new Server(), clock = new Clock()
    server.change("A", "created")
    const visit = client => module.createMachine(client, {
        area: "incidents", entities: ["incident"], store: new PhoneStore("PACC1"),
        snapshot: () => server.snapshot("incident"), reload: thing => server.reload(thing),
    })
    const client = new ScriptedClient(server, clock), machine = visit(client)
    client.open()
    await clock.pass(1_000)
    server.change("A")
    server.change("B", "created")
    await clock.pass(1_000)
    machine.close()
    // Nothing is open yet, and what was stored is shown.
    const next = visit(new ScriptedClient(server, clock))
    await clock.settle()
    assert.deepEqual([next.isLoaded, Object.fromEntries(next.entries)], [true, server.expected("incident")])
    assert.deepEqual([...items.keys()], ["livegate PACC1 incidents"])
    const other = new PhoneStore("PACC2")
    assert.equal(await other.load("incidents"), null)
    next.close()
})

test("a service worker leaves alone what has to be fresh", async () => {
    const self = { addEventListener: (name, listener) => { self[name] = listener } }, answered = []
    const caches = { match: async ({ url }) => url.endsWith("/known") ? "of the cache" : undefined }
    await run(blocksOf("ServiceWorkers.md")[0], { self, caches, fetch: async () => "of the network" })
    for (const [path, cache, method] of [
        ["/app.js", "default", "GET"], ["/known", "default", "GET"], ["/api/incidents", "no-store", "GET"], ["/api/incidents", "default", "POST"],
        ["/live/v1", "default", "GET"], ["/sync/v1", "default", "GET"], ["/ticket/v1", "default", "GET"], ["/archive/v1", "default", "GET"],
        ["/inbox/v1/read", "default", "GET"], ["/livedata/v1", "default", "GET"],
    ]) {
        let answer
        self.fetch({ request: { url: `https://example.com${path}`, cache, method }, respondWith: given => { answer = given } })
        answered.push(await answer)
    }
    const [network, cached] = ["of the network", "of the cache"]
    assert.deepEqual(answered, [network, cached, ...Array(7).fill(undefined), network])
})

test("a service worker sends what was done, and says where not all of it was sent", async () => {
    for (const [status, isSent] of [[200, true], [503, false]]) {
        const self = { addEventListener: (name, listener) => { self[name] = listener } }, sent = [], shelf = new Map()
        const store = () => new module.MemoryActionStore({ show: () => {}, shelf }), asked = []
        const send = async actions => {
            sent.push(...actions.map(({ id, value }) => `${id} ${value}`))
            return actions.map(({ key }) => ({ key, status }))
        }
        // A page has taken the action, and was closed.
        const page = await module.openActions({ store: store(), send, renewToken: async () => {}, environment: { locks: undefined } })
        await page.set("incident.read", "I1", "true")
        page.close()
        const livegate = {
            ...module, openStore: async identity => { asked.push(identity); return { close() {} } },
            IndexedDBActionStore: class { constructor() { return store() } },
            openActions: options => module.openActions({ ...options, environment: { locks: undefined } }),
        }
        const around = {
            self, account: "PACC1", server: "S", tables: [], show: () => {}, send, renewToken: async () => {},
            pause: async () => { while (sent.length === 0) await settle(); await settle() },
        }
        await run(blocksOf("ServiceWorkers.md")[1], around, { livegate })
        let ended
        self.sync({ tag: "another", waitUntil: () => assert.fail("another one's") })
        self.sync({ tag: "actions", waitUntil: given => { ended = given } })
        if (isSent) await ended
        else await assert.rejects(ended, /not everything/)
        assert.deepEqual([sent, shelf.size, asked], [["I1 true"], isSent ? 0 : 1, [{ account: "PACC1", server: "S", schema: 1 }]])
    }
})
