// What people did and the server does not know yet: the module's action queue, kept in localStorage.
//
// A row is sent by the tab that made it, or by the next that is opened: both with the same key, so it is done once.

import { ActionQueue } from "../../LiveClientJS/core/actions.js"

const KIND = "status"
/** The request that gives an incident this status. */
const verbs = { acknowledged: "acknowledge", resolved: "resolve" }
/** From a click to its request: who clicks twice sends once. In milliseconds. */
const COALESCING = 400

export class Outbox {
    /**
     * - send(id, verb, key): a promise of the incident, which throws an `APIError`.
     * - changed(): something of `pending` is another.
     * - done(incident), rejected(id, status), unauthorized().
     */
    constructor({ account, storage, send, changed, done, rejected, unauthorized }) {
        Object.assign(this, { storage, send, changed, done, rejected, unauthorized })
        this.prefix = `livegate.demo.${account}.`
        this.queue = new ActionQueue({
            seed: crypto.getRandomValues(new Uint32Array(1))[0], keyPrefix: crypto.randomUUID(), coalescing: COALESCING,
        })
        /** By incident: the key that this tab has stored last. */
        this.stored = new Map()
        this.timer = null
    }

    /** Takes in what an earlier visit left, and sends it. */
    start() { this.handle({ loaded: { actions: this.load() } }) }

    load() {
        const actions = []
        for (let index = 0; index < this.storage.length; index++) {
            const name = this.storage.key(index)
            if (!name.startsWith(this.prefix)) continue
            try {
                actions.push(JSON.parse(this.storage.getItem(name)))
            } catch {
                // Not ours, or not whole: nothing is known of it.
            }
        }
        for (const action of actions) this.stored.set(action.id, action.key)
        return actions
    }

    /** The status that somebody gave this incident and the server does not know yet; undefined where there is none. */
    pending(id) { return this.queue.pending(KIND, id) }

    get count() { return this.queue.rows.size }

    /** Gives it this status; `before` is what the server says. */
    set(id, value, before) { this.handle({ set: { kind: KIND, id, value, before } }) }

    /** The server says so now; asked at that time. */
    reloaded(id, value, askedAt) {
        if (this.pending(id) !== undefined) this.handle({ reloaded: { kind: KIND, id, value, askedAt } })
    }

    /** Sends at once what waits, or waits for the network. */
    network(isReachable) {
        this.handle({ network: { isReachable } })
        if (isReachable) this.handle({ flush: {} })
    }

    /** There is a token that the server has not refused yet. */
    token() { this.handle({ token: {} }) }

    handle(input) {
        for (const effect of this.queue.handle(input, Date.now())) {
            const [[name, of]] = Object.entries(effect)
            if (name === "persist") this.persist(of.action)
            else if (name === "delete") this.forget(of.id)
            else if (name === "send") this.carryOut(of)
            else if (name === "rejected") this.rejected(of.action.id, of.status)
            else if (name === "expired") this.rejected(of.action.id, undefined)
            else if (name === "refused") this.rejected(of.id, undefined)
            // Each request asks for a new token by itself, once: a second refusal is the last word for now.
            else if (name === "requestToken") queueMicrotask(() => this.token())
            else if (name === "unauthorized") this.unauthorized()
        }
        clearTimeout(this.timer)
        const at = this.queue.wakeAt
        // A timer of browsers counts to 2^31 ms.
        const wait = at === null ? null : Math.min(Math.max(at - Date.now(), 0), 1e9)
        if (wait !== null) this.timer = setTimeout(() => this.handle({ wake: {} }), wait)
        this.changed()
    }

    persist(action) {
        this.storage.setItem(this.prefix + action.id, JSON.stringify(action))
        this.stored.set(action.id, action.key)
    }

    /** Unless another tab has put another row there. */
    forget(id) {
        const kept = this.storage.getItem(this.prefix + id)
        if (kept && JSON.parse(kept).key === this.stored.get(id)) this.storage.removeItem(this.prefix + id)
        this.stored.delete(id)
    }

    async carryOut({ batch, actions }) {
        const results = await Promise.all(actions.map(async ({ id, key, value }) => {
            try {
                this.done(await this.send(id, verbs[value], key))
                return { key, status: 200 }
            } catch (error) {
                return error.status > 0 ? { key, status: error.status, retryAfter: error.retryAfter } : null
            }
        }))
        const answered = results.filter(result => result !== null)
        this.handle(answered.length > 0 ? { answered: { batch, results: answered } } : { failed: { batch } })
    }
}
