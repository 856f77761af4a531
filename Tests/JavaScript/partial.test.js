// intervals.js, partial.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { CompleteIntervals, Jitter, PartialList, compareEnds } from "../../Sources/LiveClientJS/core.js"
import { compareKeys } from "../../Sources/LiveClientJS/livegate.js"
import { runScenarios } from "./scenarios.js"

runScenarios("intervals", PartialList)

const end = rank => ({ at: { key: { rank, text: "" } } })

test("keys are compared by rank, then by code points (CompleteIntervalsTests.swift has these rows too)", () => {
    const texts = ["", "a", "aa", "a\u0301", "b", "\u00e1", "\uffee", "\u{1f600}"]
    const keys = [{ rank: -1, text: "z" }, ...texts.map(text => ({ rank: 0, text })), { rank: 1, text: "" }]
    keys.forEach((first, a) => keys.forEach((second, b) => {
        assert.equal(Math.sign(compareKeys(first, second)), Math.sign(a - b), `${a} ${b}`)
    }))
    const ends = [{ beginning: {} }, ...keys.map(key => ({ at: { key } })), { end: {} }]
    assert.deepEqual([...ends].reverse().sort(compareEnds), ends)
})

test("the furthest stretch goes when there are too many, stale ones first", () => {
    const interval = (lower, upper) => ({ lower: end(lower), upper: end(upper) })
    const intervals = new CompleteIntervals(3)
    for (const rank of [10, 20, 30]) intervals.insert(interval(rank, rank + 1))
    assert.equal(intervals.complete.length, 3)
    intervals.insert(interval(0, 1))
    assert.deepEqual(intervals.complete, [interval(0, 1), interval(10, 11), interval(20, 21)])
    intervals.insert(interval(40, 41))
    intervals.markStale()
    intervals.insert(interval(60, 61))
    assert.deepEqual(intervals.stale, [interval(20, 21), interval(40, 41)])
    assert.deepEqual(intervals.complete, [interval(60, 61)])
})

test("intervals are what a mark for each key and gap says, in 5,000 histories", () => {
    const seed = Date.now() >>> 0
    const random = new Jitter(seed)
    const below = bound => random.milliseconds(0, bound)
    const [keyCount, slotCount] = [8, 17]
    const slotEnd = slot => slot === 0 ? { beginning: {} } : slot === slotCount - 1 ? { end: {} } : end(slot)
    const randomSlot = () => {
        const number = below(keyCount + 2)
        return number === 0 ? 0 : number === keyCount + 1 ? slotCount - 1 : 2 * number - 1
    }
    for (let history = 0; history < 5_000; history += 1) {
        const intervals = new CompleteIntervals()
        const marks = new Array(slotCount).fill("unknown")
        for (let step = 0; step < 8; step += 1) {
            const place = `seed ${seed}, history ${history}, step ${step}`
            const slots = [randomSlot(), randomSlot()]
            const [low, high] = [Math.min(...slots), Math.max(...slots)]
            const stretch = { lower: slotEnd(low), upper: slotEnd(high) }
            const hasExtent = low < high || (low > 0 && high < slotCount - 1)
            const what = below(8)
            if (what === 0) intervals.markStale()
            else if (what === 1) intervals.insertStale(stretch)
            else intervals.insert(stretch)
            marks.forEach((mark, slot) => {
                const isIn = hasExtent && low <= slot && slot <= high
                if (what === 0 ? mark === "known" : what === 1 && isIn && mark === "unknown") marks[slot] = "knownStale"
                else if (what > 1 && isIn) marks[slot] = "known"
            })
            const found = marks.map((_, slot) => {
                const isGap = slot % 2 === 0
                return intervals.knowledge({
                    lower: slotEnd(isGap ? Math.max(0, slot - 1) : slot),
                    upper: slotEnd(isGap ? Math.min(slotCount - 1, slot + 1) : slot),
                })
            })
            assert.deepEqual(found, marks, place)
            const runs = marks.filter((mark, slot) => mark === "known" && marks[slot - 1] !== "known").length
            assert.equal(intervals.complete.length, runs, place)
            for (const list of [intervals.complete, intervals.stale]) {
                for (let index = 1; index < list.length; index += 1) {
                    const order = compareEnds(list[index - 1].upper, list[index].lower)
                    assert.ok(list === intervals.stale ? order <= 0 : order < 0, place)
                }
            }
        }
    }
})

/** Two stretches of a list, 1 to 3 and 7 to the end, with a hole between them. */
function holed() {
    const list = new PartialList()
    const intervals = [{ lower: { beginning: {} }, upper: end(3) }, { lower: end(7), upper: { end: {} } }]
    const items = [1, 2, 3, 7, 8].map(rank => ({ id: `${rank}`, key: { rank, text: "" } }))
    list.handle({ finger: { isHeld: true } }, 0)
    list.handle({ stored: { intervals, items } }, 0)
    return list
}

for (const [from, direction, ids, isComplete] of [
    [{ beginning: {} }, "forward", ["1", "2", "3"], false], [{ end: {} }, "backward", ["8", "7"], false],
    [end(2), "forward", ["2", "3"], false], [end(2), "backward", ["2", "1"], true], [end(8), "forward", ["8"], true],
    [end(5), "forward", [], false], [end(5), "backward", [], false],
]) {
    test(`what can be drawn ends where something may be missing: ${direction} from ${JSON.stringify(from)}`, () => {
        const list = holed()
        assert.equal(list.stretch, undefined)
        list.handle({ show: { from, direction, count: 9 } }, 0)
        assert.deepEqual(list.stretch, { ids, isComplete, isStale: false })
        list.handle({ finger: { isHeld: false } }, 0)
        assert.deepEqual(list.stretch, { ids, isComplete, isStale: ids.length > 0 })
        list.handle({ hide: {} }, 0)
        assert.equal(list.stretch, undefined)
    })
}

test("what can be drawn goes on from what is known to what is old", () => {
    const list = holed()
    for (const isHeld of [false, true]) list.handle({ finger: { isHeld } }, 0)
    const { loadPage } = list.handle({ show: { from: { beginning: {} }, direction: "forward", count: 1 } }, 0).at(-1)
    list.handle({ pageLoaded: { number: loadPage.number, items: [{ id: "1", key: { rank: 1, text: "" } }], isLast: false } }, 0)
    assert.deepEqual(list.stretch, { ids: ["1", "2", "3"], isComplete: false, isStale: true })
})
