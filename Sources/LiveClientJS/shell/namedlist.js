// A list that the app has named: what is known of it, and whether a screen shows it.
import { PartialList } from "../core/partial.js"
import { callApp } from "./failures.js"

/** One list of `Screens`. */
export class NamedList {
    name
    entity
    machine
    isShown = false
    /** Of its page that is on its way. */
    page = null
    timer = null
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

    get ids() { return this.machine.view.items.map(item => item.id) }
    has(id) { return this.machine.view.items.some(item => item.id === id) }
    get interest() { return { list: { entity: this.entity, ids: this.ids, takesNew: this.#takesNew } } }

    /** Where a value stands; null: not in this list; undefined: the app's function failed, so nobody knows. */
    keyOf(value) { return callApp(() => this.#key(value) ?? null) }

    tell(state) { callApp(this.#listener, state) }

    await(id) { if (!this.#awaited.has(id)) this.#awaited.set(id, false) }
    forget(id) { this.#awaited.delete(id) }
    forgetAll() { this.#awaited.clear() }

    /** A fetch has failed. True: this list waits for the thing, and has not been told so before. */
    misses(id) {
        if (this.has(id) || this.#awaited.get(id) !== false) return false
        this.#awaited.set(id, true)
        return true
    }
}
