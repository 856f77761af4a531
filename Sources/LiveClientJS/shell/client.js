// The public face of the module: one client for any number of readers.

import { LivegateError } from "../core/errors.js"
import { bindMethods } from "../core/bound.js"
import { Addresses, askSync, lateAnswer } from "./requests.js"
import { inTime, systemEnvironment, tokenLimit, watchPage, within } from "./environment.js"
import { writeDecision } from "./debug.js"
import { callApp, tellFailure } from "./failures.js"
import { Link } from "./link.js"
import { Snapshot } from "./snapshots.js"
import { TokenSource } from "./tokens.js"
import { UpdateQueue } from "./updates.js"

/** How long a page may be hidden before its connection is closed, in ms: who changes tabs for a moment misses nothing. */
const hiddenGrace = 30_000

function tokenSource({ token, cookie, onError }, environment, closing, refuseClosed) {
    if (cookie) return null
    const late = () => new LivegateError("unreachable", "token: no answer within 30 s")
    const give = typeof token === "string" ? () => token : token
    if (!token || typeof give !== "function") throw new TypeError("token: no text, no function that gives one, and no cookie: true")
    return new TokenSource(async question => {
        refuseClosed()
        // Null means a cookie, here and for all that ask.
        try {
            return await within(environment, tokenLimit, () => give(question), late, closing) ?? undefined
        } catch (error) {
            if (!closing.aborted) tellFailure(onError, { call: "token", name: "client", error })
            throw error
        }
    })
}

/** Begins a client; see livegate.d.ts for `options`. */
export function connect(options) { return new Client(options) }

class Client {
    #options
    #link
    #subscribers = new Set()
    #queues = new Set()
    #lookers = new Set()
    #page = { isVisible: true, isForeground: true }
    #unwatch
    #hiding = null
    #closing = new AbortController()
    #connection = new Snapshot()
    /** The state as a snapshot. */
    connection = { subscribe: this.#connection.subscribe, getSnapshot: () => this.#connection.get() }
    #isClosing = false
    /** The app has been told of the end, and is called no more. */
    #isClosed = false

    constructor(options) {
        bindMethods(this)
        const { url, share, account, entities = [] } = options
        if (entities.length > 16 || entities.some(name => !/^[^,]+$/.test(name))) {
            throw new TypeError("entities: at most 16 names without commas")
        }
        const environment = { ...systemEnvironment(), ...options.environment }
        const fetch = async (url, settings) => {
            this.#refuseClosed()
            return environment.fetch(url, settings)
        }
        this.environment = { ...environment, fetch, debug: options.debug ? writeDecision : undefined }
        this._addresses = new Addresses(url)
        this.account = account ?? null
        this._onError = options.onError
        const tokens = tokenSource(options, this.environment, this.#closing.signal, () => this.#refuseClosed())
        this._tokens = tokens
        const token = tokens && (question => tokens.ask(question))
        this.#options = { ...options, entities, token, _usesTicket: options.ticket === true }
        const canShare = this.environment.locks && this.environment.BroadcastChannel
        // Tabs are a separate part: a page that shares nothing does not load them.
        if (share && typeof share !== "function") throw new TypeError("share: give it allTabs, of livegate/tabs")
        if (share && account === undefined) throw new TypeError("share: needs account, so that two people never share")
        const owner = { deliver: update => this.#deliver(update), changed: view => this.#changed(view), closed: () => this.#unwatch?.() }
        const open = share && canShare ? share : (...given) => new Link(...given)
        this.#link = open(this.environment, this._addresses, this.#options, owner)
        this.#connection.set(this.state)
        this.#unwatch = watchPage(this.environment.page, this.#reactions(), options.network)
        this.#link.handle({ start: {} })
    }

    /** What becomes of the page decides about the connection. */
    #reactions() {
        const { setTimer } = this.environment
        const grace = this.#options.hiddenGrace ?? hiddenGrace
        return {
            visible: isVisible => {
                this.#show()
                this.#look({ isVisible })
                if (isVisible) return this.enterForeground()
                if (Number.isFinite(grace)) this.#hiding = setTimer(() => this.enterBackground(), grace)
            },
            frozen: () => {
                this.#show()
                this.#look({ isVisible: false })
                this.#link.freeze?.()
                this.enterBackground()
            },
            resumed: isVisible => {
                this.#look({ isVisible })
                this.#link.resume?.(isVisible)
                // A page that is thawed only to do something is still hidden.
                if (isVisible) this.enterForeground()
            },
            path: (isSatisfied, network) => this.pathChanged({ isSatisfied, network }),
        }
    }

    #refuseClosed() {
        if (this.#isClosed) throw new LivegateError("closed", "the client is closed")
    }

    #show() {
        this.environment.clearTimer(this.#hiding)
        this.#hiding = null
    }

    get state() { return this.#link.view.state }
    get way() { return this.#link.view.way }
    get isLeader() { return this.#link.isLeader ?? true }
    get cursor() { return this.#link.cursor }
    get entities() { return this.#options.entities }

    #deliver(update) {
        for (const listener of [...this.#subscribers]) this.#call(listener, update)
    }

    #changed(view) {
        const before = this.#connection.get()
        if (this.#connection.set(view.state) !== before) this.environment.debug?.("connection is", view.state)
        if (!view.state.ended) return
        // A leading tab keeps its lock for a moment.
        if (!this.#link.isLeader) this.#unwatch?.()
        for (const queue of this.#queues) this.#end(queue)
    }

    #end(queue) {
        const { error } = this.state.ended
        const isFault = !("stopped" in error || "done" in error)
        queue.end(isFault ? endError(error) : null)
    }

    #call(listener, value) { if (!this.#isClosed) callApp(listener, value) }

    subscribe(listener) {
        this.#subscribers.add(listener)
        return () => { this.#subscribers.delete(listener) }
    }

    watch(listener) {
        const tell = () => this.#call(listener, this.state)
        tell()
        return this.#connection.subscribe(tell)
    }

    /** Calls `listener({isVisible, isForeground})`, of this page alone, now and after each change; returns what ends that. */
    watchVisibility(listener) {
        this.#lookers.add(listener)
        this.#call(listener, this.#page)
        return () => { this.#lookers.delete(listener) }
    }

    #look(change) {
        const page = { ...this.#page, ...change }
        if (page.isVisible === this.#page.isVisible && page.isForeground === this.#page.isForeground) return
        this.#page = page
        for (const listener of [...this.#lookers]) this.#call(listener, page)
    }

    updates() {
        const queue = new UpdateQueue(() => {
            leave()
            this.#queues.delete(queue)
        }, this.cursor)
        const leave = this.subscribe(update => queue.push(update))
        this.#queues.add(queue)
        if (this.state.ended) this.#end(queue)
        return queue
    }

    async token({ fresh = false, ...refused } = {}) {
        this.#refuseClosed()
        return this._tokens && this._tokens.ask({ fresh, ...refused })
    }

    sync({ signal, ...question } = {}) { return this._whileOpen(signal, inner => this.#sync({ ...question, signal: inner })) }

    /** What `work(signal)` gives; its signal aborts with this one, and with the client's end. */
    _whileOpen(signal, work) { return inTime(this.environment, work, lateAnswer, signal, this.#closing.signal) }

    async #sync(asked) {
        const { entities, asksForEventIDs } = this.#options, { signal } = asked
        for (let isAgain = false, token; ; isAgain = true) {
            token = await this.token({ fresh: isAgain, replacing: token ?? undefined })
            if (signal.aborted) throw signal.reason
            if (token !== null && !token) throw new LivegateError("unauthorized", "there is no token: nobody is signed in")
            const answer = await askSync(this.environment, this._addresses, { ...asked, token, entities, asksForEventIDs })
            if (answer.page || answer.resync) return answer
            if (signal.aborted) throw signal.reason
            if (answer.lost) throw new LivegateError("unreachable", "the server was not reached")
            if (isAgain || answer.refused.status !== 401) throw refusalError(answer.refused)
        }
    }

    /**
     * Goes on from another cursor. Whoever reads has what was before the old one: he is told to fetch, but for the listener
     * `except`, which asks for this because it has fetched already.
     */
    restart({ since = null, except } = {}) {
        if (this.#isClosed) return
        const before = this.cursor
        this.#link.restart(since)
        // Without a cursor the stream itself reports where it begins.
        if (since === null || since === before) return
        for (const listener of [...this.#subscribers]) {
            if (listener !== except) this.#call(listener, { resync: { why: "start", at: since } })
        }
    }

    start() { this.#link.handle({ start: {} }) }

    /** A person wants to see what is new: ends each wait, and tests what is open. */
    refresh() { this.#link.handle({ refresh: {} }) }

    enterBackground() {
        this.#look({ isForeground: false })
        this.#link.handle({ background: {} })
    }

    enterForeground() {
        this.#look({ isForeground: true })
        this.#link.handle({ foreground: {} })
    }

    pathChanged({ isSatisfied, network = "" }) { this.#link.handle({ path: { isSatisfied, network } }) }

    close() {
        if (this.#isClosing) return
        this.#isClosing = true
        this.#show()
        this.#unwatch?.()
        this.#link.handle({ stop: {} })
        this.#isClosed = true
        this.#connection.close()
        const error = new LivegateError("closed", "the client is closed")
        this.#closing.abort(error)
        for (const queue of this.#queues) queue.end(null)
    }
}

function refusalError({ status, code, retryAfter }) {
    const mayPass = retryAfter !== undefined || status >= 500 || [408, 429].includes(status)
    const kind = status === 401 ? "unauthorized" : mayPass ? "retry" : "rejected"
    return new LivegateError(kind, `the server refused: status ${status}${code ? ", " + code : ""}`, { status, code, retryAfter })
}

function endError(error) {
    if (error.revoked) return new LivegateError("revoked", "the access was revoked")
    return refusalError(error.refused)
}
