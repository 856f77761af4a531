// What people did and the server does not know yet: the module's actions. No DOM.

import {
    IndexedDBActionStore, MemoryActionStore, RequestError, openActions,
} from "../../LiveClientJS/livegate.js"

const kind = "status"
/** The request that gives an incident this status. */
const verbs = { acknowledged: "acknowledge", resolved: "resolve" }
/** From a click to its request, in ms: who clicks twice sends once. */
const coalescing = 400
/** Requests at once. */
const maximumBatch = 4

/** Pages of plain http have no `crypto.randomUUID`. */
function newKey() { return [...crypto.getRandomValues(new Uint32Array(4))].map(word => word.toString(36)).join("-") }

/** Reads what an earlier visit left in the store, and sends it; null: nothing is kept. Other options: see `Outbox`. */
export async function openOutbox({ store, ...options }) {
    const outbox = new Outbox(options)
    // What is pending is shown on top of the API's answer: there is no other local state.
    const kept = store ? new IndexedDBActionStore({ store, show: () => {} }) : new MemoryActionStore({ show: () => {} })
    await outbox.open(kept)
    return outbox
}

export class Outbox {
    #options
    #actions
    /** The last note that is not known to have been added: `{id, content, key}`. */
    #note = null

    /**
     * - api, and renewToken(): a promise of a new token.
     * - changed(): something of what waits is another.
     * - done(incident), rejected(id, status), where `status` is undefined for what was kept too long; unauthorized().
     */
    constructor(options) { this.#options = options }

    /** Reads a store of actions. */
    async open(kept) {
        const { renewToken, changed } = this.#options
        this.#actions = await openActions({
            store: {
                sharedName: kept.sharedName,
                load: () => kept.load(),
                commit: async changes => {
                    await kept.commit(changes)
                    changed()
                },
            },
            send: (actions, signal) => this.#send(actions, signal),
            renewToken, changed, report: news => this.#report(news), settings: { coalescing, maximumBatch },
        })
    }

    now() { return this.#actions.now() }

    get count() { return this.#actions.pending.length }

    /** The status that somebody gave this incident and the server does not know yet; undefined where there is none. */
    pending(id) { return this.#actions.pendingValue(kind, id) }

    /** Gives it this status, fulfilled when it is kept; `before` is what people see until now. */
    set(id, status, before) { return this.#actions.set(kind, id, status, before) }

    /** The API has answered with this, to a question of this time of `now()`. */
    read({ id, status }, askedAt) {
        // What its store would not accept is read again from there.
        if (this.pending(id) !== undefined) this.#actions.reloaded(kind, id, status, askedAt).catch(() => {})
    }

    networkChanged(isReachable) { this.#actions.networkChanged(isReachable) }

    /** Sends now what waits for others. */
    flush() { this.#actions.flush() }

    /**
     * Adds a note, at once or not at all. Throws an `ActionError`; the same note again has the same key then: where only
     * the answer was lost it is not added twice.
     */
    async addNote(id, content) {
        const { api, done } = this.#options
        const isAgain = this.#note?.id === id && this.#note.content === content
        const { key } = this.#note = isAgain ? this.#note : { id, content, key: newKey() }
        done(await this.#actions.perform(() => api.act(id, "notes", key, { body: { content } })))
        this.#note = null
    }

    close() { this.#actions.close() }

    async #send(actions, signal) {
        const { api, done } = this.#options
        const results = await Promise.all(actions.map(async ({ id, key, value }) => {
            try {
                done(await api.act(id, verbs[value], key, { signal }))
                return { key, status: 200 }
            } catch ({ status, retryAfter }) {
                return status === undefined ? null : { key, status, retryAfter }
            }
        }))
        const answered = results.filter(result => result !== null)
        if (answered.length === 0) throw new RequestError()
        return answered
    }

    #report(news) {
        const { rejected, unauthorized } = this.#options
        if (news.unauthorized) return unauthorized()
        const { action, status, isReplaced } = news.rejected ?? news.expired
        // A user who has chosen another status since has nothing undone.
        if (!isReplaced) rejected(action.id, status)
    }
}
