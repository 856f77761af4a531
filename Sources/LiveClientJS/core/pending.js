// Events that are not in the state yet (PendingEvents.swift): in batches, each with the cursor behind it.
import { Jitter, Retry, earliestOf, waitOfHalf } from "./retry.js"
import { keyOf } from "./stored.js"

/** Whether no repetition mends it: a refusal, or an answer that cannot be read. */
export function isFinal(failure) { return "rejected" in failure || "unreadable" in failure }

/** How far the outcome of a reload has come into the state: no commit has it, one that is under way, or one that is stored. */
const awaited = 1, begun = 2, stored = 3
/** So often a reload fails before its thing is written down as known stale, and the finger passes it. */
const maximumFailures = 3
/** So many things are written down at most; beyond it one that fails holds the finger up. */
const maximumStale = 1_000
/** The bound of the first wait before a thing that is known stale is asked for again, and the longest, in ms. */
const firstStaleBound = 5_000, longestStaleBound = 900_000

/** `types` of a thing, and behind them those that came later: the last of each counts. */
function joined(types, later) { return [...types.filter(type => !later.includes(type)), ...later] }

/**
 * Batches and reloads. A thing is asked for once at a time. A reload answers the batches that had come when it began;
 * for later ones there is another.
 */
export class PendingEvents {
    /**
     * `{_sequence, came, at, items: [{key, thing, types, ts, commit}]}`, in their order; `ts`: of the item's oldest event.
     * `commit`: how far it has come, undefined: it is not reloaded.
     */
    #batches = []
    #lastSequence = 0
    /** The items of the last batch, by the thing's key. */
    #lastItems = new Map()
    /** The newest batch that a reload answers. */
    #covered = 0
    /**
     * By the thing's key: `{key, number, _covers, retry, retryAt, thing, types, outcome, commit}`; `commit`: how far its
     * outcome has come.
     */
    #reloads = new Map()
    /** What could not be reloaded, by the thing's key: `{thing, types, failure, failures, retryAt}`. */
    #stale = new Map()
    /** Those under way, by their numbers. */
    #asked = new Map()
    #failing = new Set()
    #jitter
    /** Something may begin. */
    #hasNews = false
    /** Things, counted for each type and each batch. */
    _count = 0

    constructor(seed) { this.#jitter = new Jitter(seed) }

    get #items() { return this.#batches.flatMap(batch => batch.items) }
    /** Whatever a commit has, or is to have. */
    get #all() { return [...this.#items, ...this.#reloads.values()] }
    /** The cursor behind all of it. */
    get _lastCursor() { return this.#batches.at(-1)?.at }
    get _hasFailed() { return this.#failing.size > 0 }
    /** When the oldest event came that is not in the state. */
    get _unappliedSince() { return this.#batches.find(batch => batch.items.some(item => item.commit !== stored))?.came }
    /** When a failed reload is to be tried again. */
    get _retryAt() {
        const stale = [...this.#stale].map(([key, { retryAt }]) => (
            this.#reloads.get(key)?.number === undefined ? retryAt : undefined))
        return earliestOf([...stale, ...[...this.#failing].map(key => this.#reloads.get(key)?.retryAt)])
    }
    /** What is known to be stale, for the store: `{thing, types, failure}`; undefined: nothing. */
    get _knownStale() {
        const known = [...this.#stale.values()].map(({ thing, types, failure }) => ({ thing, types, failure }))
        return known.length > 0 ? known : undefined
    }

    /** What an earlier start could not reload is asked for now. */
    _restore(stale, now) {
        for (const known of stale) this.#stale.set(keyOf(known.thing), { ...known, failures: 0, retryAt: now })
    }

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
                const item = { key, thing, types: [] }
                this.#lastItems.set(key, item)
                last.items.push(item)
            }
            const item = this.#lastItems.get(key)
            item.ts = earliestOf([item.ts, ts])
            // The last of each type counts: a thing that was created, deleted and created again exists.
            const { types } = item, known = types.indexOf(type)
            if (known >= 0) types.splice(known, 1)
            else this._count += 1
            types.push(type)
        }
        this.#hasNews ||= events.length > 0
    }

    /** Begins what has not begun, and what is due again. */
    _begin(now, mayRetry, nextNumber) {
        if (!this.#hasNews && !(mayRetry && this._retryAt <= now)) return []
        this.#hasNews = false
        const open = new Map()
        for (const item of this.#items) {
            if (item.commit) continue
            open.set(item.key, { thing: item.thing, types: joined(open.get(item.key)?.types ?? [], item.types) })
        }
        for (const [key, { thing, types, retryAt }] of this.#stale) {
            const later = open.get(key)
            if (later) later.types = joined(types, later.types)
            else if (mayRetry && retryAt <= now) open.set(key, { thing, types })
        }
        const wanted = []
        for (const [key, { thing, types }] of open) {
            const reload = this.#reloads.get(key) ?? { key, _covers: 0, retry: new Retry(this.#jitter.next()) }
            if (reload.number !== undefined) continue
            if (reload.retryAt !== undefined && (!mayRetry || reload.retryAt > now)) continue
            this.#covered = this.#lastSequence
            Object.assign(reload, { number: nextNumber(), _covers: this.#covered, retryAt: undefined, thing, types })
            this.#reloads.set(key, reload)
            this.#asked.set(reload.number, reload)
            wanted.push({ reload: { number: reload.number, thing, types } })
        }
        return wanted
    }

    _reloaded(number, outcome) {
        const reload = this.#answer(number)
        if (!reload) return
        this.#stale.delete(reload.key)
        this.#end(reload, outcome)
    }

    /** The reload with this number, which is under way no more; undefined: nobody waits for it. */
    #answer(number) {
        const reload = this.#asked.get(number)
        this.#asked.delete(number)
        if (reload) reload.number = undefined
        return reload
    }

    /** Notes what a reload came to, for the batches that it answers. */
    #end(reload, outcome) {
        const { key } = reload
        Object.assign(reload, { outcome, commit: awaited })
        reload.retry.reset()
        this.#failing.delete(key)
        for (const batch of this.#batches) {
            const item = batch.items.find(item => item.key === key && !item.commit)
            if (!item) continue
            if (batch._sequence <= reload._covers) item.commit = awaited
            else this.#hasNews = true
        }
    }

    /** Puts a reload off, or gives it up: then its thing is known stale. False: nobody waits for it. */
    _failed(number, failure, now) {
        const reload = this.#answer(number)
        if (!reload) return false
        const { key, thing, types } = reload
        // What a new token may repair waits for nothing else.
        const needsToken = "unauthorized" in failure, wait = needsToken ? 0 : reload.retry.waitAfter(failure.retry?.after)
        const known = this.#stale.get(key), hasRoom = this.#stale.size < maximumStale
        if (needsToken || !(known || (hasRoom && (isFinal(failure) || reload.retry.failures >= maximumFailures)))) {
            reload.retryAt = now + wait
            this.#failing.add(key)
            return true
        }
        const failures = (known?.failures ?? 0) + 1
        const pause = Math.max(waitOfHalf(this.#jitter, failures, firstStaleBound, longestStaleBound), failure.retry?.after ?? 0)
        this.#stale.set(key, { thing, types, failure, failures, retryAt: now + pause })
        this.#end(reload, "knownStale")
        return true
    }

    /** Makes everything that was put off due. */
    _retryNow(now) {
        for (const key of this.#failing) {
            const reload = this.#reloads.get(key)
            if (reload?.retryAt !== undefined) reload.retryAt = now
        }
        for (const stale of this.#stale.values()) stale.retryAt = now
    }

    /** Somebody looks at the thing: if it is known to be stale, it is asked for now. */
    _check(thing, now) {
        const stale = this.#stale.get(keyOf(thing))
        if (stale) stale.retryAt = now
    }

    /** How many batches, from the first on, have all that they name. */
    get _ready() {
        const first = this.#batches.findIndex(batch => batch.items.some(item => !item.commit))
        return first < 0 ? this.#batches.length : first
    }

    /**
     * What a commit may change: all that was reloaded and is in no commit yet, which may be ahead of the finger; `batches`, from
     * the first on, that have all that they name, and the cursor behind those with the time at which it came. Undefined: nothing.
     */
    _take() {
        const batches = this._ready, changes = new Map(), isAwaited = ({ commit }) => commit === awaited
        for (const { key, thing, ts } of this.#all.filter(isAwaited)) {
            changes.set(key, { thing, outcome: this.#reloads.get(key).outcome, ts: earliestOf([changes.get(key)?.ts, ts]) })
        }
        if (batches === 0 && changes.size === 0) return undefined
        this.#mark(awaited, begun)
        const { at, came } = this.#batches[batches - 1] ?? {}
        return { changes: [...changes.values()], batches, at, came }
    }

    #mark(before, after) {
        for (const one of this.#all) if (one.commit === before) one.commit = after
    }

    /** What was taken is not stored: the next commit takes it. */
    _giveBack() { this.#mark(begun, awaited) }

    /** What was taken is in the state: lets go of the first batches. */
    _stored(batches) {
        this.#mark(begun, stored)
        for (const batch of this.#batches.splice(0, batches)) {
            this._count -= batch.items.reduce((sum, item) => sum + item.types.length, 0)
        }
        const named = new Set(this.#items.map(item => item.key))
        for (const [key, { number, commit }] of [...this.#reloads]) {
            if (!named.has(key) && commit !== awaited && number === undefined) this.#reloads.delete(key)
        }
    }

    /** Lets go of everything. True: reloads were under way, or had brought something. */
    _removeAll() {
        const hadReloads = this.#reloads.size > 0
        this.#batches = []
        this.#reloads.clear()
        this.#stale.clear()
        this.#asked.clear()
        this.#failing.clear()
        this._count = 0
        this.#hasNews = false
        return hadReloads
    }
}
