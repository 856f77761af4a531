// Sends what users do to the server: at once or not at all (`perform`), or kept until it arrives (`set`).
// SharedActionQueue decides; this carries it out. Tabs that share a store add their actions to it, and one of them sends.
import { LivegateError, RequestError } from "../core/errors.js"
import { bindMethods } from "../core/bound.js"
import { copyOf } from "../core/copy.js"
import { SharedActionQueue, StoredKeys } from "../core/sharedactions.js"
import { immediateError } from "./actionerror.js"
import { ActionRequests } from "./actionrequests.js"
import { ActionTabs } from "./actiontabs.js"
import { maximumTimer, ofStore, randomName, systemEnvironment, within } from "./environment.js"
import { callApp, isSignedOut } from "./failures.js"
import { gateOf } from "./gate.js"
import { Snapshot } from "./snapshots.js"
import { renewToken } from "./tokens.js"

/** After a store that would not take something it is read again so much later. */
const actionStoreRetryMilliseconds = 5_000
/** An immediate action that takes longer, in ms, is given up. */
const performDeadline = 60_000
/** So often an input is handled again on what another tab has stored meanwhile; each time something was stored. */
const maximumConflicts = 20

/** Brings actions to the server. See `openActions`. */
export class LiveActions {
    #options
    #environment
    #queue = null
    /** What was pending when the store was last read or written, as the watchers know it. */
    #snapshot = new Snapshot()
    /** Counts queues: what an earlier one has sent changes nothing in this one. */
    #generation = 0
    #last = Promise.resolve()
    /** Counts inputs. */
    #handed = 0
    /** What has already waited for as long as a store may take: `{through, error}`, by the number of an input; null: nothing. */
    #late = null
    #latest = 0
    #stored = new StoredKeys()
    /** The tabs that share the store; null: this one is alone. */
    #tabs = null
    /** Whether this tab sends: known behind all inputs before. */
    #isSending = true
    /** The store is to be read again: one reading is enough for all that was changed before. */
    #isOutdated = false
    /** When this tab asks the one that sends to do so now: timers of a hidden tab are slow, messages to it are not. */
    #flushAt = null
    #timer = null
    #requests
    #isClosed = false
    #closing = new AbortController()
    #isReachable = true

    constructor(options) {
        bindMethods(this)
        const { client } = options
        this.#snapshot.set([])
        this.#options = { gate: client && gateOf(client), ...options }
        // Unix time, because actions outlive this page. It is steady: a clock that is set back would delay them all.
        this.#environment = { ...systemEnvironment(), ...options.environment }
        // A request of an earlier queue changes nothing in this one.
        this.#requests = new ActionRequests(this.#options, this.#environment, input => this.#give(input, this.#generation))
    }

    /** What the server is not known to have, the oldest first: of which kind and thing, the value to show, and since when (`at`). */
    get pending() {
        // While the store can neither read nor write, there is no queue.
        return copyOf(this.#queue?.view.pending ?? this.getSnapshot())
    }

    /** Calls `listener(pending)` now and after each change that is kept, whichever tab made it; returns what ends that. */
    watchPending(listener) {
        if (this.#isClosed) return () => {}
        const tell = () => callApp(listener, copyOf(this.getSnapshot()))
        tell()
        return this.subscribe(tell)
    }

    /** `pending` as the store has it: the same array until something has changed. It is not to be written to. */
    getSnapshot() { return this.#snapshot.get() }

    subscribe(listener) { return this.#snapshot.subscribe(listener) }

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
     * @param unless is asked in its turn with the status that is pending: true, and nothing is done
     */
    set(kind, id, value, from, { unless = () => false } = {}) {
        return this.#hand({ set: { kind, id, value, before: from, unless } })
    }

    /** A status was read from the server and written to the local state: what is pending is put on top of it. */
    reloaded(kind, id, value, askedAt) { return this.#hand({ reloaded: { kind, id, value, askedAt } }) }

    /** Whether there is a network. Nothing is sent without one, and everything at once when it is back. */
    networkChanged(isReachable) {
        this.#isReachable = isReachable
        if (isReachable) this.#options.gate?.networkIsBack()
        this.#give({ network: { isReachable } })
    }

    /** There is a new token, for example because the user has signed in again. */
    tokenChanged() { this.#tellLeader({ token: {} }) }

    /** Sends now what waits for others; for a page that is hidden. */
    flush() { this.#tellLeader({ flush: {} }) }

    /** Stops. What is pending stays in the store. */
    close() {
        if (this.#isClosed) return
        this.#isClosed = true
        this.#snapshot.close()
        this.#closing.abort(new LivegateError("closed", "the actions are closed"))
        this.#environment.clearTimer(this.#timer)
        this.#requests.close()
        this.#tabs?.close()
    }

    /** Fulfilled when the store was read and every input so far is handled. */
    async start() {
        const { locks, BroadcastChannel } = this.#environment
        const { sharedName } = this.#options.store
        const isShared = sharedName !== undefined && locks && BroadcastChannel
        // Until this tab has the lock, it only stores actions.
        this.#isSending = !isShared
        await this.#hand({ wake: {} })
        if (!isShared || this.#isClosed) return
        this.#tabs = new ActionTabs(this.#environment, sharedName, {
            lead: () => this.#give({ lead: {} }),
            yield: () => {
                this.#requests.close()
                this.#give({ yield: {} })
            },
            received: message => this.#receive(message),
            asked: () => this.#give({ wake: {} }),
        })
    }

    /**
     * Runs an immediate action, `operation({signal})`: now, once, or not at all. After a 401 a new token is fetched and it is run
     * once more, for nothing was done. After a minute it is given up, and nobody knows whether it was done.
     */
    async perform(operation) {
        this.#refuseClosed()
        if (!this.#isReachable) throw new LivegateError("notReachable", "there is no network")
        const { renewToken: own, client } = this.#options, tokens = client?._tokens, token = tokens?.token
        try {
            return await this.#run(operation)
        } catch (error) {
            if (error?.status !== 401) throw immediateError(error)
        }
        this.#refuseClosed()
        try {
            await renewToken(this.#environment, own, tokens, token, this.#closing.signal)
        } catch (error) {
            this.#refuseClosed()
            if (isSignedOut(error)) throw immediateError(new RequestError(401))
            throw new LivegateError("unavailable", "it needs another token, and none could be got", { cause: error })
        }
        this.#refuseClosed()
        this.tokenChanged()
        return this.#run(operation).catch(error => { throw immediateError(error) })
    }

    #run(operation) {
        const abort = new AbortController()
        const late = () => {
            abort.abort()
            return new RequestError()
        }
        return within(this.#environment, performDeadline, () => operation({ signal: abort.signal }), late)
    }

    #refuseClosed() {
        if (this.#isClosed) throw new LivegateError("closed", "the actions are closed")
    }

    /** Handles inputs one after another: what one changes is written before the next is looked at. */
    #hand(input, generation) {
        const number = this.#handed += 1
        const step = this.#last.then(() => this.#step(input, generation, number))
        this.#last = step.catch(() => {})
        return step
    }

    #give(input, generation) { this.#hand(input, generation).catch(() => {}) }

    /** What concerns who sends: here, or in another tab. */
    #tellLeader(input) {
        if (this.#tabs && !this.#tabs.isLeader) this.#tabs.post(input)
        else this.#give(input)
    }

    /** Another tab has changed the store, has something for who sends, or tells what became of an action. */
    #receive({ changed, news, ...input }) {
        if (this.#isClosed) return
        if (news) callApp(this.#options.report, news)
        else if (!changed) { if (this.#tabs?.isLeader) this.#give(input) }
        else if (!this.#isOutdated) {
            this.#isOutdated = true
            this.#give({ read: {} })
        }
    }

    /** @param generation of the queue that the input answers; undefined: it is of any. */
    async #step(input, generation, number) {
        for (let conflicts = 0; ; conflicts += 1) {
            this.#refuseClosed()
            if (generation !== undefined && generation !== this.#generation) return
            try {
                await this.#take(input, number)
                return this.#wait()
            } catch (error) {
                if (error?.name !== "ActionConflict" || conflicts === maximumConflicts) throw error
            }
        }
    }

    async #take(input, number) {
        // Another tab now sends what this tab has sent, with the same keys; or this tab sends it again.
        if (input.yield || input.lost) this.#drop(null)
        if (input.yield) this.#isSending = false
        if (input.lead) this.#isSending = true
        if (!this.#queue) {
            // Otherwise many calls would wait for a store that hangs, one after the other.
            if (number <= this.#late?.through) throw this.#late.error
            await this.#load()
        }
        // Others write too: a tab that does not send knows only what is stored. Anything stored may already be sent.
        else if (this.#isOutdated || input.lead || !(this.#isSending || input.read)) {
            await this.#read(input.lead !== undefined || !this.#isSending)
        }
        if (input.wake && !this.#isSending) return this.#askToFlush()
        if (input.lead) {
            this.#flushAt = null
            return this.#carryOut(this.#queue.handle({ network: { isReachable: this.#isReachable } }, this.now()))
        }
        if (input.read && !this.#isClosed) callApp(this.#options.changed)
        if (input.yield || input.lost || input.read) return
        if (input.set?.unless(this.pendingValue(input.set.kind, input.set.id))) return
        const isNetwork = input.network && !this.#isSending
        if (!isNetwork) await this.#carryOut(this.#queue.handle(input, this.now()))
    }

    /**
     * What the store gives. What was handed in before it was asked has waited with it where it does not answer.
     *
     * @param signal ends the wait where that changes nothing: a row that is being written may be there, and is waited for
     */
    async #ask(work, signal) {
        const through = this.#handed
        this.#late = null
        try {
            return await ofStore(this.#environment, work, signal)
        } catch (error) {
            if (error?.kind === "late") this.#late = { through, error }
            throw error
        }
    }

    /** Reads the store, at the start and after it would not take something: as if the page had been loaded again. */
    async #load() {
        this.#generation += 1
        this.#waitFor(actionStoreRetryMilliseconds)
        const { store, settings } = this.#options
        this.#isOutdated = false
        const actions = await this.#ask(() => store.load(), this.#closing.signal)
        this.#refuseClosed()
        const keyPrefix = randomName(this.#environment, 4)
        const queue = new SharedActionQueue({ keyPrefix, seed: this.#environment.random(), ...settings })
        queue.handle({ network: { isReachable: this.#isReachable && this.#isSending } }, this.now())
        this.#queue = queue
        this.#stored = new StoredKeys(actions)
        await this.#carryOut(queue.handle({ loaded: { actions } }, this.now()))
    }

    /** Reads what other tabs have stored, and goes on. */
    async #read(mayBeSent) {
        this.#isOutdated = false
        const actions = await this.#ask(() => this.#options.store.load(), this.#closing.signal).catch(error => {
            this.#drop(actionStoreRetryMilliseconds)
            throw error
        })
        this.#refuseClosed()
        this.#stored = new StoredKeys(actions)
        await this.#carryOut(this.#queue.handle({ taken: { actions, mayBeSent } }, this.now()))
    }

    /** Forgets all but what is stored; a wait in ms: that is read again then. */
    #drop(wait) {
        this.#queue = null
        this.#generation += 1
        this.#requests.close()
        if (wait !== null) this.#waitFor(wait)
    }

    async #carryOut(effects) {
        const { changes, next } = this.#stored.after(effects)
        try {
            if (changes.length > 0) await this.#ask(() => this.#options.store.commit(changes))
        } catch (error) {
            this.#drop(error?.name === "ActionConflict" ? 0 : actionStoreRetryMilliseconds)
            throw error
        }
        this.#stored = next
        if (this.#isClosed) return
        this.#snapshot.set(copyOf(this.#queue.view.pending))
        if (this.#isClosed) return
        if (changes.length > 0) this.#tabs?.post({ changed: {} })
        if (changes.length > 0 && !this.#isSending) this.#flushAt ??= this.now() + this.#queue.settings.coalescing
        for (const effect of effects) {
            const [[name, { batch, actions, status }]] = Object.entries(effect)
            this.#options.client?.environment.debug?.("actions", { [name]: { batch, count: actions?.length, status } })
            if (effect.send) this.#requests.send(effect.send, () => this.#isStored(effect.send.actions))
            else if (effect.requestToken) this.#requests.requestToken()
            else if (effect.rejected || effect.expired || effect.unauthorized) {
                this.#tabs?.post({ news: effect })
                callApp(this.#options.report, effect)
            }
            if (this.#isClosed) return
        }
        if (effects.some(effect => effect.refused)) {
            throw new LivegateError("full", "as many actions as are kept wait for the server: no more are taken")
        }
    }

    #askToFlush() {
        if (this.#flushAt === null || this.#flushAt > this.now()) return
        this.#flushAt = null
        this.#tabs?.post({ flush: {} })
    }

    #wait() {
        if (!this.#queue) return
        const due = this.#isSending ? this.#queue.wakeAt : this.#flushAt
        if (due === null) this.#environment.clearTimer(this.#timer)
        else this.#waitFor(due - this.now())
    }

    #waitFor(milliseconds) {
        this.#environment.clearTimer(this.#timer)
        if (this.#isClosed) return
        const wait = Math.min(Math.max(milliseconds, 0), maximumTimer)
        this.#timer = this.#environment.setTimer(() => this.#give({ wake: {} }), wait)
    }

    /** Whether the rows are there as they are to be sent: a tab that was frozen has some that others have replaced. */
    async #isStored(actions) {
        if (!this.#tabs) return true
        const keys = new Set((await this.#options.store.load()).map(({ key }) => key))
        return this.#tabs.isLeader && actions.every(({ key }) => keys.has(key))
    }
}

/**
 * Reads the store and sends what is in it.
 *
 * @param options `{store, send, renewToken, report, changed, settings, environment}`: `send(actions, signal)` sends a
 *     batch in its order, each action with its key, and gives `[{key, status, retryAfter?}]`, or throws `RequestError`;
 *     `renewToken()` gets a new token after a 401; `report(news)` is given `{rejected}`, `{expired}` or
 *     `{unauthorized}`, in each tab; `changed()` is called when another tab has changed what is pending
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
