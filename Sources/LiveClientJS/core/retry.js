// Random numbers and waits that are the same in each language (Retry.swift).

/** Statuses with which a Livegate would refuse the same request again. */
export const finalStatuses = [400, 403, 404, 426]

/** mulberry32: for spreading clients in time, never for secrets. */
export class Jitter {
    #state

    constructor(seed) { this.#state = seed | 0 }

    /** Uniform over all words of 32 bits. */
    next() {
        this.#state = (this.#state + 0x6D2B79F5) | 0
        const state = this.#state
        let word = Math.imul(state ^ (state >>> 15), state | 1)
        word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
        return (word ^ (word >>> 14)) >>> 0
    }

    /** Uniform from `low` up to, but without, `high`. */
    milliseconds(low, high) {
        const spread = Math.max(high, low) - low, word = this.next()
        // Exact, even where the product is large: a spread may be years.
        return low + (spread < 2 ** 21 ? Math.floor(spread * word / 2 ** 32) : Number(BigInt(spread) * BigInt(word) >> 32n))
    }
}

const firstBound = 1_000
/** The longest wait that a server can ask for: a day. */
const maximumAsked = 86_400_000

/** The least of times of which some are undefined or null; undefined: there is none. */
export function earliestOf(times) {
    const known = times.filter(time => time !== undefined && time !== null)
    return known.length > 0 ? Math.min(...known) : undefined
}

/** A wait after `Retry-After`, which all that were refused together were given alike: up to half more, and at least a second. */
export function waitAfter(jitter, retryAfter) {
    const asked = Math.min(Math.max(retryAfter, 0), maximumAsked)
    return jitter.milliseconds(asked, asked + Math.max(Math.floor(asked / 2), 1_000))
}

/** A wait of at least half of a bound that doubles: many that fail at once do not make many attempts. `failures`: from 1 on. */
export function waitOfHalf(jitter, failures, first, longest) {
    const bound = Math.min(first * 2 ** Math.min(failures - 1, 10), longest)
    return jitter.milliseconds(bound / 2, bound)
}

/** When to try again: the server's word first, otherwise full jitter between half a second and a bound that doubles. */
export class Retry {
    // Getters: esbuild turns each private member of a class with static fields into a WeakMap, which a page has to load.
    static get minimum() { return 500 }
    static get maximum() { return 20_000 }
    /** So long without a failure, and the next one counts as the first. */
    static get calm() { return 30_000 }

    #jitter
    #failures = 0

    constructor(seed) { this.#jitter = new Jitter(seed) }

    /** Failures in a row. */
    get failures() { return this.#failures }

    /** Counts a failure and says how long to wait; `asked` is the server's `retry_ms`, taken as it is. */
    wait(asked) {
        const bound = Math.min(firstBound * 2 ** Math.min(this.#failures, 10), Retry.maximum)
        this.#failures += 1
        if (asked !== undefined) return Math.min(Math.max(asked, 0), maximumAsked)
        return this.#jitter.milliseconds(Retry.minimum, bound)
    }

    /** Counts a failure and says how long to wait after `Retry-After`; undefined: the server has not said. */
    waitAfter(retryAfter) {
        if (retryAfter === undefined) return this.wait()
        this.#failures += 1
        return waitAfter(this.#jitter, retryAfter)
    }

    reset() { this.#failures = 0 }
}
