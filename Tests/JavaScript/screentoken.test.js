// A 401 of what screens ask for: one new token, then a stop that says so (ScreenTokenTests.swift).
import assert from "node:assert/strict"
import { test } from "node:test"
import { RequestError, Screens } from "../../Sources/LiveClientJS/livegate.js"

/** Ten incidents behind a token; timers are fired by `fire`. */
class Guarded {
    isGood = false
    isNextGood = true
    asked = 0
    renewals = 0
    /** What the next calls for another token throw. */
    failures = []
    timers = new Map()
    reloads = []
    states = []
    now = 0

    constructor(withRenewal = true) {
        let last = 0
        const api = {
            reload: async ({ id }) => { this.#ask(); return { value: `title of ${id}` } },
            page: async () => {
                this.#ask()
                return { items: [...Array(10).keys()].map(rank => ({ id: `I${rank}`, key: { rank, text: "" }, value: "" })), isLast: true }
            },
        }
        if (withRenewal) api.renewToken = async () => {
            this.renewals += 1
            if (this.failures.length > 0) throw this.failures.shift()
            this.isGood = this.isNextGood
        }
        this.screens = new Screens({
            environment: {
                now: () => this.now,
                setTimer: (work, wait) => { this.timers.set(last += 1, { work, at: this.now + wait }); return last },
                clearTimer: timer => this.timers.delete(timer),
            },
            api, onReload: result => this.reloads.push(result),
        })
        this.screens.setFinger(true)
        this.list = this.screens.list({ name: "open", entity: "incident", key: () => null, listener: state => this.states.push(state) })
        this.list.show({ from: { beginning: {} }, direction: "forward", count: 10 })
    }

    get state() { return this.states.at(-1) }

    #ask() {
        this.asked += 1
        if (!this.isGood) throw new RequestError(401)
    }

    async settle() { for (let turn = 0; turn < 40; turn += 1) await null }

    /** Moves the clock by less than a request may take, and fires what is due. */
    async fire(milliseconds = 25_000) {
        this.now += milliseconds
        for (const [timer, { work, at }] of [...this.timers]) if (at <= this.now && this.timers.delete(timer)) work()
        await this.settle()
    }
}

test("a page that is refused for its token is asked for again with another one", async () => {
    const api = new Guarded()
    await api.settle()
    assert.deepEqual([api.asked, api.renewals, api.state.knowledge, api.state.isUnauthorized], [2, 1, "known", false])
    // Something has succeeded: the next 401 asks for another one again.
    api.isGood = false
    const seen = []
    api.screens.details("details", { entity: "note", id: "N" }, state => seen.push(state))
    await api.settle()
    assert.deepEqual([api.asked, api.renewals, seen.at(-1).value, seen.at(-1).failure], [4, 2, "title of N", null])
})

for (const withRenewal of [true, false]) {
    test(`a token that is refused like the one before stops everything until there is another, ${withRenewal}`, async () => {
        const api = new Guarded(withRenewal)
        api.isNextGood = false
        await api.settle()
        const before = withRenewal ? 1 : 0
        assert.deepEqual([api.asked, api.renewals, api.state.isUnauthorized, api.screens.isUnauthorized], [2, before, true, true])
        for (let turn = 0; turn < 5; turn += 1) await api.fire()
        const seen = []
        api.screens.details("details", { entity: "incident", id: "I1" }, state => seen.push(state))
        api.screens.reload({ number: 1, thing: { entity: "incident", id: "I1" }, types: ["updated"] })
        await api.settle()
        await api.fire()
        // Whoever asks is told without a request.
        assert.deepEqual(seen.at(-1).failure, { unauthorized: {} })
        assert.deepEqual(api.reloads.at(-1), { reloadFailed: { number: 1, failure: { unauthorized: {} } } })
        assert.deepEqual([api.asked, api.renewals], [2, before])
        api.isGood = true
        api.screens.tokenChanged()
        await api.settle()
        assert.deepEqual([api.state.knowledge, api.state.isUnauthorized, api.screens.isUnauthorized], ["known", false, false])
        assert.deepEqual([seen.at(-1).value, seen.at(-1).failure, api.renewals], ["title of I1", null, before])
    })
}

test("nobody is signed in: nothing is asked any more", async () => {
    const api = new Guarded()
    api.failures = [Object.assign(new Error("signed out"), { isUnauthorized: true })]
    await api.settle()
    await api.fire()
    assert.deepEqual([api.asked, api.renewals, api.state.isUnauthorized], [1, 1, true])
})

test("a call for a token that has no answer is made again, and nothing else meanwhile", async () => {
    const api = new Guarded()
    api.failures = [new RequestError(503), new RequestError()]
    await api.settle()
    assert.deepEqual([api.asked, api.renewals, api.state.isUnauthorized], [1, 1, false])
    await api.fire()
    await api.fire()
    assert.deepEqual([api.asked, api.renewals, api.state.knowledge], [2, 3, "known"])
})
