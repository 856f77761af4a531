// core/tabwords.js: other code of the origin may use the channel of tabs too, and so may another version of this module.
import assert from "node:assert/strict"
import { test } from "node:test"
import { tabVersion } from "../../Sources/LiveClientJS/core/tabwords.js"
import { MemoryActionStore, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { Browser, two } from "./sharedtabs.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { World, eventOf, settle, short } from "./world.js"

/** What is no word of this version, in the name of `from`. */
const garbageOf = from => [
    null, undefined, 0, "ask", true, [], ["ask"], {}, new Map([["from", from]]), { ask: { isVisible: true } },
    { from: 7, ask: { isVisible: true } }, { from: null, lead: {} },
    ...[
        { ask: null }, { ask: {} }, { ask: { isVisible: "yes" } }, { answer: true }, { lead: [] }, { leave: 1 }, { later: {} },
        { answer: {}, later: {} }, { constructor: {} }, { __proto__: null, toString: {} },
        { view: null }, { view: {} }, { view: { state: null, way: "webSocket" } }, { view: { state: {}, way: "webSocket" } },
        { view: { state: { ended: null }, way: "webSocket" } }, { view: { state: { ended: {} } } },
        { update: null }, { update: {} }, { update: { event: null }, count: 4 }, { update: { event: {}, live: {} }, count: 4 },
        { update: { event: {} }, count: "4" }, { isLive: 1 }, { recall: 1 }, { claim: null }, { ceded: null }, { ceded: {} },
        { recalled: null }, { recalled: { to: "x" } }, { recalled: { to: "x", recent: {} } }, { recalled: { to: 1, recent: { entries: [] } } },
        { message: null }, { message: "flush" }, { message: [{}] }, { message: { lead: {} } }, { message: { loaded: { actions: [] } } },
        { message: { changed: true } }, { message: { news: null } }, { message: { news: {} } }, { message: { news: { thrown: {} } } },
        { message: { news: { rejected: {}, expired: {} } } },
    ].map(word => ({ from, ...word })),
]

test("a connection that tabs share goes on as it was, whatever is posted on its channel", async () => {
    const { browser, world, leader, follower } = await two()
    const stranger = new (browser.tab({ account: "PACC2" }).environment.BroadcastChannel)(
        `livegate ${tabVersion} ["https://live.example.com","PACC1",[]]`)
    const heard = []
    stranger.onmessage = ({ data }) => heard.push(data)
    stranger.postMessage({ from: "stranger", ask: { isVisible: false } })
    await settle()
    const { from } = heard.find(({ answer }) => answer)
    const [, other] = world.sockets
    for (const garbage of [...garbageOf(from), ...garbageOf("stranger")]) stranger.postMessage(garbage)
    await settle()
    world.sockets[0].say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual([leader, follower].map(({ client }) => client.isLeader), [true, false])
    assert.deepEqual(short(leader.updates), ["connected", "resync", "live", "I1"])
    assert.deepEqual(short(follower.updates), ["connected", "resync", "live", "I1"])
    assert.deepEqual([follower.client.cursor, follower.client.state], ["C1", { connected: {} }])
    assert.deepEqual(world.sockets.slice(1), [other])
})

test("tabs of another version share neither lock nor channel, and have a connection of their own", async () => {
    const { browser, world } = await two()
    const environment = browser.tab({ account: "PACC2" }).environment
    const name = `livegate ${tabVersion + 1} ["https://live.example.com","PACC1",[]]`
    const heard = []
    const channel = new environment.BroadcastChannel(name)
    channel.onmessage = ({ data }) => heard.push(data)
    let isHeld = false
    environment.locks.request(name, {}, async () => { isHeld = true })
    channel.postMessage({ from: "later", ask: { isVisible: true } })
    world.sockets[0].say(eventOf("I1", "C1"))
    await settle()
    assert.deepEqual([isHeld, heard], [true, []])
})

test("actions that tabs share go on as they were, whatever is posted on their channel", async () => {
    const world = new World(), browser = new SharedBrowser(world.environment()), shelf = new Map(), reports = [], sent = []
    const open = () => openActions({
        store: new MemoryActionStore({ show: () => {}, shelf, sharedName: "store" }), environment: browser.tab().environment,
        report: news => reports.push(news), renewToken: async () => {},
        send: async actions => {
            sent.push(...actions.map(({ id }) => id))
            return actions.map(({ key }) => ({ key, status: 200 }))
        },
    })
    const tabs = [await open(), await open()]
    await settle()
    const stranger = new (browser.tab().environment.BroadcastChannel)("livegate actions store")
    const heard = []
    stranger.onmessage = ({ data }) => heard.push(data)
    stranger.postMessage({ from: "stranger", ask: { isVisible: false } })
    await settle()
    const { from } = heard.find(({ answer }) => answer)
    for (const garbage of [...garbageOf(from), ...garbageOf("stranger")]) stranger.postMessage(garbage)
    await settle()
    for (const [index, tab] of tabs.entries()) await tab.set("read", String(index), "true", "false")
    for (let second = 0; second < 10; second += 1) await world.pass(1_000)
    assert.deepEqual([sent, reports, shelf.size], [["0", "1"], [], 0])
    for (const tab of tabs) tab.close()
})
