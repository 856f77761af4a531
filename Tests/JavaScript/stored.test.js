// stored.js, memorystore.js, machine.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { differences, otherStore, placeOfCommit, storeLeaseMilliseconds } from "../../Sources/LiveClientJS/core/stored.js"
import { MemoryStore, createMachine, keyOf, openStore, thingOf } from "../../Sources/LiveClientJS/livegate.js"
import { World } from "./world.js"

const wanted = { format: 1, schema: 3, account: "PACC1", server: "https://live.example" }

test("a store is ours when nothing of its identity differs", () => {
    for (const [found, differing] of [
        [{ ...wanted }, []],
        [{ ...wanted, schema: 2 }, ["schema"]],
        [{ ...wanted, schema: 4 }, ["schema"]],
        [{ ...wanted, account: "PACC2" }, ["account"]],
        [{ ...wanted, account: undefined }, ["account"]],
        [{ ...wanted, server: "https://other.example", format: 2 }, ["format", "server"]],
        [undefined, ["format", "schema", "account", "server"]],
    ]) assert.deepEqual(differences(found, wanted), differing)
})

test("another one's store says what differs and what to do", () => {
    const error = otherStore("livegate", { ...wanted, account: "PACC2" }, wanted)
    assert.equal(error.kind, "other")
    assert.deepEqual(error.differs, ["account"])
    assert.equal(error.found.account, "PACC2")
    assert.match(error.message, /account "PACC2", not "PACC1".*not used and not deleted.*discardStore/)
})

test("a tab writes its changes behind its own commit, everything behind another's, and nothing while another writes", () => {
    const other = { writer: "b", at: 1_000_000 }
    for (const [found, now, place] of [
        [undefined, 0, "whole"],
        [{ writer: "a", at: 0 }, 1_000_000, "changes"],
        [other, 1_000_000, "leave"],
        [other, 1_000_000 + storeLeaseMilliseconds - 1, "leave"],
        [other, 1_000_000 + storeLeaseMilliseconds, "whole"],
        // The clock was set back: how old it is nobody knows.
        [other, 999_999, "whole"],
    ]) assert.equal(placeOfCommit(found, "a", now), place)
    assert.equal(placeOfCommit({ writer: "a", at: 0 }, "a", 1, true), "whole")
})

test("keys keep entity and id apart", () => {
    const things = [{ entity: "a", id: "b,c" }, { entity: "a,b", id: "c" }, { entity: "a\",\"b", id: "c" }]
    assert.equal(new Set(things.map(keyOf)).size, 3)
    assert.deepEqual(things.map(keyOf).map(thingOf), things)
})

test("a commit in memory is there whole or not at all, and what is given is not changed later", async () => {
    const store = new MemoryStore()
    assert.equal(await store.load("open"), null)
    const value = { title: "down" }
    await store.commit("open", { metadata: { finger: "f1" }, put: [["a", value], ["b", 2]] })
    value.title = "changed by the app"
    await store.commit("open", { metadata: { finger: "f2" }, put: [["c", 3]], remove: ["b"] })
    const expected = { metadata: { finger: "f2" }, entries: new Map([["a", { title: "down" }], ["c", 3]]) }
    assert.deepEqual(await store.load("open"), expected)
    await store.commit("other", { metadata: {}, put: [["a", 1], ["b", 2]] })
    await store.commit("other", { metadata: {}, isWhole: true, whole: () => [["b", 3]] })
    assert.deepEqual((await store.load("other")).entries, new Map([["b", 3]]))
    store.beforeCommit = () => { throw new Error("disk full") }
    await assert.rejects(store.commit("open", { metadata: { finger: "f3" }, remove: ["a"] }), /disk full/)
    assert.deepEqual(await store.load("open"), expected)
    assert.equal(await store.load("a third area"), null)
})

test("of two tabs one writes; the other takes over with all that it knows when the first is gone", async () => {
    let now = 0
    const shelf = new Map()
    const [first, second] = ["first", "second"].map(writer => new MemoryStore({ shelf, writer, now: () => now }))
    assert.equal(await first.commit("open", { metadata: { finger: "f1" }, put: [["a", 1]] }), "whole")
    // The second tab is behind: its old value must not come behind the first one's finger.
    const behind = { metadata: { finger: "f0" }, put: [["a", 0]], whole: () => [["a", 0], ["z", 0]] }
    assert.equal(await second.commit("open", behind), "leave")
    now += storeLeaseMilliseconds - 1
    assert.equal(await first.commit("open", { metadata: { finger: "f2" }, put: [["b", 2]] }), "changes")
    now += storeLeaseMilliseconds
    assert.equal(await second.commit("open", behind), "whole")
    assert.deepEqual(await first.load("open"), { metadata: { finger: "f0" }, entries: new Map([["a", 0], ["z", 0]]) })
    assert.equal(await first.commit("open", { metadata: { finger: "f3" }, put: [["c", 3]] }), "leave")
})

test("where there is no IndexedDB, opening says so", async () => {
    await assert.rejects(openStore({ account: "PACC1", server: "https://live.example" }), { kind: "unavailable" })
})

test("a second machine of an area in one store is refused, and may begin when the first is closed", () => {
    const world = new World(), { client } = world.client(), store = new MemoryStore()
    const options = { area: "incidents", store, snapshot: async () => [] }
    const first = createMachine(client, options)
    assert.throws(() => createMachine(client, options), /area incidents/)
    createMachine(client, { ...options, area: "notes" }).close()
    createMachine(client, { ...options, store: new MemoryStore() }).close()
    first.close()
    createMachine(client, options).close()
})
