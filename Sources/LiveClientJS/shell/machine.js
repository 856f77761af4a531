// Runs an update machine: an area of state that is kept as the server has it, in memory and in a store.
import { bindMethods } from "../core/bound.js"
import { given } from "../core/messages.js"
import { keyOf } from "../core/stored.js"
import { UpdateMachine, refreshEnded } from "../core/update.js"
import { caseOf } from "../core/updatecore.js"
import { ofStore, setDue } from "./environment.js"
import { callApp } from "./failures.js"
import { followingOf } from "./following.js"
import { gateOf } from "./gate.js"
import { MachineRequests } from "./machinerequests.js"
import { Snapshot } from "./snapshots.js"

/** Whether a store cannot be used any more: asking again changes nothing. */
function isGone(error) { return ["other", "unavailable", "blocked", "deleted"].includes(error?.kind) }
/** By store: areas of machines. Two of one area would write over each other. */
const areasOf = new WeakMap()

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
    #requests
    /** Of the app's API, which other machines, screens and actions ask too. */
    #gate
    #inputs = []
    #isBusy = false
    #isClosed = false
    #closing = new AbortController()
    #hasNetwork = true
    #isConnected = false
    /** This page: the connection may be another tab's, which is looked at. */
    #page = { isVisible: true, isForeground: true }
    #isFingerHeld = false
    #timer = null
    /** Look whether what refreshes have asked for is there. */
    #refreshes = new Set()
    #snapshot = new Snapshot()
    #unwatch
    /** Another machine may have its area of the store. */
    #leave = () => {}
    /** What the app shows of it, which then has what is reloaded fetched. */
    #screens
    /** Of what they show: `{isComplete, hasFailed, isLoading}`. */
    #shownState = { isComplete: true }
    /** What its lists know, in the store; undefined: there are none. */
    #lists
    /** Why the store is not used any more, or what it has failed to read or write and is asked for again; null while it is used. */
    storeError = null

    constructor(client, options) {
        bindMethods(this)
        const { environment } = client
        this.#client = client
        this.#options = options
        this.#store = options.store ?? null
        if (this.#store) {
            const areas = areasOf.get(this.#store) ?? new Set()
            if (areas.has(options.area)) throw new TypeError(`area ${options.area}: there is a machine of it in this store`)
            areasOf.set(this.#store, areas.add(options.area))
            this.#leave = () => areas.delete(options.area)
        }
        this.#machine = new UpdateMachine({ seed: environment.random(), ...given(options) })
        this.#following = followingOf(client)
        this.#gate = options.gate ?? gateOf(client)
        this.#requests = new MachineRequests(client, options, this.#following, this.#gate, input => this.#send(input))
        this.#screens = options.screens?.(input => this.#reloadedByScreens(input)) ?? null
        this.#screens?.useGate?.(this.#gate, client._tokens)
        if (this.#screens) {
            this.#screens.onShown = shown => {
                this.#shownState = shown
                const { isComplete, hasFailed } = shown
                this.#send({ shown: { isComplete, hasFailed } })
            }
        }
        if (this.#store) {
            this.#lists = this.#screens?._keepLists?.({
                environment, store: () => this.#store, area: options.area,
                finger: () => this.#isFingerHeld ? this.#machine.view.metadata.finger : undefined,
            })
        }
        this.#send({ start: {} })
        const ends = [
            client.watch(state => this.#surroundings(state)),
            client.watchVisibility?.(page => {
                this.#page = page
                // A page that is hidden may end without another event.
                if (!page.isVisible) this.#lists?.keep()
                this.#surroundings(client.state)
            }),
        ]
        this.#unwatch = () => { for (const end of ends) end?.() }
        // A client that was closed notifies nobody.
        if (client.state.ended) this.#surroundings(client.state)
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
    get end() { return this.#machine.view.end }

    /** Whether state goes on in memory, because its store takes or gives nothing. */
    get isInMemory() { return Boolean(this.#options.store) && (!this.#store || this.#machine.view.isInMemory) }

    /** What could not be reloaded and is old, `{thing, types, failure}`: its entry stays what it was. */
    get knownStale() { return this.#machine.view.metadata.knownStale ?? [] }

    /** All that can be seen here: the same object until something has changed. */
    getSnapshot() { return this.#snapshot.get() }

    /** Calls `listener()` after each change of what can be seen here; returns what ends that. */
    subscribe(listener) { return this.#snapshot.subscribe(listener) }

    /** The same, by its older name. */
    watch(listener) { return this.subscribe(listener) }

    /** Somebody pulled the screen. Fulfilled when all of it is there (true), or cannot be had now. */
    refresh() {
        this.#gate.refresh()
        this.#client.refresh?.()
        this.#screens?.retryNow?.()
        this.#send({ refresh: {} })
        return new Promise(resolve => {
            const look = () => {
                let ended = this.#isClosed ? false : refreshEnded(this.#machine.view)
                const { isComplete, hasFailed, isLoading } = this.#shownState
                if (ended && !isComplete) ended = undefined
                // The machine has everything of its own, but a screen cannot get what it shows.
                if (ended === undefined && "live" in this.state && hasFailed && !isLoading) ended = false
                if (ended === undefined) return
                this.#refreshes.delete(look)
                resolve(ended)
            }
            this.#refreshes.add(look)
            look()
        })
    }

    /** Somebody looks at a thing: where it is known to be stale, it is asked for now. */
    check(thing) { this.#send({ check: { thing } }) }

    /** There is a new token, for example because the user has signed in again. A connection that waits for it begins too. */
    tokenChanged() {
        this.#requests.forgetToken()
        this.#screens?.tokenChanged?.()
        if (this.#client.state.unauthorized) this.#client.start()
        this.#send({ token: { isValid: true } })
    }

    /** Ends it. What is on its way is given up, and nothing is written any more. */
    close() {
        if (this.#isClosed) return
        this.#isClosed = true
        this.#leave()
        this.#closing.abort()
        this.#unwatch?.()
        this.#screens?.close()
        this.#lists?.close()
        this.#following.unfollow(this)
        this.#requests.close()
        this.#snapshot.close()
        for (const look of this.#refreshes) look()
        this.#client.environment.clearTimer(this.#timer)
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
        // A stored state is trusted before there is a stream, too.
        const isHeld = { stale: false, registerFailed: false, live: true, pollFailed: true, idle: true }[caseOf(this.state)]
        if (isHeld !== undefined) this.#holdFinger(isHeld)
        this.#screens.setLive("connected" in this.freshness)
    }

    /** Tells the screens that there is a finger; `isNew`: another one than before. */
    #holdFinger(isHeld, isNew = false) {
        if (isHeld === this.#isFingerHeld && !isNew) return
        this.#isFingerHeld = isHeld
        this.#screens?.setFinger(isHeld)
    }

    #wind() {
        const at = this.#isClosed ? null : this.#machine.wakeAt
        this.#timer = setDue(this.#client.environment, this.#timer, at, () => this.#send({ wake: {} }))
    }

    #show() {
        for (const look of [...this.#refreshes]) look()
        if (this.#isClosed) return
        const { state, freshness, sign, metadata: { lastSuccess }, isUnauthorized, end } = this.#machine.view
        const { entries, isLoaded, knownStale, storeError, isInMemory } = this
        const before = this.getSnapshot(), now = this.#snapshot.set(
            { entries, isLoaded, state, freshness, sign, lastSuccess, knownStale, isUnauthorized, end, storeError, isInMemory })
        if (now.state !== before?.state) this.#debug(" is", state)
        if (now.freshness !== before?.freshness) this.#debug(" is", freshness)
    }

    #debug(verb, decision) { this.#client.environment.debug?.(`machine ${this.#options.area}${verb}`, decision) }

    /** What becomes of the connection says whether there is a network, a token and somebody who looks. */
    #surroundings(state) {
        if (this.#following._isRestarting) return
        const isIdle = "idle" in state || !this.#page.isForeground
        const hasNetwork = state.waiting?.why !== "offline"
        this.#screens?.setVisible(!isIdle && this.#page.isVisible)
        if (state.ended) this.#send({ ended: state.ended })
        this.#send(isIdle ? { background: {} } : { foreground: {} })
        if (isIdle || state.ended) {
            this.#isConnected = false
            return
        }
        if (hasNetwork && !this.#hasNetwork) {
            this.#requests.networkIsBack()
            this.#screens?.networkIsBack?.()
        }
        this.#hasNetwork = hasNetwork
        this.#send({ network: { isSatisfied: hasNetwork } })
        if (state.unauthorized) this.#send({ token: { isValid: false } })
        else if (this.isUnauthorized && state.connected) this.#send({ token: { isValid: true } })
        // It waits for a stream, and the stream is open now.
        if (state.connected && !this.#isConnected && "pollFailed" in this.state) this.#send({ refresh: {} })
        this.#isConnected = "connected" in state
    }

    #carryOut(effect) {
        const name = caseOf(effect)
        const given = effect[name]
        this.#debug("", effect)
        switch (name) {
        case "load": return void this.#load()
        case "commit": return void this.#commit(given)
        case "follow":
            this.#holdFinger(true)
            this.#lists?.restore()
            return this.#following.follow(this, given.since, ([[name, values]]) => (
                this.#send({ [name]: { ...values, number: given.number } })))
        case "unfollow": return this.#following.unfollow(this)
        case "reload":
            if (this.#screens) return this.#reloadByScreens(given)
            break
        case "requestSnapshot":
            // What was known without this cursor is old; what arrives from now on is not.
            this.#lists?.restore()
            this.#holdFinger(true, true)
            break
        case "dropReloads": this.#screens?.dropReloads()
        }
        // The requests have a method for every other effect.
        this.#requests[name](given)
    }

    // MARK: What it asks for

    /** Until the store has answered nothing is known: one that fails is asked again, and then left. */
    async #load() {
        const { environment } = this.#client
        let stored
        try {
            stored = await ofStore(environment, () => this.#store?.load(this.#options.area), this.#closing.signal)
            this.storeError = null
        } catch (error) {
            if (this.#isClosed) return
            if (this.#storeFailed(error)) {
                this.#send({ loadFailed: {} })
                // The lists stay out: nobody knows how old they are.
                if (this.isLoaded) this.#storedIsRead()
                return this.#show()
            }
        }
        if (!this.#isClosed) await this.#lists?.load(stored?.metadata.finger)
        if (this.#isClosed) return
        this.#entries = stored?.entries ?? new Map()
        this.#send({ loaded: stored ? { stored: stored.metadata } : {} })
        this.#storedIsRead()
    }

    #storedIsRead() {
        this.#lists?.restore()
        this.#screens?.storedIsRead?.()
    }

    /** Whether the store is asked again. One of another account or schema does not come back: better none than nothing new. */
    #storeFailed(error) {
        this.storeError = error
        if (isGone(error)) this.#store = null
        return this.#store !== null
    }

    #reloadByScreens({ number, thing, types }) {
        this.#requests.found.ask(number, thing)
        this.#screens.reload({ number, thing, types })
    }

    /** What became of a reload by screens; a fetch of theirs may answer several. */
    #reloadedByScreens({ reloaded, reloadFailed }) {
        if (this.#isClosed) return
        const { found } = this.#requests
        if (reloadFailed) {
            found.failed(reloadFailed.number)
            return this.#send({ reloadFailed })
        }
        const { number, outcome, value, isAsBefore } = reloaded
        if (isAsBefore) found.stays(number)
        else found.answered(number, value, outcome === "value" && value === undefined)
        this.#send({ reloaded: { number, outcome } })
    }

    // MARK: State and cursor held move together

    async #commit({ number, metadata, isSnapshot, changes }) {
        const snapshot = isSnapshot ? this.#requests.snapshot : null
        const { next, put, remove, times, forget } = this.#requests.found.applied(changes, snapshot?.entries ?? this.#entries)
        try {
            const { area, tables, also } = this.#options
            const written = {
                metadata, put, remove, isWhole: isSnapshot, whole: () => [...next], tables,
                also: also && ((transaction, isWhole) => also(transaction, {
                    isWhole, put: isWhole ? [...next] : put, remove: isWhole ? [] : remove,
                })),
            }
            const work = () => this.#machine.view.isInMemory ? null : this.#store?.commit(area, written)
            await ofStore(this.#client.environment, work, this.#closing.signal)
        } catch (error) {
            if (this.#isClosed) return
            if (this.#storeFailed(error)) {
                this.#send({ commitFailed: { number } })
                return this.#show()
            }
        }
        if (this.#isClosed) return
        if (this.#store && !this.isInMemory) this.storeError = null
        if (isSnapshot || put.length > 0 || remove.length > 0) this.#entries = next
        forget()
        if (this.#requests.snapshot === snapshot) this.#requests.snapshot = null
        this.#send({ committed: { number } })
        this.#lists?._keepLater()
        this.#show()
        if (times.length > 0 && !this.#isClosed) callApp(() => this.#options.shown?.(times))
    }
}
