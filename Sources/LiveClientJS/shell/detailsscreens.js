// What screens of details show.
import { isSameThing } from "../core/relevance.js"
import { callApp } from "./failures.js"
import { Snapshot } from "./snapshots.js"

/** The screens of details, by their names. */
export class DetailsScreens {
    /** `{thing, listener, snapshot, failure, absence}`. */
    #shown = new Map()

    has(screen) { return this.#shown.has(screen) }
    get things() { return [...this.#shown.values()].map(({ thing }) => thing) }

    /** Returns whether the screen shows it still, as a function, and its state. */
    show(screen, thing, listener) {
        const snapshot = new Snapshot(), shown = { thing, listener, snapshot, failure: null, absence: null }
        this.#shown.set(screen, shown)
        return { isShown: () => this.#shown.get(screen) === shown, snapshot }
    }

    /** Returns the thing that it showed, if any. */
    hide(screen) {
        const thing = this.#shown.get(screen)?.thing
        this.#shown.delete(screen)
        return thing
    }

    _noteFailure(thing, failure) { for (const shown of this.#of(thing)) shown.failure = failure }

    /** It was fetched. @param absence "gone" or "notOurs"; null: it is there */
    _noteAnswer(thing, absence) { for (const shown of this.#of(thing)) Object.assign(shown, { failure: null, absence }) }

    /** Of each: whether it is as the server has it, and whether that could not be fetched. */
    parts(knowledge) {
        return [...this.#shown.values()].map(({ thing, failure, absence }) => (
            { isComplete: absence !== null || knowledge(thing) === "known", hasFailed: failure !== null }))
    }

    /** @param known `{value, knowledge, isWhole}` */
    tell(thing, known) {
        for (const { listener, snapshot, failure, absence } of this.#of(thing)) {
            callApp(listener, snapshot.set({ thing, ...known, failure, absence }))
        }
    }

    #of(thing) { return [...this.#shown.values()].filter(shown => isSameThing(shown.thing, thing)) }
}
