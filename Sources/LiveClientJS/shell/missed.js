// Fetches what a tab missed while another one led, by `/sync/v1`.

import { Retry, finalStatuses } from "../core/retry.js"
import { pause } from "./environment.js"
import { isSignedOut } from "./failures.js"
import { askSync } from "./requests.js"

/** So many updates are kept for a tab that joins; it is told to fetch what it shows where there are more. */
export const maximumMissed = 1024
/** Failures after which it is given up until the leader's next word. */
const maximumTries = 8

export class MissedUpdates {
    #environment
    #addresses
    #options
    #retry

    /** `options`: token (a function, or null: a cookie), entities, asksForEventIDs. */
    constructor(environment, addresses, options) {
        this.#environment = environment
        this.#addresses = addresses
        this.#options = options
        this.#retry = new Retry(environment.random())
    }

    /**
     * The updates since a cursor, `{page}`: a resync is the last of them, and beyond `maximumMissed` there may be more. Where
     * `wait` is not 0, the server is asked once more after so many ms. `{refused}`: a connection's state; {}: it failed.
     */
    async since(cursor, wait, signal) {
        const first = await this.#pages(cursor, signal)
        const last = first.page?.at(-1)
        if (!last || last.resync || first.page.length > maximumMissed || wait === 0) return first
        await pause(this.#environment, wait, signal)
        if (signal.aborted) return {}
        const rest = await this.#pages(last.beat.at, signal)
        return rest.page ? { page: [...first.page, ...rest.page] } : rest
    }

    async #pages(cursor, signal) {
        const { entities, asksForEventIDs } = this.#options, page = []
        let since = cursor, isRenewed = false, token
        for (let tries = 0; tries < maximumTries && !signal.aborted;) {
            token = await this.#token(isRenewed, token)
            const answer = token === undefined ? {} : await askSync(
                this.#environment, this.#addresses, { token, since, entities, asksForEventIDs, signal })
            const { status, code, retryAfter } = answer.refused ?? {}
            if (token === "" || status === 401) {
                // Only one other token: after two refusals somebody has to sign in.
                if (isRenewed || token === "") return { refused: { unauthorized: {} } }
                isRenewed = true
            } else if (code !== undefined && finalStatuses.includes(status)) {
                return { refused: { ended: { error: { refused: { status, code } } } } }
            } else if (answer.resync) {
                return { page: [...page, answer] }
            } else if (answer.page) {
                this.#retry.reset()
                since = answer.page.at
                page.push(...answer.page.events.map(event => ({ event })), { beat: { at: since } })
                if (!answer.page.more || page.length > maximumMissed) return { page }
            } else {
                tries += 1
                const wait = this.#retry.waitAfter(retryAfter)
                await pause(this.#environment, wait, signal)
            }
        }
        return {}
    }

    /** Null with a cookie; "" where nobody is signed in; undefined where it cannot be had now. */
    async #token(fresh, replacing) {
        const { token } = this.#options
        if (token === null) return null
        try {
            return await token({ fresh, replacing }) || ""
        } catch (error) {
            return isSignedOut(error) ? "" : undefined
        }
    }
}
