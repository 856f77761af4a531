// What users do, brought to the server: at once or not at all (`perform`), or kept until it is there (`set`).
// ActionQueue decides; this carries it out.
import { ActionQueue, actionOutcome } from "../core/actions.js"
import { RequestError } from "./failures.js"

/** A batch without an answer for so long is given up and sent again: the server has its keys. */
const sendDeadlineMilliseconds = 60_000
/** After a store that would not take something it is read again so much later. */
const actionStoreRetryMilliseconds = 5_000
/** The longest time that a timer can be set to: over it browsers fire at once. */
const longestActionTimer = 2_000_000_000

const actionEnvironment = {
    now: () => Date.now(),
    setTimer: (callback, milliseconds) => setTimeout(callback, milliseconds),
    clearTimer: timer => clearTimeout(timer),
    random: () => globalThis.crypto.getRandomValues(new Uint32Array(1))[0],
}

/** Why an action was not taken or not done. */
export class ActionError extends Error {
    /**
     * @param kind of a deferrable one "full" or "closed"; of an immediate one "notReachable" (nothing was sent),
     *     "unauthorized", "rejected", "unavailable" (with `status`, perhaps `retryAfter`), or "unknown": no answer
     *     came, so nobody knows whether it was done
     */
    constructor(kind, message, members = {}) {
        super(message)
        this.name = "ActionError"
        this.kind = kind
        Object.assign(this, members)
    }
}

/** Brings actions to the server. See `openActions`. */
export class LiveActions {
    #options
    #environment
    #queue = null
    /** Counts queues: what an earlier one has sent changes nothing in this one. */
    #generation = 0
    #last = Promise.resolve()
    #latest = 0
    #timer = null
    #sending = null
    #isClosed = false
    #isReachable = true

    constructor(options) {
        this.#options = options
        this.#environment = { ...actionEnvironment, ...options.environment }
    }

    /** What the server is not known to have, the oldest first. */
    get pending() { return structuredClone(this.#queue?.view.pending ?? []) }

    /** The status that a pending action gives a thing; undefined: none, so what the server says is shown. */
    pendingValue(kind, id) { return this.#queue?.pending(kind, id) }

    /** The time by which actions are kept, in ms: Unix time that does not go back. */
    now() {
        this.#latest = Math.max(this.#latest, this.#environment.now())
        return this.#latest
    }

    /**
     * Gives a thing a status; fulfilled when it is shown and kept.
     *
     * @param from the status that is shown until now; undefined: not known
     */
    set(kind, id, value, from) { return this.#hand({ set: { kind, id, value, before: from } }) }

    /** A status was read from the server and written to the local state: what is pending is put on top of it. */
    reloaded(kind, id, value, askedAt) { return this.#hand({ reloaded: { kind, id, value, askedAt } }) }

    /** Whether there is a network. Nothing is sent without one, and everything at once when it is back. */
    networkChanged(isReachable) {
        this.#isReachable = isReachable
        this.#give({ network: { isReachable } })
    }

    /** There is a new token, for example because the user has signed in again. */
    tokenChanged() { this.#give({ token: {} }) }

    /** Sends now what waits for others; for a page that is hidden. */
    flush() { this.#give({ flush: {} }) }

    /** Stops. What is pending stays in the store. */
    close() {
        this.#isClosed = true
        this.#environment.clearTimer(this.#timer)
        this.#sending?.abort()
    }

    /** Fulfilled when the store was read and every input so far is handled. */
    start() { return this.#hand({ wake: {} }) }

    /**
     * Runs an immediate action: now, once, or not at all. After a 401 a new token is fetched and it is run once more,
     * for nothing was done.
     */
    async perform(operation) {
        if (!this.#isReachable) throw new ActionError("notReachable", "there is no network")
        try {
            return await operation()
        } catch (error) {
            if (error?.status !== 401) throw immediateError(error)
        }
        try {
            await this.#options.renewToken()
        } catch {
            throw immediateError(new RequestError(401))
        }
        this.tokenChanged()
        return Promise.resolve(operation()).catch(error => { throw immediateError(error) })
    }

    /** Handles inputs one after another: what one changes is written before the next is looked at. */
    #hand(input, generation) {
        const step = this.#last.then(() => this.#step(input, generation))
        this.#last = step.catch(() => {})
        return step
    }

    #give(input, generation) { this.#hand(input, generation).catch(() => {}) }

    /** @param generation of the queue that the input answers; undefined: it is of any. */
    async #step(input, generation) {
        if (this.#isClosed) throw new ActionError("closed", "the actions are closed")
        if (generation !== undefined && generation !== this.#generation) return
        if (!this.#queue) await this.#load()
        await this.#carryOut(this.#queue.handle(input, this.now()))
        this.#wait()
    }

    /** Reads the store, at the start and after it would not take something: as if the page had been loaded again. */
    async #load() {
        this.#generation += 1
        this.#waitFor(actionStoreRetryMilliseconds)
        const { store, settings } = this.#options
        const actions = await store.load()
        const { random } = this.#environment
        const queue = new ActionQueue({
            keyPrefix: [random(), random(), random(), random()].map(word => word.toString(36)).join(""),
            seed: random(), ...settings,
        })
        queue.handle({ network: { isReachable: this.#isReachable } }, this.now())
        this.#queue = queue
        await this.#carryOut(queue.handle({ loaded: { actions } }, this.now()))
    }

    async #carryOut(effects) {
        const changes = effects.flatMap(effect => {
            if (effect.persist || effect.delete) return [effect]
            const shown = effect.apply ?? effect.undo
            return shown ? [{ show: shown }] : []
        })
        try {
            if (changes.length > 0) await this.#options.store.commit(changes)
        } catch (error) {
            this.#queue = null
            this.#generation += 1
            this.#sending?.abort()
            this.#waitFor(actionStoreRetryMilliseconds)
            throw error
        }
        if (this.#isClosed) return
        for (const effect of effects) {
            if (effect.send) this.#send(effect.send)
            else if (effect.requestToken) this.#renewToken()
            else if (effect.rejected || effect.expired || effect.unauthorized) this.#options.report?.(effect)
        }
        if (effects.some(effect => effect.refused)) {
            throw new ActionError("full", "as many actions as are kept wait for the server: no more are taken")
        }
    }

    #wait() {
        const due = this.#queue.wakeAt
        if (due === null) this.#environment.clearTimer(this.#timer)
        else this.#waitFor(due - this.now())
    }

    #waitFor(milliseconds) {
        this.#environment.clearTimer(this.#timer)
        if (this.#isClosed) return
        const wait = Math.min(Math.max(milliseconds, 0), longestActionTimer)
        this.#timer = this.#environment.setTimer(() => this.#give({ wake: {} }), wait)
    }

    async #send({ batch, actions }) {
        const generation = this.#generation
        const sending = new AbortController()
        this.#sending = sending
        const { setTimer, clearTimer } = this.#environment
        let timer
        const late = new Promise((_, reject) => {
            timer = setTimer(() => { reject(new RequestError()); sending.abort() }, sendDeadlineMilliseconds)
        })
        let input
        try {
            const sent = Promise.resolve(this.#options.send(structuredClone(actions), sending.signal))
            const results = await Promise.race([sent, late])
            if (!Array.isArray(results)) throw new RequestError()
            input = { answered: { batch, results } }
        } catch (error) {
            input = { failed: { batch, status: error?.status, retryAfter: error?.retryAfter } }
        }
        clearTimer(timer)
        this.#give(input, generation)
    }

    async #renewToken() {
        const generation = this.#generation
        let input = { token: {} }
        try {
            await this.#options.renewToken()
        } catch {
            input = { tokenFailed: {} }
        }
        this.#give(input, generation)
    }
}

function immediateError(error) {
    const { status, retryAfter } = error ?? {}
    if (status === undefined) {
        return new ActionError("unknown", "no answer came: it may have been done", { cause: error })
    }
    const outcome = actionOutcome(status)
    if (outcome === "unauthorized") return new ActionError("unauthorized", "no token is accepted")
    const kind = outcome === "rejected" ? "rejected" : "unavailable"
    return new ActionError(kind, `the server does not do it: status ${status}`, { status, retryAfter })
}

/**
 * Reads the store and sends what is in it.
 *
 * @param options `{store, send, renewToken, report, settings, environment}`: `send(actions, signal)` sends a batch in
 *     its order, each action with its key, and gives `[{key, status, retryAfter?}]`, or throws `RequestError`;
 *     `renewToken()` gets a new token after a 401; `report(news)` is given `{rejected}`, `{expired}` or
 *     `{unauthorized}`
 */
export async function openActions(options) {
    const actions = new LiveActions(options)
    try {
        await actions.start()
    } catch (error) {
        actions.close()
        throw error
    }
    return actions
}
