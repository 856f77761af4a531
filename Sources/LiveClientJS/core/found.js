// What reloads have found and no commit has named yet.
import { keyOf } from "./stored.js"

/**
 * The newest value of each thing that was reloaded. Undefined: it does not belong here any more, or nobody shows it and it
 * was not fetched; what was known of it is old then, and is let go of, because nothing here would say so.
 */
export class FoundThings {
    /** By the thing's key: `{value, _isUnneeded}`; without `value` where what was there before stays. */
    #found = new Map()
    /** Keys of reloads under way that are not made here, by their numbers. */
    #asked = new Map()

    /** `isUnneeded`: no screen needs it, so it is not shown. */
    keep(thing, value, isUnneeded = false) { this.#found.set(keyOf(thing), { value, _isUnneeded: isUnneeded }) }

    /** A reload with this number is under way elsewhere. */
    ask(number, thing) { this.#asked.set(number, thing) }

    /** It has ended; with a value if there is one. */
    answered(number, value, isUnneeded) {
        const thing = this.#end(number)
        if (thing) this.keep(thing, value, isUnneeded)
    }

    /** No screen needs it, and what was there before is still right. */
    stays(number) {
        const thing = this.#end(number)
        if (thing) this.#found.set(keyOf(thing), { ...this.#found.get(keyOf(thing)), _isUnneeded: true })
    }

    /** It has brought nothing: what was there before stays. */
    failed(number) { this.#end(number) }

    #end(number) {
        const thing = this.#asked.get(number)
        this.#asked.delete(number)
        return thing
    }

    clear() {
        this.#found.clear()
        this.#asked.clear()
    }

    /**
     * What a commit of these changes does to entries: `{next, put, remove}`, and the `times` of what is shown then,
     * `{thing, ts}`. `forget()` lets go of what it has used, if nothing newer has come meanwhile.
     */
    applied(changes, entries) {
        const next = new Map(entries), put = [], remove = [], times = [], used = []
        for (const { thing, outcome, ts } of changes) {
            const key = keyOf(thing)
            const found = this.#found.get(key)
            // What could not be fetched stays what it was, and old.
            if (outcome === "knownStale") continue
            used.push([key, found])
            const isValue = outcome === "value", hasValue = found?.value !== undefined
            // No screen shows what never belonged here.
            const isShown = !isValue || !found || (!found._isUnneeded && (hasValue || entries.has(key)))
            if (ts !== undefined && isShown) times.push({ thing, ts })
            // An earlier commit named it too, and has it already; or the earlier value stays.
            if (isValue && !(found && "value" in found)) continue
            if (isValue && hasValue) {
                put.push([key, found.value])
                next.set(key, found.value)
            } else {
                remove.push(key)
                next.delete(key)
            }
        }
        const isUsed = ([key, found]) => this.#found.get(key) === found
        return { next, put, remove, times, forget: () => used.filter(isUsed).forEach(([key]) => this.#found.delete(key)) }
    }
}
