// The one connection of a client: when to try, with which token, by which way, and when to give up (ConnectionMachine.swift).

import { ConnectionStream } from "./connection-stream.js"
import { closeAdvice, maximumStrikes } from "./ways.js"
import { Retry, finalStatuses } from "./retry.js"

/** From a ping after a change of path to whatever comes. */
const testLimit = 2_000

/**
 * Decides about a connection. Its owner carries out the effects; each attempt has an `id` and each wish for a token a `request`;
 * what comes of them comes back with that number, and what comes late changes nothing. The owner keeps the cursor.
 */
export class ConnectionMachine extends ConnectionStream {
    /** What the owner keeps of the ladder, as text. */
    #remembered = null

    constructor(settings) {
        super(settings)
        this.#remember()
    }

    handle(input, now) {
        const [[name, values]] = Object.entries(input)
        this.now = now
        this.effects = []
        this.#take(name, values)
        this.#remember()
        const effects = this.effects
        this.effects = []
        return effects
    }

    #remember() {
        const known = this.ladder.known.map(record => ({ ...record }))
        const text = JSON.stringify(known.map(({ network, way, wait, upAt }) => [network, way, wait, upAt]))
        if (text === this.#remembered) return
        const isFirst = this.#remembered === null
        this.#remembered = text
        if (!isFirst) this.emit("remember", { known })
    }

    #take(name, values) {
        switch (name) {
        case "start": return this.#start()
        case "stop": return this.#stop()
        case "background": return this.#enterBackground()
        case "foreground": return this.#enterForeground()
        case "path": return this.#changePath(values.isSatisfied, values.network ?? "")
        case "token": return this.receiveToken(values)
        case "tokenFailed": return this.failToken(values)
        case "opened": return this.isOpening(values.id) && this.isStream ? this.open(values.id) : undefined
        case "alive": return this.receiveSign(values.id)
        case "polled": return this.receivePoll(values)
        case "expiring": return this.renew(values.id)
        case "refused": return this.#refuse(values)
        case "closed": return this.#close(values)
        case "lost": return this.lose(values)
        case "wake": return this.wake()
        }
    }

    get view() {
        const phase = this.phase
        const isOpen = phase.name === "open"
        return { state: this.#state(), way: isOpen ? phase.way : this.ladder.way, isTested: isOpen && phase.testUntil !== null }
    }

    #state() {
        const phase = this.phase
        switch (phase.name) {
        case "fetching":
        case "opening": return { connecting: { since: this.downSince ?? this.now, attempt: this.attempt } }
        case "open": return { connected: {} }
        case "waiting":
            return { waiting: phase.until === null ? { why: phase.why } : { until: phase.until, why: phase.why } }
        case "ended": return { ended: { error: phase.error } }
        default: return { [phase.name]: {} }
        }
    }

    // What the app and its device do around it

    #start() {
        const isFirst = this.phase.name === "idle" && !this.isStarted
        if (this.phase.name === "unauthorized") this.forgiveToken()
        else if (!isFirst) return
        this.isStarted = true
        this.begin()
    }

    #stop() {
        if (this.phase.name === "ended") return
        this.#drop()
        this.end({ stopped: {} })
    }

    /** Ends what is open with a word, and what is being opened without one. */
    #drop() {
        const phase = this.phase
        if (phase.name === "opening") this.emit("abandon", { id: phase.id })
        if (phase.name !== "open") return
        this.emit("close", { id: phase.id })
        this.leave(phase, false)
    }

    #enterBackground() {
        this.isForeground = false
        if (["unauthorized", "ended"].includes(this.phase.name)) return
        this.#drop()
        this.phase = { name: "idle" }
        this.downSince = null
        this.attempt = 0
    }

    #enterForeground() {
        if (this.isForeground) return
        this.isForeground = true
        // Somebody is there again: one more attempt, with another token.
        if (this.phase.name === "unauthorized") this.refuseToken("refused")
        else if (this.phase.name !== "idle" || !this.isStarted) return
        this.beginSoon()
    }

    #changePath(isSatisfied, network) {
        const isOther = network !== this.ladder.network && isSatisfied
        const isBack = isSatisfied && !this.isOnline
        this.isOnline = isSatisfied
        if (isOther) {
            this.ladder.enter(network)
            this.retry.reset()
        }
        const phase = this.phase
        if (phase.name === "open") return this.#test(phase)
        if (phase.name === "waiting") return this.beginSoon()
        if (!["fetching", "opening"].includes(phase.name) || !isOther && !isBack && isSatisfied) return
        if (phase.name === "opening") this.emit("abandon", { id: phase.id })
        this.beginSoon()
    }

    /** The path under a stream has changed: a ping says whether it still carries. What cannot be pinged is opened again. */
    #test(stream) {
        if (stream.way !== "webSocket") {
            this.emit("abandon", { id: stream.id })
            this.leave(stream, false)
            return this.beginSoon()
        }
        // Of several changes the first sets the end: a path that flaps does not put it off.
        stream.testUntil ??= this.now + testLimit
        this.emit("ping", { id: stream.id })
    }

    // What an ending means

    /** The stream is over: what it teaches about ways and failures. Whether the next way is to be tried at once. */
    leave(stream, isCut) {
        const lived = this.now - stream.openedAt
        if (lived >= Retry.calm) {
            this.retry.reset()
            this.refusal = "none"
        }
        this.downSince = this.now
        if (!this.isCurrent(stream)) return false
        return this.ladder.ended(lived, isCut, this.now)
    }

    /** Whether something is known of this number, and it is under way. A stream is left. */
    #leaveAny(id) {
        const stream = this.stream(id)
        if (!stream) return this.isOpening(id)
        this.leave(stream, false)
        return true
    }

    #refuse({ id, status, code, retryAfter }) {
        if (!this.#leaveAny(id)) return
        if (status === 401) return this.#refuseToken("refused")
        const isAsked = [429, 503].includes(status) && typeof retryAfter === "number"
        if (isAsked) return this.pause(this.retry.waitAfter(retryAfter), "asked")
        if (this.#isSwallowed(status, code) && this.ladder.stepDown(this.now)) return this.begin()
        // Without a code it was a balancer, which has no route in the minute of a deploy and signs nobody off.
        if (code !== undefined && finalStatuses.includes(status)) return this.end({ refused: { status, code } })
        // Somebody between who answers for a server that is away; or who does not know this way.
        if (code === undefined && this.ladder.failed(1, this.now)) return this.begin()
        this.backOff()
    }

    /** An answer that no Livegate gives to this way: somebody between took the upgrade off, or answered himself. */
    #isSwallowed(status, code) {
        const isForeign = code === undefined
        if (this.ladder.way === "webSocket") {
            return code === "bad_upgrade" || isForeign && status >= 200 && status < 500 && ![408, 429].includes(status)
        }
        return this.ladder.way === "eventStream" && isForeign && status >= 200 && status < 400
    }

    /** The first time another token is fetched at once; when that is refused too, before the calm, nobody is let in. */
    #refuseToken(refusal) {
        const isFirst = this.refusal === "none"
        this.refuseToken(refusal)
        if (isFirst) this.begin()
        else this.phase = { name: "unauthorized" }
    }

    #close({ id, code, retry }) {
        if (!this.#leaveAny(id)) return
        const advice = closeAdvice(code)
        if (advice.end) return this.end({ [advice.end]: {} })
        if (advice.token) this.#refuseToken("expired")
        else this.#comeBack(retry, advice.comeBack)
    }

    #comeBack(asked, minimum) {
        const wait = Math.max(this.retry.wait(asked), minimum)
        this.pause(wait, asked !== undefined || minimum > 0 ? "asked" : "retry")
    }

    lose({ id, how }) {
        const stream = this.stream(id)
        if (stream) return this.#loseStream(stream, how)
        if (!this.isOpening(id)) return
        if (how === "blocked" && this.isStream && this.ladder.stepDownGuessing(this.now)) return this.begin()
        const weights = { unreachable: this.ladder.isTrial ? 1 : 0, cut: 1, unknown: 1 }
        if (this.ladder.failed(weights[how] ?? maximumStrikes, this.now)) this.begin()
        else this.backOff()
    }

    #loseStream(stream, how) {
        if (stream.poll?.until !== undefined && stream.poll.wait > 0 && how !== "unreachable") {
            // Not a failure yet: the next poll, which does not wait, says whether the server is there.
            if (stream.network === this.ladder.network) this.ladder.waitCut(this.now - stream.poll.since, this.now)
            this.leave(stream, false)
            return this.beginSoon()
        }
        if (this.leave(stream, how !== "broken")) this.begin()
        else this.backOff()
    }
}
