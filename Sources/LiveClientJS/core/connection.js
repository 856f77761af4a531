// The one connection of a client: when to try, with which token and transport, and when to give up (ConnectionMachine.swift).

import { ConnectionStream } from "./connection-stream.js"
import { given } from "./messages.js"
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
        this._now = now
        this._effects = []
        this.#take(name, values)
        this.#remember()
        const effects = this._effects
        this._effects = []
        return effects
    }

    #remember() {
        const text = JSON.stringify(this._ladder.known)
        if (text === this.#remembered) return
        if (this.#remembered !== null) this._emit("remember", { known: JSON.parse(text) })
        this.#remembered = text
    }

    #take(name, values) {
        switch (name) {
        case "start": return this.#start()
        case "stop": return this.#stop()
        case "background": return this.#enterBackground()
        case "foreground": return this.#enterForeground()
        case "refresh": return this.#refresh()
        case "path": return this.#changePath(values.isSatisfied, values.network ?? "")
        case "token": return this._receiveToken(values)
        case "tokenFailed": return this._failToken(values)
        case "opened": return this._isOpening(values.id) && this._isStream ? this._open(values.id) : undefined
        case "alive": return this._receiveSign(values.id)
        case "polled": return this._receivePoll(values)
        case "expiring": return this._renew(values.id)
        case "refused": return this.#refuse(values)
        case "closed": return this.#close(values)
        case "lost": return this._lose(values)
        case "wake": return this._wake()
        }
    }

    get view() {
        const phase = this._phase
        const isOpen = phase.name === "open"
        return { state: this.#state(), way: isOpen ? phase.way : this._ladder.way, isTested: isOpen && phase.testUntil !== null }
    }

    #state() {
        const { name, until, why, error } = this._phase
        if (name === "open") return { connected: {} }
        if (name !== "fetching" && name !== "opening") return { [name]: given({ until, why, error }) }
        return { connecting: { since: this._downSince ?? this._now, attempt: this._attempt } }
    }

    // What the app and its device do

    #start() {
        const isFirst = this._phase.name === "idle" && !this._isStarted
        if (this._phase.name === "unauthorized") this._forgiveToken()
        else if (!isFirst) return
        this._isStarted = true
        this._begin()
    }

    #stop() {
        if (this._phase.name === "ended") return
        this.#drop()
        this._end({ stopped: {} })
    }

    /** Ends what is open with a word, and what is being opened without one. */
    #drop() {
        const phase = this._phase
        if (phase.name === "opening") this._emit("abandon", { id: phase.id })
        if (phase.name !== "open") return
        this._emit("close", { id: phase.id })
        this._leave(phase, false)
    }

    #enterBackground() {
        this._isForeground = false
        if (["unauthorized", "ended"].includes(this._phase.name)) return
        this.#drop()
        this._phase = { name: "idle" }
        this._downSince = null
        this._attempt = 0
    }

    #enterForeground() {
        if (this._isForeground) return
        this._isForeground = true
        // A person is back: one more attempt, with another token.
        if (this._phase.name === "unauthorized") this._refuseToken("refused")
        else if (this._phase.name !== "idle" || !this._isStarted) return
        this._beginSoon()
    }

    #changePath(isSatisfied, network) {
        const isOther = network !== this._ladder.network && isSatisfied
        const isBack = isSatisfied && !this._isOnline
        this._isOnline = isSatisfied
        if (isOther) {
            this._ladder.enter(network)
            this._retry.reset()
        }
        const phase = this._phase
        if (phase.name === "open") return this.#test(phase)
        if (phase.name === "waiting") return this._beginSoon()
        if (!["fetching", "opening"].includes(phase.name) || !isOther && !isBack && isSatisfied) return
        if (phase.name === "opening") this._emit("abandon", { id: phase.id })
        this._beginSoon()
    }

    /** A person wants to see what is new: no wait holds that up, and what is open is tested. */
    #refresh() {
        if (this._phase.name === "open") return this.#test(this._phase)
        if (this._phase.name !== "waiting") return
        this._notBefore = null
        this._beginSoon()
    }

    /** The path under a stream has changed: a ping says whether it still carries. What cannot be pinged is opened again. */
    #test(stream) {
        if (stream.way !== "webSocket") {
            this._emit("abandon", { id: stream.id })
            this._leave(stream, false)
            return this._beginSoon()
        }
        // Of several changes the first sets the end, so a path that flaps does not delay it.
        stream.testUntil ??= this._now + testLimit
        this._emit("ping", { id: stream.id })
    }

    // What an ending means

    /** The stream is over: what it teaches about ways and failures. Whether the next way is to be tried at once. */
    _leave(stream, isCut) {
        const lived = this._now - stream.openedAt
        if (lived >= Retry.calm) {
            this._retry.reset()
            this._refusal = "none"
        }
        this._downSince = this._now
        if (!this._isCurrent(stream)) return false
        return this._ladder.ended(lived, isCut, this._now)
    }

    /** Whether something is known of this number, and it is under way. A stream is left. */
    #leaveAny(id) {
        const stream = this._stream(id)
        if (!stream) return this._isOpening(id)
        this._leave(stream, false)
        return true
    }

    #refuse({ id, status, code, retryAfter }) {
        if (!this.#leaveAny(id)) return
        if (status === 401) return this.#refuseToken("refused")
        const isAsked = [429, 503].includes(status) && typeof retryAfter === "number"
        if (isAsked) return this._pause(this._retry.waitAfter(retryAfter), "asked")
        if (this.#isSwallowed(status, code) && this._ladder._stepDown(this._now)) return this._begin()
        // Without a code it was a balancer, which has no route in the minute of a deploy and signs nobody out.
        if (code !== undefined && finalStatuses.includes(status)) return this._end({ refused: { status, code } })
        // Another server answered in between: for a server that is away, or because it does not know this transport.
        if (code === undefined && this._ladder.failed(1, this._now)) return this._begin()
        this._backOff()
    }

    /** An answer that no Livegate gives to this way: somebody between took the upgrade off, or answered himself. */
    #isSwallowed(status, code) {
        const isForeign = code === undefined
        if (this._ladder.way === "webSocket") {
            return code === "bad_upgrade" || isForeign && status >= 200 && status < 500 && ![408, 429].includes(status)
        }
        return this._ladder.way === "eventStream" && isForeign && status >= 200 && status < 400
    }

    /** The first time another token is fetched at once; when that is refused too, before the calm, nobody is let in. */
    #refuseToken(refusal) {
        const isFirst = this._refusal === "none"
        this._refuseToken(refusal)
        if (isFirst) this._begin()
        else this._phase = { name: "unauthorized" }
    }

    #close({ id, code, retry }) {
        if (!this.#leaveAny(id)) return
        const advice = closeAdvice(code)
        if (advice.end) return this._end({ [advice.end]: {} })
        if (advice.token) this.#refuseToken("expired")
        else this.#comeBack(retry, advice.comeBack)
    }

    #comeBack(asked, minimum) {
        // Of several in a row only the first may be at once: a server that always sends 0 is not asked without a pause.
        const { failures } = this._retry, isFirst = asked === undefined || failures === 0
        const least = isFirst ? 0 : Retry.minimum * 2 ** (Math.min(failures, 5) - 1)
        const wait = Math.max(this._retry.wait(asked), minimum, least)
        this._pause(wait, asked !== undefined || minimum > 0 ? "asked" : "retry")
    }

    _lose({ id, how }) {
        const stream = this._stream(id)
        if (stream) return this.#loseStream(stream, how)
        if (!this._isOpening(id)) return
        if (how === "blocked" && this._isStream && this._ladder._stepDownGuessing(this._now)) return this._begin()
        const weights = { unreachable: this._ladder._isTrial ? 1 : 0, cut: 1, unknown: 1 }
        if (this._ladder.failed(weights[how] ?? maximumStrikes, this._now)) this._begin()
        else this._backOff()
    }

    #loseStream(stream, how) {
        if (stream.poll?.until !== undefined && stream.poll.wait > 0 && how !== "unreachable") {
            // Not a failure yet: the next poll, which does not wait, shows whether the server answers.
            if (stream.network === this._ladder.network) this._ladder._waitCut(this._now - stream.poll.since, this._now)
            this._leave(stream, false)
            return this._beginSoon()
        }
        if (this._leave(stream, how !== "broken")) this._begin()
        else this._backOff()
    }
}
