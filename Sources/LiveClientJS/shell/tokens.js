// The tokens of a client, for its connection, machines, screens and actions: TokenQueue decides, this asks the app.
import { RequestError } from "../core/errors.js"
import { TokenQueue } from "../core/tokens.js"
import { tokenLimit, within } from "./environment.js"

/** One for each client. */
export class TokenSource {
    #fetch
    #queue = new TokenQueue()

    /** @param fetch `({fresh, replacing})` gives a token in time, or fails */
    constructor(fetch) { this.#fetch = fetch }

    /** What came last: what is asked of the app's API now is refused for that one. */
    get token() { return this.#queue.view.token }

    /** A token. @param wanted `{fresh, replacing}`: a fresh one, another than that which was refused */
    ask(wanted) {
        return new Promise((resolve, reject) => this.#handle({ ask: { ...wanted, number: { resolve, reject } } }))
    }

    #handle(input, error) {
        for (const { fetch, give, fail } of this.#queue.handle(input)) {
            give?.number.resolve(this.token)
            fail?.number.reject(error)
            if (fetch) this.#fetch(fetch).then(token => this.#handle({ came: { token } }), error => this.#handle({ failed: {} }, error))
        }
    }
}

/**
 * Gets another token, by the app's `own` function or of the client; throws an error "unauthorized" where nobody is signed in.
 * Without either, and with a cookie, others renew it.
 */
export function renewToken(environment, own, tokens, replacing, signal) {
    const work = async () => {
        if (own) await own({ signal })
        else if (tokens && !await tokens.ask({ fresh: true, replacing })) {
            throw Object.assign(new RequestError(401), { kind: "unauthorized" })
        }
    }
    return within(environment, tokenLimit, work, () => new RequestError(), signal)
}
