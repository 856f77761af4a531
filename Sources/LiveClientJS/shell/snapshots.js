// What is shown of an object: a snapshot that is another one when something has changed.
import { reuse } from "../core/copy.js"
import { callApp } from "./failures.js"

/** Something that is shown: `subscribe` and `getSnapshot`, for React's useSyncExternalStore and similar functions. */
export class Snapshot {
    #listeners = new Set()
    #last

    /** Sets what is shown now, calls the listeners if it has changed, and returns it: the old object where nothing has changed. */
    set(next) {
        const before = this.#last
        this.#last = reuse(before, next)
        if (this.#last === before) return before
        for (const one of [...this.#listeners]) if (this.#listeners.has(one)) callApp(one.listener)
        return this.#last
    }

    get = () => this.#last

    /** Calls `listener()` after each change; returns what ends that. The same function may come twice. */
    subscribe = listener => {
        const one = { listener }
        this.#listeners.add(one)
        return () => { this.#listeners.delete(one) }
    }

    /** Calls no listener any more. */
    close() { this.#listeners.clear() }
}
