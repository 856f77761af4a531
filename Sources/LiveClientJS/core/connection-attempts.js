// Attempts, waits and tokens of a connection (ConnectionMachine.swift, which says why each rule is so).

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
        this.settings = { ...connectionDefaults, ...settings }
        this.ladder = new WayLadder(this.settings.ways, this.settings.longPollWait, this.settings.known)
        this.retry = new Retry(this.settings.seed)
        this.jitter = new Jitter(this.settings.seed + 1)
        /** idle, fetching {request, until}, opening {id, until}, open (a stream), waiting {until, why}, unauthorized, ended {error}. */
        this.phase = { name: "idle" }
        /** Whether a token was refused, or said to have expired, since the last stream that lasted: none, refused, expired. */
        this.refusal = "none"
        /** Whether the server refused the token of the last attempt itself: it is not to be used again. */
        this.isTokenRefused = false
        this.now = 0
        this.effects = []
        this.isStarted = false
        this.isForeground = this.isOnline = true
        this.lastRequest = this.lastID = this.attempt = 0
        this.lastAttemptAt = this.downSince = this.notBefore = null
    }

    emit(name, values) { this.effects.push({ [name]: values }) }

    /** Begins an attempt, if one may be made: in the foreground and with a network. */
    begin() {
        if (!this.isForeground) {
            this.phase = { name: "idle" }
            return
        }
        this.downSince ??= this.now
        if (!this.isOnline) return this.waitUntil(null, "offline")
        this.attempt += 1
        this.lastAttemptAt = this.now
        this.ladder.begin(this.now)
        this.lastRequest += 1
        this.phase = { name: "fetching", request: this.lastRequest, until: this.now + tokenLimit }
        this.emit("fetchToken", { request: this.lastRequest, fresh: this.isTokenRefused })
    }

    waitUntil(until, why) { this.phase = { name: "waiting", until, why } }

    /** Begins at once, but not before the server's word, and no faster than the shortest wait: paths and pages flap. */
    beginSoon() {
        this.downSince ??= this.now
        if (!this.isForeground || !this.isOnline) return this.begin()
        const spaced = this.lastAttemptAt === null ? this.now : this.lastAttemptAt + Retry.minimum
        if (this.notBefore !== null && this.notBefore > Math.max(this.now, spaced)) {
            return this.waitUntil(this.notBefore, "asked")
        }
        if (spaced > this.now) return this.waitUntil(spaced, "retry")
        this.begin()
    }

    /** Comes back after `wait`, when there is a network then. */
    pause(wait, why) {
        this.downSince ??= this.now
        if (why === "asked") this.notBefore = this.now + wait
        if (this.isOnline) this.waitUntil(this.now + wait, why)
        else this.waitUntil(null, "offline")
    }

    backOff() { this.pause(this.retry.wait(), "retry") }

    end(error) { this.phase = { name: "ended", error } }

    /** Whether the next way is a stream, not polls. */
    get isStream() { return ["webSocket", "eventStream"].includes(this.ladder.way) }

    isOpening(id) { return this.phase.name === "opening" && this.phase.id === id }

    /** The open stream, where it is this one. */
    stream(id) { return this.phase.name === "open" && this.phase.id === id ? this.phase : null }

    /** The token at hand is not to be used again: it was refused, or has expired. */
    refuseToken(refusal) {
        this.refusal = refusal
        this.isTokenRefused = true
    }

    forgiveToken() {
        this.refusal = "none"
        this.isTokenRefused = false
    }

    isFetching(request) { return this.phase.name === "fetching" && this.phase.request === request }

    receiveToken({ request, isSame }) {
        if (!this.isFetching(request)) return this.receiveRenewal(request, isSame)
        if (isSame && this.isTokenRefused) {
            if (this.refusal === "expired") return this.pause(this.retry.wait(), "token")
            this.phase = { name: "unauthorized" }
            return
        }
        this.isTokenRefused = false
        this.lastID += 1
        const limit = this.ladder.isTrial ? this.settings.trialLimit : this.settings.openLimit
        this.phase = { name: "opening", id: this.lastID, until: this.now + limit }
        if (this.isStream) this.emit("open", { id: this.lastID, way: this.ladder.way })
        else this.emit("poll", { id: this.lastID, wait: 0 })
    }

    failToken({ request, isUnauthorized }) {
        if (!this.isFetching(request)) return this.failRenewal(request)
        if (isUnauthorized) this.phase = { name: "unauthorized" }
        else this.pause(this.retry.wait(), "token")
    }
}
