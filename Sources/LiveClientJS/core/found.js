// What reloads have found and no commit has named yet.
import { keyOf } from "./stored.js"

/**
 * The newest value of each thing that was reloaded. Undefined: it does not belong here any more, or nobody shows it and it
 * was not fetched; what was known of it is old then, and is let go of, because nothing here would say so.
 */
export class FoundThings {
    /** By the thing's key: `{value}`. */
    #found = new Map()
    /** Keys of reloads under way that are not made here, by their numbers. */
    #asked = new Map()

    keep(thing, value) { this.#found.set(keyOf(thing), { value }) }

    /** A reload with this number is under way elsewhere. */
    ask(number, thing) { this.#asked.set(number, thing) }

    /** It has ended; with a value if there is one. */
    answered(number, value) {
        const thing = this.#asked.get(number)
        this.#asked.delete(number)
        if (thing) this.keep(thing, value)
    }

    /** It has brought nothing: what was there before stays. */
    failed(number) { this.#asked.delete(number) }

    clear() {
        this.#found.clear()
        this.#asked.clear()
    }

    /**
     * What a commit of these changes does to entries: `{next, put, remove}`. `forget()` lets go of what it has used, if
     * nothing newer has come meanwhile.
     */
    applied(changes, entries) {
        const next = new Map(entries), put = [], remove = [], used = []
        for (const { thing, outcome } of changes) {
            const key = keyOf(thing)
            const found = this.#found.get(key)
            used.push([key, found])
            // An earlier commit named it too, and has it already.
            if (outcome === "value" && !found) continue
            if (outcome === "value" && found.value !== undefined) {
                put.push([key, found.value])
                next.set(key, found.value)
            } else {
                remove.push(key)
                next.delete(key)
            }
        }
        const isUsed = ([key, found]) => this.#found.get(key) === found
        return { next, put, remove, forget: () => used.filter(isUsed).forEach(([key]) => this.#found.delete(key)) }
    }
}
