// Events that are not in the state yet (PendingEvents.swift): in batches, each with the cursor behind it.
import { earliestOf } from "./freshness.js"
import { Jitter, Retry } from "./retry.js"
import { keyOf } from "./stored.js"

/** How long to wait after a failed request: the server's word first. */
export function waitFor(failure, retry) {
    const asked = failure.retry?.after
    return asked === undefined ? retry.wait() : retry.waitAfter(asked)
}

/** Whether no repetition mends it: a refusal, or an answer that cannot be read. */
export function isFinal(failure) { return "rejected" in failure || "unreadable" in failure }

/**
 * Batches and reloads. A thing is asked for once at a time. A reload answers the batches that had come when it began;
 * for later ones there is another.
 */
export class PendingEvents {
    /** `{_sequence, came, at, items: [{key, thing, types, ts, isDone}]}`, in their order; `ts`: of the item's oldest event. */
    #batches = []
    #lastSequence = 0
    /** The items of the last batch, by the thing's key. */
    #lastItems = new Map()
    /** The newest batch that a reload answers. */
    #covered = 0
    /** By the thing's key: `{number, _covers, retry, retryAt, outcome}`. */
    #reloads = new Map()
    /** Keys by the number of the reload under way. */
    #asked = new Map()
    #failing = new Set()
    #jitter
    /** Something may begin. */
    #hasNews = false
    /** Things, counted for each type and each batch. */
    _count = 0

    constructor(seed) { this.#jitter = new Jitter(seed) }

    /** The cursor behind all of it. */
    get _lastCursor() { return this.#batches.at(-1)?.at }
    get _hasFailed() { return this.#failing.size > 0 }
    /** When the oldest event came. */
    get _unappliedSince() { return this.#batches.find(batch => batch.items.length > 0)?.came }
    /** When a failed reload is to be tried again. */
    get _retryAt() { return earliestOf([...this.#failing].map(key => this.#reloads.get(key)?.retryAt)) }

    /**
     * Adds events, to the last batch where no commit has taken it and no reload answers it: what changes again and again while
     * its reload is under way is counted once. Without events only the cursor moves.
     */
    _add(events, at, now, committing) {
        if (this.#batches.length <= committing || (events.length > 0 && this.#lastSequence <= this.#covered)) {
            this.#lastSequence += 1
            this.#batches.push({ _sequence: this.#lastSequence, came: now, at, items: [] })
            this.#lastItems.clear()
        }
        const last = this.#batches.at(-1)
        last.at = at
        if (last.items.length === 0) last.came = now
        for (const { thing, type, ts } of events) {
            const key = keyOf(thing)
            if (!this.#lastItems.has(key)) {
                const item = { key, thing, types: [], isDone: false }
                this.#lastItems.set(key, item)
                last.items.push(item)
            }
            const item = this.#lastItems.get(key)
            item.ts = earliestOf([item.ts, ts])
            // The last of each counts: what was created, deleted and created again is there.
            const { types } = item, known = types.indexOf(type)
            if (known >= 0) types.splice(known, 1)
            else this._count += 1
            types.push(type)
        }
        this.#hasNews ||= events.length > 0
    }

    /** Begins what has not begun, and what is due again. */
    _begin(now, mayRetry, nextNumber) {
        const retryAt = this._retryAt
        if (!this.#hasNews && !(mayRetry && retryAt !== undefined && retryAt <= now)) return []
        this.#hasNews = false
        const open = new Map()
        for (const item of this.#batches.flatMap(batch => batch.items)) {
            if (item.isDone) continue
            const before = open.get(item.key)?.types ?? []
            const types = [...before.filter(type => !item.types.includes(type)), ...item.types]
            open.set(item.key, { thing: item.thing, types })
        }
        const effects = []
        for (const [key, { thing, types }] of open) {
            const reload = this.#reloads.get(key) ?? { _covers: 0, retry: new Retry(this.#jitter.next()) }
            if (reload.number !== undefined) continue
            if (reload.retryAt !== undefined && (!mayRetry || reload.retryAt > now)) continue
            reload.number = nextNumber()
            reload._covers = this.#lastSequence
            this.#covered = this.#lastSequence
            reload.retryAt = undefined
            this.#reloads.set(key, reload)
            this.#asked.set(reload.number, key)
            effects.push({ reload: { number: reload.number, thing, types } })
        }
        return effects
    }

    _reloaded(number, outcome) {
        const key = this.#asked.get(number)
        const reload = this.#reloads.get(key)
        if (!reload) return
        this.#asked.delete(number)
        reload.number = undefined
        reload.outcome = outcome
        reload.retry.reset()
        this.#failing.delete(key)
        for (const batch of this.#batches) {
            const item = batch.items.find(item => item.key === key && !item.isDone)
            if (!item) continue
            if (batch._sequence <= reload._covers) item.isDone = true
            else this.#hasNews = true
        }
    }

    /** Puts a reload off. False: nobody waits for it. */
    _failed(number, failure, now) {
        const key = this.#asked.get(number)
        const reload = this.#reloads.get(key)
        this.#asked.delete(number)
        if (!reload) return false
        reload.number = undefined
        const wait = waitFor(failure, reload.retry)
        // What a new token may mend waits for nothing else.
        reload.retryAt = "unauthorized" in failure ? now : now + wait
        this.#failing.add(key)
        return true
    }

    /** Makes everything that was put off due. */
    _retryNow(now) {
        for (const key of this.#failing) {
            const reload = this.#reloads.get(key)
            if (reload?.retryAt !== undefined) reload.retryAt = now
        }
    }

    /** How many batches, from the first on, have all that they name. */
    get _ready() {
        const first = this.#batches.findIndex(batch => !batch.items.every(item => item.isDone))
        return first < 0 ? this.#batches.length : first
    }

    /** What a commit of the first batches changes, and the cursor behind them with the time at which it came. */
    changes(count) {
        if (count === 0 || count > this.#batches.length) return undefined
        const changes = new Map()
        for (const { key, thing, ts } of this.#batches.slice(0, count).flatMap(batch => batch.items)) {
            const known = changes.get(key), outcome = this.#reloads.get(key)?.outcome
            if (known) known.ts = earliestOf([known.ts, ts])
            else if (outcome !== undefined) changes.set(key, { thing, outcome, ts })
        }
        const last = this.#batches[count - 1]
        return { changes: [...changes.values()], at: last.at, came: last.came }
    }

    /** Lets go of the first batches: they are in the state. */
    removeFirst(number) {
        for (const batch of this.#batches.splice(0, number)) {
            this._count -= batch.items.reduce((sum, item) => sum + item.types.length, 0)
        }
        const named = new Set(this.#batches.flatMap(batch => batch.items.map(item => item.key)))
        for (const key of [...this.#reloads.keys()]) if (!named.has(key)) this.#reloads.delete(key)
    }

    /** Lets go of everything. True: reloads were under way, or had brought something. */
    _removeAll() {
        const hadReloads = this.#reloads.size > 0
        this.#batches = []
        this.#reloads.clear()
        this.#asked.clear()
        this.#failing.clear()
        this._count = 0
        this.#hasNews = false
        return hadReloads
    }
}
