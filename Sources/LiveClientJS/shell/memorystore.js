// A store that ends with the page: for tests, for areas that need not survive, and where there is no other.
import { bindMethods } from "../core/bound.js"
import { copyOf } from "../core/copy.js"
import { placeOfCommit } from "../core/stored.js"

/**
 * Entries of areas in memory, with the promises of the store on IndexedDB. Those that share a `shelf` are tabs of one
 * browser.
 */
export class MemoryStore {
    #shelf
    #writer
    #now
    /** Called before a commit takes effect; what it throws makes the commit fail. For tests. */
    beforeCommit = () => {}

    constructor({ shelf = new Map(), writer = "this tab", now = () => Date.now() } = {}) {
        bindMethods(this)
        this.#shelf = shelf
        this.#writer = writer
        this.#now = now
    }

    /** What was committed of an area last, `{metadata, entries}`; null: nothing ever was. */
    async load(area) {
        const row = this.#shelf.get(area)
        return row ? copyOf({ metadata: row.metadata, entries: row.entries }) : null
    }

    /**
     * Writes an area's metadata and what changed of its entries: both or neither.
     *
     * @param commit `{metadata, put, remove, isWhole, whole}`: `put` is a list of `[key, value]`, `remove` of keys,
     *     `whole()` gives all entries, for a snapshot (`isWhole`) and a tab that takes over from another
     * @returns "changes", "whole" or "leave" (another tab writes this area: nothing was written)
     */
    async commit(area, { metadata, put = [], remove = [], isWhole = false, whole = () => put }) {
        const found = this.#shelf.get(area)
        const place = placeOfCommit(found, this.#writer, this.#now(), isWhole)
        if (place === "leave") return place
        const entries = new Map(place === "whole" ? whole() : found.entries)
        if (place === "changes") {
            for (const key of remove) entries.delete(key)
            for (const [key, value] of put) entries.set(key, value)
        }
        const row = copyOf({ metadata, entries })
        await this.beforeCommit(area)
        this.#shelf.set(area, { ...row, writer: this.#writer, at: this.#now() })
        return place
    }

    close() {}
}
