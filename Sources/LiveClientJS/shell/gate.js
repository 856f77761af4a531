// Runs a gate: requests to an API in trouble wait here.
import { bindMethods } from "../core/bound.js"
import { ApiGate } from "../core/gate.js"
import { oneFor, setDue } from "./environment.js"
import { tellFailure } from "./failures.js"

/** One gate for an API, which machines, screens and actions share. */
export class LiveGate {
    #environment
    #machine
    /** What is told of those that wait, by number. */
    #waiting = new Map()
    #last = 0
    #timer = null
    #said = "open"
    /** What an app's function threw last that asks this API: `{call, thing, name, error}`. */
    lastError = null
    /** Is given each of them. */
    onError

    /** @param environment `{now, setTimer, clearTimer, random}`, such as a client's */
    constructor(environment, onError) {
        bindMethods(this)
        this.#environment = environment
        this.onError = onError
        this.#machine = new ApiGate({ seed: environment.random?.() ?? Math.random() * 2 ** 32 })
    }

    /** Whether requests are made: `open`, `closed` until a time, `probing` or `rising`. */
    get state() { return this.#machine.view.state }

    /**
     * Calls `decide(isRefused)` when a request may be made, at once or later, or too many wait. Returns what is told what
     * becomes of it: `tell("answered")`, `tell("failed", after)`, `tell("left")`, which says nothing of the API.
     *
     * @param subject what is asked for: where it alone fails, others do not wait for it
     */
    enter(decide, subject) {
        const number = this.#last += 1
        this.#waiting.set(number, decide)
        this.#handle({ ask: { number, subject } })
        return (name, after) => this.#handle({ [name]: { number, after } })
    }

    /** What has failed, of an app's function. */
    _note(error, call) { tellFailure(this.onError, this.lastError = { ...call, error }) }

    /** A person wants to see everything again: whatever the API has asked for, one request tries it now. */
    refresh() { this.#handle({ refresh: {} }) }

    /** There is a network again: what was waited for without it is over. */
    networkIsBack() { this.#handle({ network: {} }) }

    #handle(input) {
        if (input.left) this.#waiting.delete(input.left.number)
        for (const effect of this.#machine.handle(input, this.#environment.now())) {
            const { number } = effect.begin ?? effect.refuse, decide = this.#waiting.get(number)
            this.#waiting.delete(number)
            decide(!effect.begin)
        }
        const [name] = Object.keys(this.state)
        if (name !== this.#said) this.#environment.debug?.("gate is", this.state)
        this.#said = name
        this.#timer = setDue(this.#environment, this.#timer, this.#machine.wakeAt, () => this.#handle({ wake: {} }))
    }
}

/** The gate of the API that belongs to a client: all its machines pass it, and what is given it. */
export const gateOf = oneFor(client => new LiveGate(client.environment, client._onError))
