// machine.js, client.js: what a page is to people, apart from the connection
import assert from "node:assert/strict"
import { test } from "node:test"
import { Screens, allTabs, createMachine } from "../../Sources/LiveClientJS/livegate.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { World, pageOf, settle } from "./world.js"

const updated = at => ({ ent: "incident", id: "I1", type: "updated", at })
const thing = { entity: "incident", id: "I1" }

/** A machine whose screen shows one incident, on a client that is live. */
async function shown(world, told) {
    const s = { ...told, reloads: 0 }
    s.machine = createMachine(s.client, {
        area: "open", snapshot: async () => [],
        screens: onReload => s.screens = new Screens({
            environment: s.client.environment, onReload,
            api: { reload: async () => { s.reloads += 1; return { value: s.reloads } }, page: async () => assert.fail("a page") },
        }),
    })
    s.screens.details("details", thing, () => {})
    await settle()
    return s
}

/** Answers what the machine has asked for, and opens the stream that it wants. */
async function goLive(world) {
    await world.pass(2_000)
    world.question.answer(200, pageOf("F"))
    await world.pass(1_000)
    world.socket.open()
    world.socket.say({ live: { at: "F" } })
    await settle()
}

test("nobody sees what a hidden page shows, although its connection goes on for a while", async () => {
    const world = new World()
    const s = await shown(world, world.client())
    await goLive(world)
    assert.ok(s.screens.isShowing(thing))
    world.page.show(false)
    world.socket.say(updated("C1"))
    await settle()
    assert.deepEqual([s.screens.isShowing(thing), s.screens.sawLive(thing, 60_000)], [false, false])
    assert.deepEqual(s.client.state, { connected: {} })
    world.page.show(true)
    world.socket.say(updated("C2"))
    await settle()
    assert.deepEqual([s.screens.isShowing(thing), s.screens.sawLive(thing, 60_000)], [true, true])
    s.client.close()
})

test("a hidden tab asks for nothing and shows no sign while another tab has the connection, and goes on when it is back", async () => {
    const world = new World(), page = world.page, { now, setTimer, clearTimer } = world.environment()
    const browser = new SharedBrowser({ now, setTimer, clearTimer })
    const open = tabPage => {
        const { locks, BroadcastChannel, random } = browser.tab().environment
        return world.client({ share: allTabs, account: "PACC1" }, { locks, BroadcastChannel, random, page: tabPage })
    }
    const leader = open(null)
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    await settle()
    const s = await shown(world, open(page))
    await world.pass(1_000)
    for (const question of world.questions) question.answer(200, pageOf("C0"))
    await world.pass(1_000)
    assert.deepEqual([s.client.isLeader, s.machine.freshness], [false, { connected: {} }])
    page.show(false)
    assert.ok(!s.screens.isShowing(thing))
    await world.pass(20_000)
    world.socket.say({ beat: { at: "C0" } })
    await world.pass(11_000)
    world.socket.say(updated("C1"))
    const before = s.reloads
    await world.pass(10_000)
    assert.deepEqual([s.client.state, s.reloads, s.machine.sign], [{ connected: {} }, before, undefined])
    assert.ok("idle" in s.machine.state)
    page.show(true)
    await world.pass(1_000)
    assert.equal(s.reloads, before + 1)
    assert.deepEqual(s.machine.freshness, { connected: {} })
    assert.ok(s.screens.isShowing(thing))
    s.client.close()
    leader.client.close()
})
