// client.js, tabs.js, machine.js, screens.js, actions.js: nothing of the app's is called once it has closed them, and no timer waits.
import assert from "node:assert/strict"
import { test } from "node:test"
import { LiveActions, MemoryActionStore, MemoryStore, Screens, allTabs, createMachine, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { two } from "./sharedtabs.js"
import { World, eventOf, pageOf, settle } from "./world.js"

const spied = clock => ({ pass: time => clock.pass(time), timers: () => clock.hasOthers ? 0 : clock.timers.length })

/**
 * Plays a scene again and again, and closes it at the n-th call of the app for each n: within the call, and some turns
 * behind it. `play(spy, closed)` wraps all that the app has given by `spy(name, work)`, hands what closes it to `closed`, and
 * returns its clock: a `World` or a `Clock`, where nobody else has timers.
 */
async function sweep(play) {
    for (const turns of [0, 3]) {
        for (let n = 1, isOver = false; !isOver; n += 1) {
            const late = []
            let calls = 0, isClosed = false, close
            const end = async () => {
                for (let turn = 0; turn < turns; turn += 1) await null
                close()
                isClosed = true
            }
            const spy = (name, work = () => {}) => (...values) => {
                if (isClosed) late.push(name)
                calls += 1
                if (calls === n && turns > 0) end()
                else if (calls === n && close) {
                    close()
                    isClosed = true
                }
                return work(...values)
            }
            const { pass, timers } = spied(await play(spy, given => { close = given }))
            isOver = calls < n
            // What it calls when it ends is called in `close`.
            calls = Infinity
            close()
            isClosed = true
            await settle()
            assert.equal(timers(), 0, `timers that are left, closed ${turns} turns behind call ${n}`)
            await pass(30_000)
            assert.ok(n > 3 || !isOver, "the scene calls nothing")
            assert.deepEqual(late, [], `closed ${turns} turns behind call ${n}`)
        }
    }
}

/** A client that is refused, gets another token, is live, asks for a page, and loses its stream. */
async function playClient(spy, closed, changes = () => ({}), options = {}) {
    const world = new World(), base = world.environment()
    const environment = {
        ...base, fetch: spy("fetch", base.fetch), page: null, ...changes(world),
        WebSocket: class extends base.WebSocket { constructor(...values) { spy("WebSocket")(); super(...values) } },
    }
    world.refusesSockets = true
    const told = world.client({ environment, token: spy("token", async () => `T${world.tokens.push("")}`), ...options })
    const { client } = told
    closed(() => client.close())
    for (const name of ["first", "second"]) {
        client.subscribe(spy(`${name} update`))
        client.watch(spy(`${name} state`))
    }
    const page = () => { client.sync().catch(() => {}) }
    page()
    for (let answer = 0; answer < 4; answer += 1) {
        await settle()
        for (const question of world.questions) question.answer(401, { code: "invalid_token" })
        world.refusesSockets = false
        await world.pass(600)
        world.socket?.onopen?.({})
    }
    world.socket?.onmessage?.({ data: JSON.stringify({ live: { at: "C0" } }) })
    world.socket?.onmessage?.({ data: JSON.stringify(eventOf("I1", "C1")) })
    page()
    client.restart({ since: "C0" })
    await world.pass(1_000)
    world.socket?.onopen?.({})
    world.socket?.onclose?.({ code: 1006, reason: "" })
    await world.pass(30_000)
    return world
}

test("a client that is closed calls nothing of the app, whatever was under way", () => sweep(playClient))

test("a tab that shares a connection and is closed calls nothing of the app, whatever was under way", () => (
    sweep((spy, closed) => {
        const changes = world => {
            const { now, setTimer, clearTimer } = world.environment()
            const { locks, BroadcastChannel, random } = new SharedBrowser({ now, setTimer, clearTimer }).tab().environment
            return { locks, BroadcastChannel, random }
        }
        return playClient(spy, closed, changes, { share: allTabs, account: "PACC1" })
    })))

test("a tab that catches up by itself and is closed calls nothing of the app", () => sweep(async (spy, closed) => {
    const world = new World(), browser = new SharedBrowser(world.environment())
    const tab = (options, changes) => world.client(
        { share: allTabs, account: "PACC1", ...options }, { page: null, ...browser.tab().environment, ...changes })
    tab()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    const { client } = tab(
        { since: "A1", token: spy("token", async () => "T") }, { fetch: spy("fetch", world.environment().fetch) })
    closed(() => client.close())
    client.subscribe(spy("update"))
    client.watch(spy("state"))
    await settle()
    world.question?.answer(503, {}, {})
    await world.pass(30_000)
    world.question?.answer(401, {})
    await settle()
    world.question?.answer(200, pageOf("A2", ["I0", "I1"], true))
    await settle()
    world.question?.answer(200, pageOf("A3", ["I2"]))
    await world.pass(30_000)
    world.question?.answer(200, pageOf("A4", ["I2"]))
    await world.pass(30_000)
    // The tab that leads goes on.
    return Object.assign(world, { hasOthers: true })
}))

test("a machine that is closed calls nothing of the app, whatever was under way", () => sweep(async (spy, closed) => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    for (const id of ["A", "B", "C"]) server.change(id, "created")
    client.open()
    const memory = new MemoryStore({ now: clock.now })
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"], snapshot: spy("snapshot", () => server.snapshot("incident")),
        reload: spy("reload", thing => server.reload(thing)),
        store: { load: spy("load", area => memory.load(area)), commit: spy("commit", (...of) => memory.commit(...of)) },
        screens: onReload => new Screens({
            api: { reload: spy("fetch", thing => server.reload(thing)), page: spy("page", async () => ({ items: [], isLast: true })) },
            environment: clock, onReload,
        }),
    })
    closed(() => machine.close())
    machine.watch(spy("one"))
    machine.watch(spy("other"))
    await clock.pass(2_000)
    server.change("A")
    await clock.pass(2_000)
    client.close({ waiting: { until: clock.now() + 1_000, why: "retry" } })
    await clock.pass(1_000)
    client.open()
    await clock.pass(30_000)
    return clock
}))

test("actions that are closed call nothing of the app, whatever was under way", () => sweep(async (spy, closed) => {
    const clock = new Clock(), memory = new MemoryActionStore({ show: () => {} }), statuses = [401, 200, 503, 409, 200]
    const actions = new LiveActions({
        store: { load: spy("load", () => memory.load()), commit: spy("commit", changes => memory.commit(changes)) },
        environment: clock, renewToken: spy("renewToken", async () => {}), report: spy("report"), changed: spy("changed"),
        send: spy("send", async sent => {
            const status = statuses.shift() ?? 200
            return sent.map(({ key }) => ({ key, status }))
        }),
    })
    closed(() => actions.close())
    const ignore = () => {}
    actions.start().catch(ignore)
    const refused = async () => { throw Object.assign(new Error("refused"), { status: 401 }) }
    actions.perform(spy("operation", refused)).catch(ignore)
    for (const id of ["1", "2", "3"]) {
        actions.set("read", id, true, false).catch(ignore)
        await clock.pass(5_000)
    }
    await clock.pass(30_000)
    return clock
}))

test("actions that are closed take a word for whoever sends without throwing, in each tab", async () => {
    const clock = new Clock(), browser = new SharedBrowser(clock), shelf = new Map(), tabs = []
    for (const id of ["1", "2"]) {
        const { environment } = browser.tab()
        tabs.push(await openActions({
            store: new MemoryActionStore({ show: () => {}, shelf, sharedName: "S" }), environment,
            renewToken: async () => {}, send: async sent => sent.map(({ key }) => ({ key, status: 200 })),
        }))
        await clock.pass(1_000)
        await tabs.at(-1).set("read", id, true, false)
    }
    for (const actions of tabs) {
        actions.close()
        actions.flush()
        actions.tokenChanged()
        actions.networkChanged(true)
    }
    await clock.pass(60_000)
    assert.equal(shelf.size, 2)
})

// Of what never answers no timer is left that would hold a process, or wake a page.

const never = () => new Promise(() => {})

test("a client that is closed waits for no token, and says so to whoever asked for one", async () => {
    const world = new World(), { client } = world.client({ token: never })
    const asked = [client.token(), client.sync()].map(asked => asked.catch(error => error.kind))
    await settle()
    client.close()
    assert.deepEqual([await Promise.all(asked), world.timers.length], [["closed", "closed"], 0])
})

test("a machine that is closed waits for no store, no token and no other node", async () => {
    const stores = { load: never, commit: never }
    for (const store of [stores, { ...stores, load: async () => null }]) {
        const clock = new Clock(), client = new ScriptedClient(new Server(), clock)
        const machine = createMachine(client, { area: "incident", store, snapshot: async () => [], reload: async () => null })
        client.open()
        await clock.settle()
        assert.notEqual(clock.timers.length, 0)
        machine.close()
        assert.equal(clock.timers.length, 0)
    }
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    const store = new MemoryStore({ now: clock.now })
    const make = area => createMachine(client, { area, store, snapshot: async () => [], reload: async () => null })
    const late = make("late")
    client.open()
    await clock.settle()
    late.close()
    server.change("A", "created")
    await clock.pass(1_000)
    const first = make("first")
    await clock.settle()
    const others = clock.timers.length
    // Its finger is not among the stream's newest messages: it is caught up, once more when the stream is older.
    const second = make("late")
    await clock.settle()
    assert.ok(clock.timers.length > others)
    second.close()
    assert.equal(clock.timers.length, others)
    first.close()
    assert.equal(clock.timers.length, 0)
})

test("a tab that is closed while it catches up leaves no timer", async () => {
    const { browser, world } = await two()
    const others = world.timers.length
    for (const answer of [question => question.answer(503, {}), question => question.answer(200, pageOf("A2", ["I0"]))]) {
        const late = browser.tab({ since: "A1" })
        await settle()
        answer(world.question)
        await settle()
        assert.ok(world.timers.length > others)
        late.client.close()
        await settle()
        assert.equal(world.timers.length, others)
    }
})

test("actions that are closed wait for no store that is read, and for no token", async () => {
    const refused = async () => { throw Object.assign(new Error("refused"), { status: 401 }) }
    for (const [load, renewToken, isPerformed] of [[never, never, false], [async () => [], never, true]]) {
        const clock = new Clock()
        const actions = new LiveActions({ store: { load, commit: never }, environment: clock, renewToken, send: never })
        const started = actions.start().catch(error => error.kind)
        const performed = isPerformed ? actions.perform(refused).catch(error => error.kind) : "closed"
        await clock.settle()
        assert.notEqual(clock.timers.length, 0)
        actions.close()
        await clock.settle()
        assert.deepEqual([await performed, clock.timers.length], ["closed", 0])
        if (!isPerformed) assert.equal(await started, "closed")
    }
})

test("a client that is closed says so to whoever asks it for a page or a token", async () => {
    const world = new World(), { client } = world.client()
    await settle()
    const waiting = client.sync().catch(error => error)
    await settle()
    client.close()
    assert.deepEqual([(await waiting).name, (await waiting).kind], ["LivegateError", "closed"])
    assert.ok(world.question.isAborted)
    await assert.rejects(client.sync(), { kind: "closed" })
    await assert.rejects(client.token(), { kind: "closed" })
    assert.deepEqual([world.asked, world.timers.length], [[false, false], 0])
})

test("a machine over a client that was closed before asks for nothing", async () => {
    const world = new World(), { client } = world.client()
    await settle()
    client.close()
    const asked = world.asked.length
    const machine = createMachine(client, {
        area: "open", entities: ["incident"], snapshot: async () => [], reload: async () => ({ gone: true }),
    })
    await world.pass(120_000)
    assert.equal(world.asked.length, asked)
    assert.ok(machine.state.stale, JSON.stringify(machine.state))
    machine.close()
})
