// A server of incidents for screens, and a way to see what an app has thrown.
import { Screens } from "../../Sources/LiveClientJS/livegate.js"

/** A gate that no trouble closes: what closes it gate.test.js tests. */
const openGate = { enter: decide => { decide(false); return () => {} }, refresh() {}, networkIsBack() {} }

/** A server of incidents by rank, whose answers are released one by one, and a clock that stands still. */
export class ScreenWorld {
    incidents = new Map()
    now = 0
    timers = new Map()
    pending = []
    reloads = []
    aborted = 0

    constructor(count = 0, fetches = {}) {
        for (let rank = 1; rank <= count; rank += 1) this.incidents.set(`I${rank}`, { rank, title: `title ${rank}` })
        let last = 0
        this.screens = new Screens({
            gate: openGate,
            environment: {
                now: () => this.now,
                setTimer: (work, wait) => { this.timers.set(last += 1, { work, at: this.now + wait }); return last },
                clearTimer: timer => this.timers.delete(timer),
            },
            api: {
                reload: (thing, { signal }) => this.#answer("reload", thing.id, signal, () => (
                    this.incidents.has(thing.id) ? { value: { ...this.incidents.get(thing.id) } } : { gone: {} })),
                page: ({ request, signal }) => this.#answer("page", JSON.stringify(request.from), signal, () => (
                    this.#page(request))),
            },
            onReload: result => this.reloads.push(result),
            settings: { lists: { pageLimit: 3 }, fetches },
        })
        this.screens.setFinger(true)
        this.screens.setLive(true)
    }

    #page({ from, limit, isInclusive }) {
        const after = from.at ? from.at.key.rank + (isInclusive ? 0 : 1) : -Infinity
        const all = [...this.incidents].filter(([, { rank }]) => rank >= after).sort(([, a], [, b]) => a.rank - b.rank)
        const items = all.slice(0, limit).map(([id, value]) => ({ id, key: ScreenWorld.key(value), value: { ...value } }))
        return { items, isLast: all.length <= limit }
    }

    static key({ rank }) { return rank > 0 ? { rank, text: "" } : null }

    /** What the server has now is what it answers later. */
    #answer(kind, what, signal, make) {
        signal.addEventListener("abort", () => { this.aborted += 1 })
        const found = make()
        return new Promise((resolve, reject) => {
            this.pending.push({ kind, what, resolve: () => resolve(found), resolveWith: resolve, reject })
        })
    }

    list(listener, name = "open") {
        return this.screens.list({ name, entity: "incident", key: ScreenWorld.key, listener })
    }

    async settled() { for (let turn = 0; turn < 10; turn += 1) await null }

    /** Releases what waits, until nothing does. */
    async answerAll() {
        await this.settled()
        while (this.pending.length > 0) {
            this.pending.shift().resolve()
            await this.settled()
        }
    }

    /** Moves the clock, and fires what is due then. */
    async fire(milliseconds) {
        this.now += milliseconds
        for (const [timer, { work, at }] of [...this.timers]) {
            if (at <= this.now && this.timers.delete(timer)) work()
        }
        await this.settled()
    }

    change(number, id, type) { this.screens.reload({ number, thing: { entity: "incident", id }, types: [type] }) }
}

/** What was thrown where nobody catches it while `work` ran: the process goes on. */
export async function uncaughtIn(work) {
    const { queueMicrotask } = globalThis, errors = []
    globalThis.queueMicrotask = task => queueMicrotask(() => { try { task() } catch (error) { errors.push(error) } })
    try { await work() } finally { globalThis.queueMicrotask = queueMicrotask }
    return errors
}
