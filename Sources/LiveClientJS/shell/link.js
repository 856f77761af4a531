// Carries out what ConnectionMachine decides: one connection, its tokens, its timers, its cursor.

import { ConnectionMachine } from "../core/connection.js"
import { given } from "../core/messages.js"
import { connectionWays } from "../core/ways.js"
import { keepWays, recallWays, setDue, sleepLook } from "./environment.js"
import { isSignedOut } from "./failures.js"
import { askSync, openEventStream } from "./requests.js"
import { openWebSocket } from "./websocket.js"

/** So often a stream has a word of the server, in ms; so much later it is lost. */
const standardBeat = 25_000, beatPatience = 5_000
/** As a server takes it: 5 s to 5 min. */
const beatSeconds = beat => Math.min(Math.max(Math.round(beat / 1_000), 5), 300)
/** `navigator.onLine` is wrong at times: without a network an attempt is made so often, in ms. */
const offlineRetry = 60_000

/** Delivers updates and states to its owner: `owner.deliver(update)`, `owner.changed(view)`. */
export class Link {
    #environment
    #addresses
    #options
    #owner
    #machine
    #timer = null
    #token = null
    /** What is open or being opened: its number, way and transport. One at a time. */
    #current = null
    #announced = null
    #isLive = false
    #hasRestarted = false
    #shown = ""

    /** `options`: token (a function, or null: a cookie), since, entities, _usesTicket, ways, pollInterval. */
    constructor(environment, addresses, options, owner) {
        this.#environment = environment
        this.#addresses = addresses
        this.#options = options
        this.#owner = owner
        this.cursor = options.since ?? null
        const ways = (options.ways ?? connectionWays).filter(way => way !== "webSocket" || environment.WebSocket)
        const { seed = environment.random(), pollInterval, beat = standardBeat } = options
        // The server sends something each heartbeat interval.
        const silenceLimit = beatSeconds(beat) * 1_000 + beatPatience
        this.#machine = new ConnectionMachine(
            given({ seed, ways, known: recallWays(environment.storage), silenceLimit, pollInterval, offlineRetry }))
    }

    get view() { return this.#machine.view }

    /** Hands an input to the machine and carries out what it answers. */
    handle(input) {
        for (const effect of this.#machine.handle(input, this.#environment.now())) this.#carryOut(effect)
        this.#wind()
        this.#show()
    }

    /** Goes on from another cursor, on a new stream, or with a poll that does not wait for its turn. */
    restart(cursor) {
        this.cursor = cursor
        this.#isLive = false
        if (!this.#current && this.#machine.view.state.waiting?.why !== "poll") return
        // The first restart is no flapping: only now does the page know its cursor.
        if (!this.#hasRestarted) this.#machine._lastAttemptAt = null
        this.#hasRestarted = true
        this.handle({ background: {} })
        this.handle({ foreground: {} })
    }

    #wind() {
        // The machine ignores what is not due yet.
        this.#timer = setDue(this.#environment, this.#timer, this.#machine.wakeAt, () => this.handle({ wake: {} }), sleepLook)
    }

    /** Notifies of a state that differs from the last, and that the connection has gone where it has. */
    #show() {
        const view = this.#machine.view, [[name, state]] = Object.entries(view.state)
        // Between two polls nothing is lost.
        const isPolling = view.way === "polling" && (name === "connecting" || state.why === "poll")
        if (this.#announced !== null && name !== "connected" && !isPolling) {
            this.#announced = null
            this.#isLive = false
            this.#owner.deliver({ disconnected: {} })
        }
        const text = JSON.stringify(view)
        if (text === this.#shown) return
        this.#shown = text
        this.#owner.changed(view)
    }

    #announce(way) {
        if (this.#announced === way) return
        this.#announced = way
        this.#isLive = false
        this.#owner.deliver({ connected: { way } })
    }

    #carryOut(effect) {
        const [[name, values]] = Object.entries(effect)
        const isCurrent = this.#current?.id === values.id
        this.#environment.debug?.("connection", effect)
        switch (name) {
        case "fetchToken": return this.#fetchToken(values)
        case "open": return this.#open(values)
        case "poll": return this.#poll(values)
        case "close":
        case "abandon": return isCurrent ? this.#release() : undefined
        case "remember": return keepWays(this.#environment.storage, values.known)
        // A browser sends no ping. The current token is also answered. Without an answer, a new stream is opened.
        case "ping":
        case "sendToken":
            if (isCurrent && this.#token !== null) this.#current.transport.send?.(JSON.stringify({ token: this.#token }))
        }
    }

    #release() {
        const transport = this.#current?.transport
        this.#current = null
        transport?.close()
    }

    async #fetchToken({ request, fresh }) {
        const { token } = this.#options
        if (token === null) return queueMicrotask(() => this.handle({ token: { request, isSame: false } }))
        let next
        try {
            next = await token({ fresh, replacing: fresh ? this.#token ?? undefined : undefined })
        } catch (error) {
            return this.handle({ tokenFailed: { request, isUnauthorized: isSignedOut(error) } })
        }
        if (typeof next !== "string" || next === "") {
            return this.handle({ tokenFailed: { request, isUnauthorized: true } })
        }
        // It arrives so late that it was given up: the stream has another token, or will have one.
        if (!this.#machine._isFetching(request) && !this.#machine._isRenewal(request)) return
        const isSame = next === this.#token
        this.#token = next
        this.handle({ token: { request, isSame } })
    }

    #settings() {
        const { beat = standardBeat } = this.#options
        return { ...this.#options, token: this.#token, since: this.cursor, beat: beatSeconds(beat) }
    }

    #open({ id, way }) {
        const current = { id, way, transport: null }
        this.#release()
        this.#current = current
        const open = way === "webSocket" ? openWebSocket : openEventStream
        current.transport = open(this.#environment, this.#addresses, this.#settings(), event => this.#receive(current, event))
    }

    /** What a stream reports. Nothing counts of one that was closed or abandoned. */
    #receive(current, event) {
        if (this.#current !== current) return
        const [[name, values]] = Object.entries(event), { id } = current
        if (name === "message") return this.#read(current, values)
        if (["refused", "closed", "lost"].includes(name)) this.#current = null
        this.handle({ [name]: { id, ...values } })
        if (name === "opened" && this.#current === current) this.#announce(current.way)
    }

    #read(current, message) {
        const { id } = current
        if (message.expiring) return this.handle({ expiring: { id } })
        if (message.token) return
        if (!message.bye) return this.#deliver(message)
        this.#release()
        const { code = 1012, retry } = message.bye
        this.handle({ closed: { id, code, retry } })
    }

    /** Delivers an update; the cursor moves when it has been delivered. */
    #deliver(update) {
        const [inside] = Object.values(update), before = this.cursor
        if (this.cursor === null && inside.at && !update.resync) this.#owner.deliver({ resync: { why: "start", at: inside.at } })
        if (update.live) this.#isLive = true
        if (update.resync) this.#isLive = false
        this.#owner.deliver(update)
        // A listener may have continued from another cursor.
        if (inside.at && this.cursor === before) this.cursor = inside.at
    }

    async #poll({ id, wait }) {
        const abort = new AbortController()
        const way = this.#machine.view.way
        const current = { id, way, transport: { close: () => abort.abort() } }
        this.#release()
        this.#current = current
        // The machine decides when it has waited long enough.
        const question = { ...this.#settings(), wait, signal: abort.signal, isTimed: false }
        const answer = await askSync(this.#environment, this.#addresses, question)
        if (this.#current !== current) return
        if (answer.refused || answer.lost) return this.#receive(current, answer)
        const [[name, values]] = Object.entries(answer)
        this.#announce(way)
        const updates = name === "resync" ? [answer] : values.events.map(event => ({ event }))
        const isBeat = values.more || (this.#isLive && name === "page")
        updates.push({ [isBeat ? "beat" : "live"]: { at: values.at } })
        for (const update of updates) {
            // A listener may have closed the client.
            if (this.#current !== current) return
            this.#deliver(update)
        }
        if (this.#current !== current) return
        this.#current = null
        this.handle({ polled: { id, more: values.more === true } })
    }
}
