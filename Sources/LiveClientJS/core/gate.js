// One gate for all requests to an API: an API in trouble gets no requests (APIGate.swift, CLIENT.md).
import { Jitter, waitAfter, waitOfHalf } from "./retry.js"

const gateDefaults = { maximumWaiting: 1_000, seed: 1 }
/** The bound of the first wait, and of the longest that the client chooses, in ms. */
const firstBound = 1_000, longestBound = 30_000
/** Behind a probe so many requests may run at once, and one more for each that is answered. */
const firstLimit = 2, lastLimit = 8
/** So long without a failure behind a probe, in ms, and nothing is held back any more. */
const calm = 30_000

export class ApiGate {
    #settings
    #jitter
    #failures = 0
    /** Closed until then; a probe follows. Null: it is not closed. */
    #closedUntil = null
    /** The server has said so: only a person ends that wait. */
    #isAsked = false
    /** The request that tries whether the API answers again. */
    #probe = null
    /** Requests that may run at once, behind a probe. */
    #limit = Infinity
    #openedAt = 0
    /** Counts how often it closed: what had begun before says nothing new. */
    #closings = 0
    /** What alone has failed since it was open: others need not wait for it. Undefined: nothing, or more than one. */
    #blamed
    /** By the request's number: how often it had closed when the request began, `{closings, subject}`. */
    #running = new Map()
    /** Subjects, by number. */
    #waiting = new Map()
    #effects = []

    constructor(settings) {
        this.#settings = { ...gateDefaults, ...settings }
        this.#jitter = new Jitter(this.#settings.seed)
    }

    get view() {
        return { state: this.#state, failures: this.#failures, running: this.#running.size, waiting: this.#waiting.size }
    }

    get #state() {
        if (this.#probe !== null) return { probing: {} }
        if (this.#closedUntil !== null) return { closed: { until: this.#closedUntil } }
        return this.#limit === Infinity ? { open: {} } : { rising: { limit: this.#limit } }
    }

    get wakeAt() { return this.#waiting.size > 0 && this.#probe === null ? this.#closedUntil : null }

    handle(input, now) {
        this.#effects = []
        const [name] = Object.keys(input)
        const { number, after, subject } = input[name]
        switch (name) {
        case "ask": this.#ask(number, subject); break
        case "answered": this.#answered(number, now); break
        case "failed": this.#failed(number, after, now); break
        case "left":
            this.#waiting.delete(number)
            this.#end(number)
            break
        case "network":
        case "refresh": if (this.#closedUntil !== null && (name === "refresh" || !this.#isAsked)) this.#closedUntil = now
        }
        this.#begin(now)
        return this.#effects
    }

    #ask(number, subject) {
        if (this.#running.has(number) || this.#waiting.has(number)) return
        if (this.#waiting.size >= this.#settings.maximumWaiting) this.#effects.push({ refuse: { number } })
        else this.#waiting.set(number, subject)
    }

    #answered(number, now) {
        const { closings, subject } = this.#end(number)
        if (closings !== this.#closings) return
        // Only one thing causes the trouble.
        if (this.#blamed !== undefined && this.#blamed !== subject) {
            this.#closedUntil = null
            this.#limit = Infinity
        } else if (this.#closedUntil !== null) {
            this.#closedUntil = null
            this.#limit = firstLimit
            this.#openedAt = now
        } else {
            this.#limit += 1
            if (this.#limit > lastLimit || now >= this.#openedAt + calm) this.#limit = Infinity
        }
        if (this.#limit < Infinity) return
        this.#failures = 0
        this.#blamed = undefined
    }

    #failed(number, after, now) {
        const { closings, subject } = this.#end(number)
        if (closings === undefined) return
        const isAsked = after !== undefined
        this.#blamed = !isAsked && (this.#failures === 0 || this.#blamed === subject) ? subject : undefined
        if (closings === this.#closings) {
            this.#closings += 1
            this.#failures += 1
            this.#limit = Infinity
            this.#closedUntil = 0
        } else if (!isAsked || this.#closedUntil === null) return
        // What began before the gate closed was counted. Only the wait that the server asks for counts, if it is longer.
        const wait = isAsked ? waitAfter(this.#jitter, after) : waitOfHalf(this.#jitter, this.#failures, firstBound, longestBound)
        if (now + wait <= this.#closedUntil) return
        this.#closedUntil = now + wait
        this.#isAsked = isAsked
    }

    /** It runs no more. Returns `{closings, subject}`; without members where it did not run. */
    #end(number) {
        const begun = this.#running.get(number) ?? {}
        this.#running.delete(number)
        if (number === this.#probe) this.#probe = null
        return begun
    }

    #begin(now) {
        for (const [number, subject] of [...this.#waiting]) {
            if (!this.#hasRoom(subject, now)) continue
            this.#waiting.delete(number)
            this.#running.set(number, { closings: this.#closings, subject })
            if (this.#closedUntil !== null) this.#probe = number
            this.#effects.push({ begin: { number } })
        }
    }

    #hasRoom(subject, now) {
        if (this.#closedUntil !== null) {
            const isOther = this.#blamed !== undefined && this.#blamed !== subject
            return this.#probe === null && (isOther || this.#closedUntil <= now)
        }
        return [...this.#running.values()].filter(({ closings }) => closings === this.#closings).length < this.#limit
    }
}
