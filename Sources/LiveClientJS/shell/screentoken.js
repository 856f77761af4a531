// The token of the app's API, as screens know it.
import { RequestError } from "../core/errors.js"
import { Retry } from "../core/retry.js"
import { failureOf, isSignedOut } from "./failures.js"

/** A 401 has another token fetched, once; the next 401 stops all that screens ask for, until `change()`. */
export class ScreenToken {
    #api
    #environment
    #requests
    #onChange
    #retry = new Retry(Math.random() * 2 ** 32)
    /** "usable"; "renewed": nothing has succeeded since; "awaited"; "refused". */
    #state = "usable"
    /** How many there were: what was asked with an earlier one says nothing of this one. */
    #count = 0
    #timer = null
    #isClosed = false

    /** @param onChange there is another token, or none any more */
    constructor(api, environment, requests, onChange) {
        this.#api = api
        this.#environment = environment
        this.#requests = requests
        this.#onChange = onChange
    }

    /** Whether there is a token that may be good. */
    get _mayAsk() { return this.#state === "usable" || this.#state === "renewed" }
    get isRefused() { return this.#state === "refused" }

    /** Runs a request, and notes what it says of the token. Without a token it is not run, and fails as if it were refused. */
    async ask(work) {
        if (!this._mayAsk) throw Object.assign(new RequestError(401), { _isUnasked: true })
        const asked = this.#count, token = this.#requests.tokens?.token
        try {
            const found = await work()
            if (asked === this.#count && this._mayAsk) this.#state = "usable"
            return found
        } catch (error) {
            if ("unauthorized" in failureOf(error) && asked === this.#count) this.#refuse(token)
            throw error
        }
    }

    /** Somebody has signed in, or there is another token. */
    change() { this.#use("usable") }

    close() {
        this.#isClosed = true
        this.#environment.clearTimer(this.#timer)
    }

    #refuse(token) {
        if (this.#isClosed || !this._mayAsk) return
        if (this.#state === "renewed") this.#stop()
        else this.#renew(token)
    }

    #renew(token) {
        const { renewToken } = this.#api
        this.#state = "awaited"
        this.#requests.renewToken(renewToken && (asked => renewToken.call(this.#api, asked)), () => this.#use("renewed"), error => {
            if (isSignedOut(error) || "unauthorized" in failureOf(error)) return this.#stop()
            // Nobody knows whether somebody is signed in.
            this.#timer = this.#environment.setTimer(() => this.#renew(token), this.#retry.wait())
        }, token)
    }

    #use(state) {
        if (this.#isClosed) return
        this.#requests.forgetToken()
        this.#environment.clearTimer(this.#timer)
        if (state === "usable") this.#retry.reset()
        this.#count += 1
        this.#state = state
        this.#onChange()
    }

    #stop() {
        this.#state = "refused"
        this.#onChange()
    }
}
