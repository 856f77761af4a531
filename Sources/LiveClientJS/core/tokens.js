// Which request gets which token, and when another one is fetched (TokenQueue.swift).

/** The tokens of a client: one is fetched at a time, for all who wait, and whoever was refused is not given the same one unasked. */
export class TokenQueue {
    /** What came last; undefined: none. */
    #token
    /** What is under way: `{fresh, replacing}`; undefined: nothing. */
    #fetch
    /** `{number, fresh, replacing}`. */
    #waiting = []

    get view() { return { token: this.#token, isFetching: Boolean(this.#fetch), waiting: this.#waiting.length } }

    get wakeAt() { return null }

    /** `{ask}`, or `{came}` or `{failed}`: what was fetched. */
    handle({ ask, came, failed }) {
        const effects = [], isFresh = this.#fetch?.fresh
        if (ask) this.#waiting.push(ask)
        else this.#fetch = undefined
        if (came) this.#token = came.token
        if (this.#fetch) return effects
        const token = this.#token
        this.#waiting = this.#waiting.filter(({ number, fresh, replacing }) => {
            // There is another token than the one that was refused.
            const isOther = !failed && fresh && token && replacing && replacing !== token
            const isServed = isOther || (!ask && (isFresh || !fresh))
            if (isServed) effects.push({ [failed ? "fail" : "give"]: { number } })
            return !isServed
        })
        const refused = this.#waiting.find(({ fresh }) => fresh)
        if (this.#waiting.length === 0) return effects
        this.#fetch = refused ? { fresh: true, replacing: refused.replacing ?? token } : { fresh: false }
        return [...effects, { fetch: this.#fetch }]
    }
}
