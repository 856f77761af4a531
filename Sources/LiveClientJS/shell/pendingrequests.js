// Requests to the app's API that are under way. Each ends once: by its answer, by its deadline, or because it is given up.
import { RequestError } from "./failures.js"

/** No answer after so long is none, in ms: on a network that died without a word `fetch` waits for minutes. */
const requestDeadline = 60_000
/** What was asked so long before the network came back, in ms, had no answer from the one before. */
const lostAfter = 2_000

/** What is on its way, by name. An answer to what was given up is dropped. */
export class PendingRequests {
    #environment
    #deadline
    #requests = new Map()

    /** @param environment `{now, setTimer, clearTimer}` @param deadline in ms */
    constructor(environment, deadline = requestDeadline) {
        this.#environment = environment
        this.#deadline = deadline
    }

    /** Runs `work(signal)`, and calls `receive` with what it gives or `fail` with its error: one of them, and once. */
    begin(name, work, receive, fail) {
        const { now, setTimer, clearTimer } = this.#environment
        const abort = new AbortController()
        const request = { abort, begun: now(), timer: null, lose: null }
        const end = (finish, value) => {
            if (this.#requests.get(name) !== request) return
            this.#requests.delete(name)
            clearTimer(request.timer)
            finish(value)
        }
        request.lose = () => {
            end(fail, new RequestError())
            abort.abort()
        }
        this.#requests.set(name, request)
        request.timer = setTimer(request.lose, this.#deadline)
        // In two steps, so that an error in `receive` is not taken for one of the API.
        // One that is given up before its turn is not begun.
        Promise.resolve().then(() => abort.signal.aborted ? undefined : work(abort.signal)).then(found => end(receive, found), error => end(fail, error))
    }

    /** Gives a request up: neither of its functions is called. */
    abort(name) {
        const request = this.#requests.get(name)
        if (!request) return
        this.#requests.delete(name)
        this.#environment.clearTimer(request.timer)
        request.abort.abort()
    }

    /** There is a network again: what the one before has not answered has failed. */
    networkIsBack() {
        const before = this.#environment.now() - lostAfter
        for (const { begun, lose } of [...this.#requests.values()]) if (begun <= before) lose()
    }

    close() { for (const name of [...this.#requests.keys()]) this.abort(name) }
}
