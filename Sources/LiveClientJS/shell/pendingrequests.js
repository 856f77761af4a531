// Running requests to the app's API. Each ends once: by its answer, by its deadline, or because it is given up.
import { RequestError } from "../core/errors.js"
import { failureOf } from "./failures.js"
import { renewToken } from "./tokens.js"

/** No answer after so long is none, in ms: on a network that died without a word `fetch` waits for minutes. */
const requestDeadline = 60_000
/** What was asked so long before the network came back, in ms, had no answer from the one before. */
const lostAfter = 2_000

/** The name of the request for a token: the others have numbers. */
const tokenRequest = "token"

/** What an error says of the API. Without a token nothing was asked. */
function judgeFailure(error) {
    const { retry } = failureOf(error)
    return error?._isUnasked ? ["left"] : retry ? ["failed", retry.after] : ["answered"]
}

/** What is on its way, by name. An answer to what was given up is dropped. */
export class PendingRequests {
    #environment
    #deadline
    #requests = new Map()
    /** Of the API: what waits there has not begun. Undefined: nothing waits. */
    gate
    /** The client's. Undefined: the app's API has tokens of its own. */
    tokens
    /** The token that counted when what ended last had begun. */
    #token

    /** @param environment `{now, setTimer, clearTimer}` @param deadline in ms */
    constructor(environment, deadline = requestDeadline, gate, tokens) {
        this.#environment = environment
        this.#deadline = deadline
        this.gate = gate
        this.tokens = tokens
    }

    /**
     * Runs `work(signal)`, and calls `receive` with what it gives or `fail` with its error: one of them, and once.
     *
     * @param subject what is asked for, for the gate; left out: it is not asked of that API
     * @param call which function of the app is asked, and for what: `{call, thing, name}`
     * @param judge what was found says of the API, `[name, after]` as the gate is told; left out: it has answered
     */
    begin(name, work, receive, fail, subject, call, judge = () => ["answered"]) {
        const { now, setTimer, clearTimer } = this.#environment
        const abort = new AbortController()
        const request = { abort, begun: Infinity, tell: () => {} }
        const end = (finish, value) => {
            if (this.#requests.get(name) !== request) return
            this.#requests.delete(name)
            clearTimer(request.timer)
            this.#token = request.token
            request.tell(...(finish === receive ? judge : judgeFailure)(value))
            if (call && finish === fail) this.gate?._note?.(value, call)
            finish(value)
        }
        request.lose = () => {
            end(fail, new RequestError())
            abort.abort()
        }
        this.#requests.set(name, request)
        const start = () => {
            request.begun = now()
            request.token = this.tokens?.token
            request.timer = setTimer(request.lose, this.#deadline)
            // Two steps, so that an error in `receive` does not count as one of the API.
            // A request that is given up before its turn is not begun.
            Promise.resolve().then(() => abort.signal.aborted ? undefined : work(abort.signal))
                .then(found => end(receive, found), error => end(fail, error))
        }
        if (!this.gate || !subject) return start()
        // After this turn: the gate does not call back a caller that is still asking.
        request.tell = this.gate.enter(isRefused => isRefused ? Promise.resolve().then(request.lose) : start(), subject)
    }

    /**
     * Gets another token for what was refused, the one that counted when what ended last had begun: one that came since is enough.
     *
     * @param own the app's function for the tokens of its API; undefined: the client's count there
     */
    renewToken(own, receive, fail, refused = this.#token) {
        this.begin(tokenRequest, signal => renewToken(this.#environment, own, this.tokens, refused, signal), receive, fail)
    }

    /** Another token is there already. */
    forgetToken() { this.abort(tokenRequest) }

    /** Gives a request up: neither of its functions is called. */
    abort(name) {
        const request = this.#requests.get(name)
        if (!request) return
        this.#requests.delete(name)
        this.#environment.clearTimer(request.timer)
        request.tell("left")
        request.abort.abort()
    }

    /** There is a network again: what the one before has not answered has failed. That says nothing of the API. */
    networkIsBack() {
        this.gate?.networkIsBack()
        const before = this.#environment.now() - lostAfter
        for (const { begun, tell, lose } of [...this.#requests.values()]) {
            if (begun > before) continue
            tell("left")
            lose()
        }
    }

    close() { for (const name of [...this.#requests.keys()]) this.abort(name) }
}
