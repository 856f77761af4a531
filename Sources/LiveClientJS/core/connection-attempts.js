// Attempts, waits and tokens of a connection (ConnectionMachine.swift, which explains each rule).

import { Jitter, Retry } from "./retry.js"
import { WayLadder, connectionWays } from "./ways.js"

/** What a scenario or an app leaves out of a ConnectionMachine's settings (ConnectionMachine+Words.swift). */
const connectionDefaults = {
    seed: 1, ways: connectionWays, pollInterval: 300_000, longPollWait: 50_000, openLimit: 12_000, trialLimit: 3_000,
    silenceLimit: 35_000, known: [],
}

/** A token or an answer to a poll that takes longer than this is given up. */
export const tokenLimit = 30_000

/** The first part of ConnectionMachine: what begins, and what is waited for. */
export class ConnectionAttempts {
    constructor(settings) {
        this._settings = { ...connectionDefaults, ...settings }
        this._ladder = new WayLadder(this._settings.ways, this._settings.longPollWait, this._settings.known)
        this._retry = new Retry(this._settings.seed)
        this._jitter = new Jitter(this._settings.seed + 1)
        /** idle, fetching {request, until}, opening {id, until}, open (a stream), waiting {until, why}, unauthorized, ended {error}. */
        this._phase = { name: "idle" }
        /** Whether a token was refused, or said to have expired, since the last stream that lasted: none, refused, expired. */
        this._refusal = "none"
        /** Whether the server refused the token of the last attempt itself: it is not to be used again. */
        this._isTokenRefused = false
        this._now = 0
        this._effects = []
        this._isStarted = false
        this._isForeground = this._isOnline = true
        this._lastRequest = this._lastID = this._attempt = 0
        this._lastAttemptAt = this._downSince = this._notBefore = null
    }

    _emit(name, values) { this._effects.push({ [name]: values }) }

    /** Begins an attempt, if one may be made: in the foreground and with a network, or where it is due although there is none. */
    _begin(isDue = false) {
        if (!this._isForeground) {
            this._phase = { name: "idle" }
            return
        }
        this._downSince ??= this._now
        if (!this._isOnline && !isDue) return this._waitOffline()
        this._attempt += 1
        this._lastAttemptAt = this._now
        this._ladder.begin(this._now)
        this._lastRequest += 1
        this._phase = { name: "fetching", request: this._lastRequest, until: this._now + tokenLimit }
        this._emit("fetchToken", { request: this._lastRequest, fresh: this._isTokenRefused })
    }

    _waitUntil(until, why) { this._phase = { name: "waiting", until, why } }

    /** Begins at once, but not before the server's word, and no faster than the shortest wait: paths and pages flap. */
    _beginSoon() {
        this._downSince ??= this._now
        if (!this._isForeground || !this._isOnline) return this._begin()
        const spaced = this._lastAttemptAt === null ? this._now : this._lastAttemptAt + Retry.minimum
        if (this._notBefore !== null && this._notBefore > Math.max(this._now, spaced)) {
            return this._waitUntil(this._notBefore, "asked")
        }
        if (spaced > this._now) return this._waitUntil(spaced, "retry")
        this._begin()
    }

    /** Comes back after `wait`, when there is a network then. */
    _pause(wait, why) {
        this._downSince ??= this._now
        if (why === "asked") this._notBefore = this._now + wait
        if (this._isOnline) this._waitUntil(this._now + wait, why)
        else this._waitOffline()
    }

    /** Waits for the network. Who says that there is none may be wrong, if the settings say so. */
    _waitOffline() {
        const { offlineRetry } = this._settings
        this._waitUntil(offlineRetry ? Math.max(this._now + offlineRetry, this._notBefore ?? 0) : null, "offline")
    }

    _backOff() { this._pause(this._retry.wait(), "retry") }

    _end(error) { this._phase = { name: "ended", error } }

    /** Whether the next way is a stream, not polls. */
    get _isStream() { return ["webSocket", "eventStream"].includes(this._ladder.way) }

    _isOpening(id) { return this._phase.name === "opening" && this._phase.id === id }

    /** The open stream, where it is this one. */
    _stream(id) { return this._phase.name === "open" && this._phase.id === id ? this._phase : null }

    /** The token at hand is not to be used again: it was refused, or has expired. */
    _refuseToken(refusal) {
        this._refusal = refusal
        this._isTokenRefused = true
    }

    _forgiveToken() {
        this._refusal = "none"
        this._isTokenRefused = false
    }

    _isFetching(request) { return this._phase.name === "fetching" && this._phase.request === request }

    _receiveToken({ request, isSame }) {
        if (!this._isFetching(request)) return this._receiveRenewal(request, isSame)
        if (isSame && this._isTokenRefused) {
            if (this._refusal === "expired") return this._pause(this._retry.wait(), "token")
            this._phase = { name: "unauthorized" }
            return
        }
        this._isTokenRefused = false
        this._lastID += 1
        const limit = this._ladder._isTrial ? this._settings.trialLimit : this._settings.openLimit
        this._phase = { name: "opening", id: this._lastID, until: this._now + limit }
        if (this._isStream) this._emit("open", { id: this._lastID, way: this._ladder.way })
        else this._emit("poll", { id: this._lastID, wait: 0 })
    }

    _failToken({ request, isUnauthorized }) {
        if (!this._isFetching(request)) return this._failRenewal(request)
        if (isUnauthorized) this._phase = { name: "unauthorized" }
        else this._pause(this._retry.wait(), "token")
    }
}
