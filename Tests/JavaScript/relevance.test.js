// relevance.js, fetches.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { FetchQueue, KnownThings, Relevance } from "../../Sources/LiveClientJS/core.js"
import { thingKey } from "../../Sources/LiveClientJS/core/relevance.js"
import { runScenarios } from "./scenarios.js"

runScenarios("relevance", Relevance)
runScenarios("fetches", FetchQueue)

const thing = id => ({ entity: "incident", id })

test("a dialog for what the eyes have seen is suppressed (RelevanceTests.swift has these rows too)", () => {
    const relevance = new Relevance({ seenFor: 1_000 })
    assert.ok(!relevance.isShowing(thing("A")))
    relevance.handle({ live: { isLive: true } }, 0)
    relevance.handle({ show: { screen: "1", interest: { details: { thing: thing("A") } } } }, 0)
    assert.ok(relevance.isShowing(thing("A")) && !relevance.isShowing(thing("B")))
    assert.ok(!relevance.isShowing({ entity: "note", id: "A" }))
    assert.ok(!relevance.sawLive(thing("A"), 1_000, 0))
    relevance.handle({ displayed: { thing: thing("A") } }, 100)
    relevance.handle({ hide: { screen: "1" } }, 200)
    assert.ok(!relevance.isShowing(thing("A")))
    assert.ok(relevance.sawLive(thing("A"), 500, 600) && !relevance.sawLive(thing("A"), 500, 601))
    assert.ok(relevance.sawLive(thing("A"), 9_000, 1_100) && !relevance.sawLive(thing("A"), 9_000, 1_101))
    assert.ok(!relevance.sawLive(thing("B"), 9_000, 600))
    assert.ok(!relevance.sawLive({ entity: "note", id: "A" }, 9_000, 600))
})

test("what is on the screens comes each once", () => {
    const relevance = new Relevance()
    const list = (entity, ids, takesNew) => ({ list: { entity, ids, takesNew } })
    relevance.handle({ show: { screen: "1", interest: list("incident", ["A", "B"], true) } }, 0)
    relevance.handle({ show: { screen: "2", interest: list("incident", ["C", "A"], true) } }, 0)
    relevance.handle({ show: { screen: "3", interest: list("note", ["A"], false) } }, 0)
    relevance.handle({ show: { screen: "4", interest: { details: { thing: thing("B") } } } }, 0)
    assert.deepEqual(relevance.details, [thing("B")])
    assert.deepEqual(relevance.listed, [...["A", "B", "C"].map(thing), { entity: "note", id: "A" }])
    assert.deepEqual(relevance.takesNew, ["incident"])
})

test("the eighth of all things that was used longest ago is forgotten for one more", () => {
    const things = new KnownThings(16)
    things.watch(true)
    const ids = [...Array(17).keys()].map(String)
    for (const id of ids.slice(0, 16)) things.answer(thing(id), things.ask())
    things.answer(thing("0"), things.ask())
    assert.ok(ids.slice(0, 16).every(id => things.knowledge(thing(id)) === "known"))
    things.answer(thing("16"), things.ask())
    assert.deepEqual(ids.filter(id => things.knowledge(thing(id)) === "unknown"), ["1", "2"])
})

test("a change of what is forgotten at once, because all else is on the screen, makes an older answer old", () => {
    const things = new KnownThings(1)
    things.watch(true)
    things.answer(thing("A"), things.ask())
    things.pin(new Map([[thingKey(thing("A")), thing("A")]]))
    const asked = things.ask()
    things.change(thing("B"))
    things.pin(new Map())
    things.answer(thing("B"), asked)
    assert.equal(things.knowledge(thing("B")), "knownStale")
})
