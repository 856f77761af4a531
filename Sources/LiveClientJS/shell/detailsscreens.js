// What screens of details show.
import { isSameThing } from "../core/relevance.js"
import { callApp } from "./failures.js"

/** The screens of details, by their names. */
export class DetailsScreens {
    /** `{thing, listener, failure}`. */
    #shown = new Map()

    has(screen) { return this.#shown.has(screen) }
    get things() { return [...this.#shown.values()].map(({ thing }) => thing) }

    /** Returns whether the screen shows it still, as a function. */
    show(screen, thing, listener) {
        const shown = { thing, listener, failure: null }
        this.#shown.set(screen, shown)
        return () => this.#shown.get(screen) === shown
    }

    hide(screen) { this.#shown.delete(screen) }

    noteFailure(thing, failure) { for (const shown of this.#of(thing)) shown.failure = failure }

    /** @param known `{value, knowledge}` */
    tell(thing, known) {
        for (const { listener, failure } of this.#of(thing)) callApp(listener, { thing, ...known, failure })
    }

    #of(thing) { return [...this.#shown.values()].filter(shown => isSameThing(shown.thing, thing)) }
}
