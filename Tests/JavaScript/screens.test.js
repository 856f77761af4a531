// screens.js, screenlists.js, namedlist.js, detailsscreens.js, screensapi.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { RequestError } from "../../Sources/LiveClientJS/livegate.js"
import { ScreenWorld as World, uncaughtIn } from "./screenworld.js"

test("a list loads the pages that its screen has use for, and shows their values", async () => {
    const world = new World(8)
    let state
    const list = world.list(next => { state = next })
    list.show({ from: { beginning: {} }, direction: "forward", count: 5 })
    assert.equal(state.knowledge, "unknown")
    await world.answerAll()
    assert.equal(state.knowledge, "known")
    assert.deepEqual(state.items.map(({ id, value }) => `${id} ${value.title}`),
        [1, 2, 3, 4, 5, 6].map(rank => `I${rank} title ${rank}`))
    assert.ok(state.items.every(item => item.knowledge === "known"))
    assert.deepEqual(state.stretch, { ids: ["I1", "I2", "I3", "I4", "I5", "I6"], isComplete: false, isStale: false })
})

test("things of a list keep their values, however many are remembered", async () => {
    const world = new World(40, { maximumThings: 2, maximumWaiting: 2 })
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 40 })
    await world.answerAll()
    assert.deepEqual(state.items.map(({ value }) => value?.title), [...Array(40).keys()].map(index => `title ${index + 1}`))
})

test("what is new beyond the room for fetches comes by one page", async () => {
    const world = new World(2, { maximumWaiting: 3, maximumAtOnce: 1 })
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 50 })
    await world.answerAll()
    for (let number = 1; number <= 40; number += 1) {
        world.incidents.set(`N${number}`, { rank: 2 + number, title: `new ${number}` })
        world.change(number, `N${number}`, "created")
    }
    await world.settled()
    // One fetch, and one page that was not asked for again with each of them.
    assert.deepEqual(world.pending.map(({ kind }) => kind), ["reload", "page"])
    assert.equal(world.aborted, 0)
    assert.equal(world.reloads.filter(({ reloadFailed }) => reloadFailed).length, 37)
    await world.answerAll()
    assert.deepEqual(state.items.slice(2).map(({ value }) => value.title), [...Array(40).keys()].map(index => `new ${index + 1}`))
})

test("a change is fetched and stands where it belongs; what leaves the list, or is gone, goes off it", async () => {
    const world = new World(3)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 9 })
    await world.answerAll()
    world.incidents.set("I2", { rank: 9, title: "moved" })
    world.change(1, "I2", "updated")
    world.incidents.set("N", { rank: 2, title: "new" })
    world.change(2, "N", "created")
    world.incidents.set("I1", { rank: 0, title: "resolved" })
    world.change(3, "I1", "updated")
    world.change(4, "elsewhere", "updated")
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.value.title), ["new", "title 3", "moved"])
    assert.deepEqual(world.reloads.map(({ reloaded }) => [reloaded.number, reloaded.outcome]).sort(),
        [[1, "value"], [2, "value"], [3, "value"], [4, "value"]])
    assert.equal(world.reloads.find(({ reloaded }) => reloaded.number === 2).reloaded.value.title, "new")
    world.incidents.delete("N")
    world.change(5, "N", "deleted")
    assert.deepEqual(state.items.map(item => item.value.title), ["title 3", "moved"])
    assert.deepEqual(world.pending, [])
    assert.ok(world.screens.sawLive({ entity: "incident", id: "I2" }, 1_000))
    assert.ok(world.screens.isShowing({ entity: "incident", id: "I2" }))
})

test("details are fetched when they are shown, and given up when they are hidden", async () => {
    const world = new World(2)
    const states = []
    const details = world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    assert.equal(states.at(-1).knowledge, "unknown")
    await world.answerAll()
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["known", "title 1"])
    world.incidents.get("I1").title = "changed"
    world.change(1, "I1", "updated")
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["knownStale", "title 1"])
    await world.settled()
    details.hide()
    assert.equal(world.aborted, 1)
    assert.deepEqual(world.reloads, [{ reloaded: { number: 1, outcome: "value", value: undefined } }])
    const count = states.length
    await world.answerAll()
    assert.equal(states.length, count)
    world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["knownStale", "title 1"])
    await world.answerAll()
    assert.deepEqual([states.at(-1).knowledge, states.at(-1).value.title], ["known", "changed"])
})

test("a list that was hidden when something new came is old when it is shown again", async () => {
    const world = new World(2)
    let state
    const list = world.list(next => { state = next })
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    list.show(place)
    await world.answerAll()
    list.hide()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    world.incidents.get("I1").title = "changed"
    world.change(2, "I1", "updated")
    assert.deepEqual(world.pending, [])
    assert.equal(world.screens.counts.avoided, 2)
    list.show(place)
    assert.equal(state.knowledge, "knownStale")
    await world.answerAll()
    assert.equal(state.knowledge, "known")
    assert.deepEqual(state.items.map(item => item.value.title), ["changed", "title 2", "new"])
})

test("a list that is hidden while something new is fetched for it does not say that nothing is missing", async () => {
    const world = new World(2)
    let state
    const list = world.list(next => { state = next })
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    list.show(place)
    await world.answerAll()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    list.hide()
    assert.equal(world.reloads.length, 1)
    await world.answerAll()
    list.show(place)
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.id), ["I1", "I2", "N"])
})

test("what changed while a page was on its way is fetched behind it", async () => {
    const world = new World(2)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await world.settled()
    world.incidents.set("N", { rank: 5, title: "new" })
    world.change(1, "N", "created")
    world.incidents.delete("I1")
    world.change(2, "I1", "deleted")
    await world.answerAll()
    assert.deepEqual(state.items.map(item => item.id), ["I2", "N"])
    assert.equal(state.knowledge, "known")
})

test("what a list waits for is fetched, though the details that show it too are hidden", async () => {
    const world = new World(2)
    let state
    const list = world.list(next => { state = next })
    list.show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await world.settled()
    const details = world.screens.details("details", { entity: "incident", id: "I1" }, () => {})
    await world.settled()
    world.incidents.get("I1").title = "changed"
    world.change(1, "I1", "updated")
    // The page comes first, and is older.
    assert.deepEqual(world.pending.map(({ kind }) => kind), ["page", "reload"])
    world.pending.shift().resolve()
    await world.settled()
    details.hide()
    await world.answerAll()
    assert.deepEqual(state.items.map(({ value }) => value.title), ["changed", "title 2"])
    assert.equal(state.knowledge, "known")
    // With the list too nobody waits for it any more.
    world.incidents.set("N", { rank: 3, title: "new" })
    world.change(2, "N", "created")
    await world.settled()
    list.hide()
    await world.settled()
    assert.equal(world.reloads.length, 2)
})

test("a failure is told and tried again: what the server refuses is not", async () => {
    const world = new World(1)
    const states = []
    const details = world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
    await world.settled()
    world.pending.shift().reject(Object.assign(new Error("later"), { kind: "retry", retryAfter: 2_000 }))
    await world.settled()
    assert.deepEqual(states.at(-1).failure, { retry: { after: 2_000 } })
    const [{ work, at }] = world.timers.values()
    assert.ok(at >= 2_000 && at < 3_000, `${at}`)
    world.now = at
    work()
    await world.settled()
    world.pending.shift().reject(Object.assign(new Error("no"), { kind: "rejected", status: 400 }))
    await world.settled()
    assert.deepEqual([states.at(-1).failure, world.timers.size], [{ rejected: { status: 400 } }, 0])
    details.refresh()
    await world.answerAll()
    assert.deepEqual([states.at(-1).failure, states.at(-1).value.title], [null, "title 1"])
})

test("a resync shows all as old and loads it again; closed screens ask and say nothing", async () => {
    const world = new World(3)
    let state
    world.list(next => { state = next }).show({ from: { beginning: {} }, direction: "forward", count: 5 })
    await world.answerAll()
    world.screens.setFinger(false)
    assert.deepEqual([state.knowledge, state.items[0].knowledge, state.items.length], ["knownStale", "knownStale", 3])
    world.incidents.delete("I2")
    world.screens.setFinger(true)
    await world.answerAll()
    assert.deepEqual([state.knowledge, state.items.map(item => item.id)], ["known", ["I1", "I3"]])
    world.screens.setFinger(false)
    world.screens.setFinger(true)
    await world.settled()
    state = null
    world.screens.close()
    await world.answerAll()
    assert.equal(state, null)
})

test("a listener that throws keeps nothing from being told, fetched or answered", async () => {
    const world = new World(2)
    const seen = []
    const errors = await uncaughtIn(async () => {
        world.list(() => { throw new Error("list") }).show({ from: { beginning: {} }, direction: "forward", count: 5 })
        world.screens.details("one", { entity: "incident", id: "I1" }, () => { throw new Error("details") })
        world.screens.details("two", { entity: "incident", id: "I1" }, state => seen.push(state.value?.title))
        await world.answerAll()
        world.incidents.get("I1").title = "changed"
        world.change(1, "I1", "updated")
        world.change(2, "elsewhere", "updated")
        await world.answerAll()
    })
    assert.equal(seen.at(-1), "changed")
    assert.deepEqual(world.reloads.map(({ reloaded }) => reloaded.number), [2, 1])
    assert.deepEqual([...new Set(errors.map(({ message }) => message))].sort(), ["details", "list"])
})

test("where an app's function cannot say the place of a value, the list asks for its page and stays right", async () => {
    const world = new World(2)
    let state, isBroken = false
    const key = value => { if (isBroken) throw new Error("key"); return World.key(value) }
    const list = world.screens.list({ name: "open", entity: "incident", key, listener: next => { state = next } })
    const errors = await uncaughtIn(async () => {
        list.show({ from: { beginning: {} }, direction: "forward", count: 5 })
        await world.answerAll()
        isBroken = true
        world.incidents.get("I1").rank = 7
        world.change(1, "I1", "updated")
        await world.answerAll()
    })
    assert.deepEqual([state.knowledge, state.items.map(item => item.id)], ["known", ["I2", "I1"]])
    assert.deepEqual(errors.map(({ message }) => message), ["key"])
})

test("a screen that shows something else is not hidden by what it showed before", async () => {
    const world = new World(2)
    const states = []
    const show = id => world.screens.details("details", { entity: "incident", id }, state => states.push(state))
    const first = show("I1"), second = show("I2")
    first.hide()
    first.refresh()
    await world.answerAll()
    assert.deepEqual([states.at(-1).value.title, world.screens.counts.made], ["title 2", 2])
    assert.ok(world.screens.isShowing({ entity: "incident", id: "I2" }))
    second.hide()
    assert.ok(!world.screens.isShowing({ entity: "incident", id: "I2" }))
})

test("a list and a screen of details do not share a name, and a list that is closed hides no other", async () => {
    const world = new World(1)
    const thing = { entity: "incident", id: "I1" }
    const first = world.list()
    assert.throws(() => world.screens.details("open", thing, () => {}), /name of a list/)
    assert.throws(() => world.list(), /a list "open" already/)
    first.close()
    const details = world.screens.details("open", thing, () => {})
    assert.throws(() => world.list(), /screen of details/)
    details.hide()
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    world.list().show(place)
    await world.answerAll()
    first.hide()
    first.close()
    assert.ok(world.screens.isShowing(thing))
    assert.throws(() => first.show(place), /closed/)
})

test("errors of an API are understood by their status: gone, not ours, refused, nobody signed in", async () => {
    const answers = [[404, "gone"], [410, "gone"], [403, "notOurs"]]
    for (const [status, outcome] of answers) {
        const world = new World(1)
        const states = []
        world.screens.details("details", { entity: "incident", id: "I1" }, state => states.push(state))
        await world.answerAll()
        world.change(1, "I1", "updated")
        await world.settled()
        world.pending.shift().reject(new RequestError(status))
        await world.settled()
        assert.deepEqual([states.at(-1).value, states.at(-1).failure, states.at(-1).absence], [undefined, null, outcome])
        assert.equal(world.reloads[0].reloaded.outcome, outcome)
        world.change(2, "I1", "updated")
        await world.answerAll()
        assert.deepEqual([states.at(-1).value.title, states.at(-1).absence], ["title 1", null])
    }
    const failures = [
        [new RequestError(401), { unauthorized: {} }], [new RequestError(422), { rejected: { status: 422 } }],
        [new RequestError(429, 3_000), { retry: { after: 3_000 } }], [new RequestError(), { retry: {} }],
    ]
    for (const [error, failure] of failures) {
        const world = new World(1)
        world.screens.details("details", { entity: "incident", id: "I1" }, () => {})
        await world.answerAll()
        world.change(1, "I1", "updated")
        await world.settled()
        world.pending.shift().reject(error)
        await world.settled()
        assert.deepEqual(world.reloads, [{ reloadFailed: { number: 1, failure } }])
    }
})

test("an answer that is none is reported, and keeps no place among the fetches", async () => {
    const world = new World(6)
    const answers = [undefined, null, {}, "text"]
    world.screens.details("details", { entity: "incident", id: "I1" }, () => {})
    await world.answerAll()
    const errors = await uncaughtIn(async () => {
        for (const answer of answers) {
            world.change(1, "I1", "updated")
            await world.settled()
            world.pending.shift().resolveWith(answer)
            await world.settled()
        }
    })
    assert.deepEqual(errors.map(({ message }) => /reload gave none/.test(message)), [true, true, true, true])
    assert.deepEqual(world.reloads.map(({ reloadFailed }) => reloadFailed.failure), answers.map(() => ({ unreadable: {} })))
    world.change(2, "I1", "updated")
    await world.answerAll()
    assert.equal(world.reloads.at(-1).reloaded.value.title, "title 1")
})

test("what changed under a page and cannot be fetched comes by another page", async () => {
    const world = new World(3)
    let shown
    world.list(state => { shown = state }).show({ from: { beginning: {} }, direction: "forward", count: 9 })
    await world.settled()
    // The list does not know it yet, so no screen needs it.
    world.change(1, "I2", "updated")
    assert.equal(world.pending.length, 1)
    world.pending.shift().resolve()
    await world.settled()
    const fetch = world.pending.find(({ kind }) => kind === "reload")
    world.pending.splice(world.pending.indexOf(fetch), 1)
    fetch.reject(new RequestError(503))
    await world.answerAll()
    assert.equal(shown.knowledge, "known")
    assert.deepEqual(shown.items.map(({ value }) => value.title), ["title 1", "title 2", "title 3"])
})

test("a thing that cannot be fetched has the lists that wait for it loaded again once, and no other", async () => {
    const world = new World(2)
    const states = {}
    const place = { from: { beginning: {} }, direction: "forward", count: 5 }
    world.list(next => { states.open = next }).show(place)
    const other = world.list(next => { states.other = next }, "other")
    other.show(place)
    await world.answerAll()
    other.hide()
    world.screens.details("details", { entity: "incident", id: "X" }, () => {})
    const failNext = async kind => {
        await world.settled()
        const index = world.pending.findIndex(request => request.kind === kind)
        world.pending.splice(index, 1)[0].reject(new RequestError(503))
        await world.settled()
    }
    // Of what only the details show no list knows less.
    await failNext("reload")
    assert.deepEqual([world.pending, states.open.knowledge, states.other.stale], [[], "known", []])
    world.change(1, "N", "created")
    await failNext("reload")
    assert.equal(states.open.knowledge, "knownStale")
    assert.deepEqual(world.pending.map(({ kind }) => kind), ["page"])
    await world.answerAll()
    for (const number of [2, 3, 4]) {
        world.change(number, "N", "created")
        await failNext("reload")
    }
    assert.deepEqual([world.pending, states.open.knowledge], [[], "known"])
})

test("what a network has not answered is asked again when there is one again, and what nobody answers after a minute", async () => {
    const world = new World(6)
    const seen = []
    world.screens.details("details", { entity: "incident", id: "I1" }, state => seen.push(state.value?.title))
    await world.settled()
    world.pending.length = 0
    world.now += 1_000
    world.screens.networkIsBack()
    await world.settled()
    assert.equal(world.pending.length, 0)
    world.now += 2_000
    world.screens.networkIsBack()
    await world.settled()
    assert.deepEqual([world.pending.length, world.aborted], [1, 1])
    world.pending.length = 0
    await world.fire(60_000)
    assert.equal(world.aborted, 2)
    await world.fire(20_000)
    await world.answerAll()
    assert.equal(seen.at(-1), "title 1")
})

test("what a screen shows and no rule fetches stays what it was; what nobody shows is old", async () => {
    const world = new World(2)
    world.screens.details("details", { entity: "incident", id: "I1" }, () => {})
    await world.answerAll()
    world.change(1, "I1", "created")
    world.change(2, "I2", "created")
    assert.deepEqual(world.reloads.map(({ reloaded }) => [reloaded.number, reloaded.isAsBefore]), [[1, true], [2, undefined]])
})
