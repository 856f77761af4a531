// What of a list a person can see (LiveScreensTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { ScreenWorld } from "./screenworld.js"

test("a person sees of a list what its screen has use for, or what the app says", async () => {
    const world = new ScreenWorld(8)
    const list = world.list(() => {})
    list.show({ from: { beginning: {} }, direction: "forward", count: 2 })
    await world.answerAll()
    const showing = () => ["I1", "I2", "I3"].map(id => world.screens.isShowing({ entity: "incident", id }))
    assert.deepEqual(showing(), [true, true, false])
    // It is fetched wherever it stands, and seen only where it can be seen.
    world.change(1, "I3", "updated")
    await world.answerAll()
    assert.deepEqual(world.reloads.at(-1).reloaded.value, { rank: 3, title: "title 3" })
    assert.ok(!world.screens.sawLive({ entity: "incident", id: "I3" }, 1_000))
    list.setVisible(["I3"])
    assert.deepEqual(showing(), [false, false, true])
    world.change(2, "I3", "updated")
    await world.answerAll()
    assert.ok(world.screens.sawLive({ entity: "incident", id: "I3" }, 1_000))
    list.setVisible(null)
    assert.deepEqual(showing(), [true, true, false])
})
