// What the action queue asks the server for: to do a batch, and for another token.
import { copyOf } from "../core/copy.js"
import { actionOutcome } from "../core/outcome.js"
import { isSignedOut } from "./failures.js"
import { PendingRequests } from "./pendingrequests.js"

/** A batch without an answer for so long is given up and sent again, in ms: the server has its keys. */
const sendDeadline = 60_000

/** What a batch says of the API: one of its actions that is to be sent again is enough. Null: it was not sent. */
function judge(results) {
    if (results === null) return ["left"]
    if (!Array.isArray(results)) return ["failed"]
    const again = results.filter(({ status }) => actionOutcome(status) === "again")
    const asked = again.map(({ retryAfter }) => retryAfter).filter(wait => wait !== undefined)
    return [again.length > 0 ? "failed" : "answered", asked.length > 0 ? Math.max(...asked) : undefined]
}

/** The requests of one queue; `give` is handed their results as the queue's inputs. */
export class ActionRequests extends PendingRequests {
    #options
    #give

    /** @param options `{send(actions, signal), renewToken()}` */
    constructor(options, environment, give) {
        super(environment, sendDeadline, options.gate, options.client?._tokens)
        this.#options = options
        this.#give = give
    }

    /** @param check gives whether the actions are to be sent still */
    send({ batch, actions }, check) {
        const work = async signal => {
            if (!await check() || signal.aborted) return null
            return this.#options.send(copyOf(actions), signal)
        }
        this.begin("send", work, results => {
            if (results === null) this.#give({ lost: {} })
            else this.#give(Array.isArray(results) ? { answered: { batch, results } } : { failed: { batch } })
        }, error => this.#give({ failed: { batch, status: error?.status, retryAfter: error?.retryAfter } }), this,
            { call: "send", name: "actions" }, judge)
    }

    requestToken() {
        this.renewToken(this.#options.renewToken, () => this.#give({ token: {} }),
            error => this.#give({ tokenFailed: isSignedOut(error) ? { isUnauthorized: true } : {} }))
    }
}
