// Runs an update machine: an area of state that is kept as the server has it, in memory and in a store.
import { FoundThings } from "../core/found.js"
import { keyOf } from "../core/stored.js"
import { UpdateMachine } from "../core/update.js"
import { caseOf } from "../core/updatecore.js"
import { maximumTimer } from "./environment.js"
import { failureOf } from "./failures.js"
import { eventOf, followingOf } from "./following.js"

/** How long until a new token is asked for again, where that failed, in ms. */
const tokenPause = 5_000

/** Begins a machine on a client's connection; see types/machine.d.ts for the options. */
export function createMachine(client, options) { return new LiveMachine(client, options) }

/** An area of state. Made by `createMachine`. */
export class LiveMachine {
    #client
    #options
    #machine
    #following
    #store
    #entries = new Map()
    #found = new FoundThings()
    /** What a snapshot has brought: `{number, entries}`. */
    #snapshot = null
    /** What is under way, by its number: `{abort, thing}`. */
    #requests = new Map()
    #inputs = []
    #isBusy = false
    #isClosed = false
    #timer = null
    #watchers = new Set()
    #shown = ""
    #unwatch
    /** What the app shows of it, which then has what is reloaded fetched. */
    #screens
    /** Why the store is not used any more; null while it is. */
    storeError = null

    constructor(client, options) {
        const { environment } = client
        this.#client = client
        this.#options = options
        this.#store = options.store ?? null
        const { entities, retention, pollInterval, maximumPending, patience, seed = environment.random() } = options
        const given = { entities, retention, pollInterval, maximumPending, patience, seed }
        this.#machine = new UpdateMachine(
            Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))
        this.#following = followingOf(client)
        this.#screens = options.screens?.(input => this.#reloadedByScreens(input)) ?? null
        this.#send({ start: {} })
        this.#unwatch = client.watch(state => this.#surroundings(state))
    }

    /** What is known, by key (`keyOf`); not before `isLoaded`. */
    get entries() { return this.#entries }
    get(thing) { return this.#entries.get(keyOf(thing)) }
    /** Whether the store was read: before, nothing is known, which is neither empty nor old. */
    get isLoaded() { return !("notLoaded" in this.state) }
    get state() { return this.#machine.view.state }
    get freshness() { return this.#machine.view.freshness }
    /** What people are shown of it: undefined while nothing is wrong, and for the first 300 ms of a gap. */
    get sign() { return this.#machine.view.sign }
    get lastSuccess() { return this.#machine.view.metadata.lastSuccess }
    get isUnauthorized() { return this.#machine.view.isUnauthorized }

    /** Calls `listener()` after each change of what can be seen here; returns what ends that. */
    watch(listener) {
        this.#watchers.add(listener)
        return () => { this.#watchers.delete(listener) }
    }

    /** Somebody pulled the screen. */
    refresh() { this.#send({ refresh: {} }) }

    /** Ends it. What is on its way is given up, and nothing is written any more. */
    close() {
        if (this.#isClosed) return
        this.#isClosed = true
        this.#unwatch?.()
        this.#screens?.close()
        this.#following.unfollow(this)
        for (const { abort } of this.#requests.values()) abort.abort()
        this.#requests.clear()
        this.#watchers.clear()
        if (this.#timer !== null) this.#client.environment.clearTimer(this.#timer)
    }

    // MARK: The machine

    /** Hands in an input. One that comes while another is carried out waits for its turn. */
    #send(input) {
        if (this.#isClosed) return
        this.#inputs.push(input)
        if (this.#isBusy) return
        this.#isBusy = true
        try {
            while (this.#inputs.length > 0 && !this.#isClosed) {
                const now = this.#client.environment.now()
                for (const effect of this.#machine.handle(this.#inputs.shift(), now)) this.#carryOut(effect)
            }
        } finally {
            this.#isBusy = false
        }
        this.#wind()
        this.#tellScreens()
        this.#show()
    }

    #tellScreens() {
        if (this.#isClosed || !this.#screens) return
        if ("stale" in this.state || "registerFailed" in this.state) this.#screens.setFinger(false)
        this.#screens.setLive("connected" in this.freshness)
    }

    #wind() {
        const { now, setTimer, clearTimer } = this.#client.environment
        if (this.#timer !== null) clearTimer(this.#timer)
        this.#timer = null
        const at = this.#machine.wakeAt
        if (at === null || this.#isClosed) return
        this.#timer = setTimer(() => {
            this.#timer = null
            if (now() >= at) this.#send({ wake: {} })
            else this.#wind()
        }, Math.min(Math.max(at - now(), 0), maximumTimer))
    }

    #show(hasChanged = false) {
        const shown = JSON.stringify(this.#machine.view)
        if (this.#isClosed || (shown === this.#shown && !hasChanged)) return
        this.#shown = shown
        for (const listener of [...this.#watchers]) {
            // A listener that throws does not keep the others from their call.
            try { listener() } catch (error) { queueMicrotask(() => { throw error }) }
        }
    }

    /** What becomes of the connection says whether there is a network, a token and somebody who looks. */
    #surroundings(state) {
        if (this.#following.isRestarting) return
        const isIdle = "idle" in state
        this.#screens?.setVisible(!isIdle)
        this.#send(isIdle ? { background: {} } : { foreground: {} })
        if (isIdle) return
        this.#send({ network: { isSatisfied: !state.ended && state.waiting?.why !== "offline" } })
        if (state.unauthorized) this.#send({ token: { isValid: false } })
        else if (this.isUnauthorized && state.connected) this.#send({ token: { isValid: true } })
    }

    #carryOut(effect) {
        const name = caseOf(effect)
        const given = effect[name]
        switch (name) {
        case "load": return void this.#load()
        case "requestFinger": return this.#request(given.number, async () => {
            return { finger: { number: given.number, at: await this.#following.finger() } }
        }, "fingerFailed")
        case "requestSnapshot":
            // What was known without this finger is old; what comes from now on is not.
            this.#screens?.setFinger(false)
            this.#screens?.setFinger(true)
            return this.#request(given.number, async signal => {
                const entries = new Map(await this.#options.snapshot({ signal }))
                this.#snapshot = { number: given.number, entries }
                return { snapshot: { number: given.number } }
            }, "snapshotFailed")
        case "reload":
            if (!this.#screens) return this.#reload(given)
            this.#found.ask(given.number, given.thing)
            return this.#screens.reload(given)
        case "poll": return this.#request(given.number, signal => this.#poll(given, signal), "pageFailed")
        case "cancel": return this.#cancel(given.number)
        case "dropReloads":
            for (const [number, { thing }] of [...this.#requests]) if (thing) this.#cancel(number)
            this.#screens?.dropReloads()
            return this.#found.clear()
        case "follow":
            this.#screens?.setFinger(true)
            return this.#following.follow(this, given.since, message => this.#receive(given.number, message))
        case "unfollow": return this.#following.unfollow(this)
        case "commit": return void this.#commit(given)
        case "requestToken": return void this.#renewToken()
        }
    }

    /** Runs a request whose result is an input; nothing comes of one that was cancelled. */
    #request(number, run, failed, thing) {
        const abort = new AbortController()
        this.#requests.set(number, { abort, thing })
        const end = input => {
            if (abort.signal.aborted) return
            this.#requests.delete(number)
            this.#send(input)
        }
        Promise.resolve().then(() => run(abort.signal))
            .then(end, error => end({ [failed]: { number, failure: failureOf(error) } }))
    }

    #cancel(number) {
        this.#requests.get(number)?.abort.abort()
        this.#requests.delete(number)
        if (this.#snapshot?.number === number) this.#snapshot = null
    }

    // MARK: What it asks for

    async #load() {
        let stored
        try {
            stored = await this.#store?.load(this.#options.area)
        } catch (error) {
            this.#loseStore(error)
        }
        if (this.#isClosed) return
        this.#entries = stored?.entries ?? new Map()
        this.#send({ loaded: stored ? { stored: stored.metadata } : {} })
    }

    #loseStore(error) {
        this.storeError = error
        this.#store = null
    }

    #reload({ number, thing, types }) {
        this.#request(number, async signal => {
            let outcome = "value", value
            try {
                value = await this.#options.reload(thing, { types, signal })
            } catch (error) {
                if (![403, 404, 410].includes(error?.status)) throw error
                outcome = error.status === 403 ? "notOurs" : "gone"
            }
            if (!signal.aborted) this.#found.keep(thing, value)
            return { reloaded: { number, outcome } }
        }, "reloadFailed", thing)
    }

    /** What became of a reload by screens; a fetch of theirs may answer several. */
    #reloadedByScreens({ reloaded, reloadFailed }) {
        if (this.#isClosed) return
        if (reloadFailed) this.#found.failed(reloadFailed.number)
        if (reloadFailed) return this.#send({ reloadFailed })
        const { number, outcome, value } = reloaded
        this.#found.answered(number, value)
        this.#send({ reloaded: { number, outcome } })
    }

    async #poll({ number, since }, signal) {
        const { page, resync } = await this.#client.sync({ since, signal })
        if (resync) return { pageResync: { number, at: resync.at } }
        return { page: { number, events: page.events.map(eventOf), at: page.at, more: page.more } }
    }

    #receive(number, message) {
        if (message.events) this.#send({ events: { number, events: message.events, at: message.at } })
        else if ("live" in message) this.#send({ live: { number, at: message.live } })
        else if ("resync" in message) this.#send({ resync: { number, at: message.resync } })
        else if ("source" in message) this.#send({ source: { number, stalledSince: message.source } })
        else this.#send({ lost: { number, after: message.lost } })
    }

    async #renewToken() {
        try {
            const token = await this.#client.token({ fresh: true })
            // A cookie, which has no text here, is renewed by others.
            this.#send({ token: { isValid: token === null || Boolean(token) } })
        } catch (error) {
            if (error?.isUnauthorized) return this.#send({ token: { isValid: false } })
            this.#client.environment.setTimer(() => { if (!this.#isClosed) this.#renewToken() }, tokenPause)
        }
    }

    // MARK: State and finger move together

    async #commit({ number, metadata, isSnapshot, changes }) {
        const snapshot = isSnapshot ? this.#snapshot : null
        const { next, put, remove, forget } = this.#found.applied(changes, snapshot?.entries ?? this.#entries)
        try {
            const { area, tables, also } = this.#options
            await this.#store?.commit(area, {
                metadata, put, remove, isWhole: isSnapshot, whole: () => [...next], tables,
                also: also && ((transaction, isWhole) => also(transaction, {
                    isWhole, put: isWhole ? [...next] : put, remove: isWhole ? [] : remove,
                })),
            })
        } catch (error) {
            // A store of another account or schema does not come back: better none than nothing new.
            if (error?.name !== "StoreError") return this.#send({ commitFailed: { number } })
            this.#loseStore(error)
        }
        if (this.#isClosed) return
        this.#entries = next
        forget()
        if (this.#snapshot === snapshot) this.#snapshot = null
        this.#send({ committed: { number } })
        this.#show(true)
    }
}
