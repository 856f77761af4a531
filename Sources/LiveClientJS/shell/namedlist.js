// A list that the app has named: what is known of it, and whether a screen shows it.
import { CompleteIntervals, intervalHasEnd, keyEnd } from "../core/intervals.js"
import { PartialList } from "../core/partial.js"
import { callApp } from "./failures.js"
import { Snapshot } from "./snapshots.js"

/** So many items of a list are kept for the next visit, from where it was looked at. */
const maximumKept = 500

/** One list of `Screens`. */
export class NamedList {
    isShown = false
    /** Where it was shown last: `{from, direction, count}`. */
    place = null
    /** What the app says that a person can see; null: as many items as the screen has use for. */
    visible = null
    /** Of its page that is on its way. */
    page = null
    /** Why the last page did not come; null: it came. */
    failure = null
    timer = null
    snapshot = new Snapshot()
    #takesNew
    #key
    #listener
    /** Things that should perhaps be in it and are being fetched, by id; true: that has failed, so the list is not whole. */
    #awaited = new Map()

    constructor({ name, entity, takesNew = true, key, listener }, settings) {
        this.name = name
        this.entity = entity
        this.machine = new PartialList(settings)
        this.#takesNew = takesNew
        this.#key = key
        this.#listener = listener
    }

    get _visibleIDs() { return this.visible ?? this.machine.stretch?.ids.slice(0, this.place?.count ?? 0) ?? [] }
    get ids() { return this.machine.view.items.map(item => item.id) }
    has(id) { return this.machine.view.items.some(item => item.id === id) }
    get interest() { return { list: { entity: this.entity, ids: this.ids, takesNew: this.#takesNew } } }

    /** Where a value stands; null: not in this list; undefined: the app's function failed, so nobody knows. */
    keyOf(value) { return callApp(() => this.#key(value) ?? null) }

    tell(state) { callApp(this.#listener, this.snapshot.set(state)) }

    /**
     * What the next visit may show of it: `{name, entity, intervals, items}`, each item `{id, key, value, isOld}`.
     *
     * @param isHeld nothing is missing in what is complete @param of gives `{value, knowledge}` of an id
     */
    toStore(isHeld, of) {
        const { items, complete, stale } = this.machine.view
        const isBackward = this.place?.direction === "backward"
        const kept = isBackward ? items.slice(-maximumKept) : items.slice(0, maximumKept)
        const known = new CompleteIntervals()
        known.complete = isHeld ? complete : stale
        if (kept.length < items.length) {
            known.keep(isBackward ? { lower: keyEnd(kept[0].key), upper: { end: {} } }
                : { lower: { beginning: {} }, upper: keyEnd(kept.at(-1).key) })
        }
        const isKnown = ({ key }) => known.complete.some(interval => intervalHasEnd(interval, keyEnd(key)))
        const itemOf = ({ id, key }) => {
            const { value, knowledge } = of(id)
            return { id, key, value, ...(knowledge !== "known" && { isOld: true }) }
        }
        return { name: this.name, entity: this.entity, intervals: known.complete, items: kept.filter(isKnown).map(itemOf) }
    }

    awaits(id) { return this.#awaited.has(id) && !this.has(id) }
    await(id) { if (!this.#awaited.has(id)) this.#awaited.set(id, false) }
    forget(id) { this.#awaited.delete(id) }
    _forgetAll() { this.#awaited.clear() }
    _forgetThere() { for (const id of this.ids) this.#awaited.delete(id) }

    /** A fetch has failed. True: this list waits for the thing, and has not been told so before. */
    misses(id) {
        if (this.has(id) || this.#awaited.get(id) !== false) return false
        this.#awaited.set(id, true)
        return true
    }
}
