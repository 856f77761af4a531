// react.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryActionStore, createMachine, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { render } from "./fakereact.js"
import { ScreenWorld } from "./screenworld.js"
import { Clock, ScriptedClient, Server } from "./server.js"
import { World, settle } from "./world.js"

const { useConnectionState, useLiveList, useMachine, usePending, useSnapshot, useThing } =
    await import("../../Sources/LiveClientJS/react.js")
const thing = id => ({ entity: "incident", id })

test("a component shows a connection's state, and nothing of it when it has gone", async () => {
    const world = new World(), { client } = world.client()
    const shown = render(() => Object.keys(useConnectionState(client))[0])
    await settle()
    world.socket.open()
    assert.deepEqual(shown.outputs, ["connecting", "connected"])
    shown.unmount()
    world.socket.end(1006)
    assert.equal(shown.outputs.length, 2)
    client.close()
})

test("a component shows a machine's things", async () => {
    const server = new Server(), clock = new Clock(), client = new ScriptedClient(server, clock)
    server.change("A", "created")
    client.open()
    const machine = createMachine(client, {
        area: "incident", entities: ["incident"],
        snapshot: () => server.snapshot("incident"), reload: thing => server.reload(thing),
    })
    const shown = render(() => {
        const { isLoaded, entries } = useMachine(machine)
        return isLoaded ? [...entries.values()].map(({ id, version }) => `${id} ${version}`).join() : "not loaded"
    })
    await clock.pass(1_000)
    server.change("A")
    server.change("B", "created")
    await clock.pass(1_000)
    assert.deepEqual([shown.outputs[0], shown.last], ["not loaded", "A 2,B 1"])
    machine.close()
})

test("a list is on the screen while its component is, and another place gives up no page", async () => {
    const world = new ScreenWorld(8), list = world.list()
    const shown = render(({ count }) => (
        useLiveList(list, { from: { beginning: {} }, direction: "forward", count })), { count: 2 })
    await world.answerAll()
    assert.deepEqual([shown.last.items.length, shown.last.knowledge], [3, "known"])
    assert.ok(world.screens.isShowing(thing("I1")))
    world.aborted = 0
    shown.update({ count: 5 })
    await world.settled()
    shown.update({ count: 6 })
    await world.answerAll()
    assert.deepEqual([shown.last.items.length, world.aborted], [6, 0])
    shown.unmount()
    assert.equal(world.screens.isShowing(thing("I1")), false)
    // Without a place from its beginning.
    const again = render(() => useLiveList(list))
    await world.answerAll()
    assert.equal(again.last.items.length, 8)
    again.unmount()
})

test("a thing is on the screen while its component is, and another one takes its place", async () => {
    const world = new ScreenWorld(2)
    const shown = render(({ id }) => useThing(world.screens, thing(id)), { id: "I1" })
    assert.deepEqual([shown.outputs[0].value, shown.outputs[0].knowledge], [undefined, "unknown"])
    await world.answerAll()
    assert.deepEqual([shown.last.value.title, world.screens.isShowing(thing("I1"))], ["title 1", true])
    world.incidents.get("I1").title = "changed"
    shown.last.refresh()
    await world.answerAll()
    assert.equal(shown.last.value.title, "changed")
    const { length } = shown.outputs, before = shown.last
    shown.update({ id: "I1" })
    assert.deepEqual([shown.outputs.length, shown.last === before], [length + 1, true])
    shown.update({ id: "I2" })
    await world.answerAll()
    assert.equal(shown.last.value.title, "title 2")
    assert.deepEqual(["I1", "I2"].map(id => world.screens.isShowing(thing(id))), [false, true])
    shown.unmount()
    assert.equal(world.screens.isShowing(thing("I2")), false)
    // What is known is there at once, for whoever comes back.
    const again = render(() => useThing(world.screens, thing("I1")))
    assert.equal(again.outputs[0].value.title, "changed")
    again.unmount()
})

test("two components that show one thing each have it until they have gone", async () => {
    const world = new ScreenWorld(1)
    const [first, second] = [0, 1].map(() => render(() => useThing(world.screens, thing("I1")).value?.title))
    await world.answerAll()
    first.unmount()
    assert.ok(world.screens.isShowing(thing("I1")))
    world.incidents.get("I1").title = "changed"
    world.change(1, "I1", "updated")
    await world.answerAll()
    assert.deepEqual([first.last, second.last], ["title 1", "changed"])
    second.unmount()
})

test("a component shows what waits for the server, and how good a screen is", async () => {
    const world = new ScreenWorld(1)
    const actions = await openActions({
        store: new MemoryActionStore({ show: () => {} }), renewToken: async () => {}, settings: { coalescing: 0 },
        send: async batch => batch.map(({ key }) => ({ key, status: 200 })), environment: { locks: undefined },
    })
    const pending = render(() => usePending(actions).length), screens = render(() => useSnapshot(world.screens).isComplete)
    await actions.set("read", "I1", "true")
    while (pending.last > 0) await settle()
    assert.deepEqual(pending.outputs, [0, 1, 0])
    world.screens.details("details", thing("I1"))
    await world.answerAll()
    assert.deepEqual(screens.outputs, [true, false, true])
    actions.close()
})
