// Deferrable actions: what users did, kept until the server has it (ActionQueue.swift, with the same words and rules).
//
// An action: {kind, id, value, before?, key, at}. Of the effects of one input, persist, delete, apply and undo belong
// to one transaction, which is committed before the others are carried out.
import { ActionRows, leastTime } from "./actionrows.js"
import { actionOutcome } from "./outcome.js"
import { Retry } from "./retry.js"

const usableToken = { is: "usable" }

/** So many failed answers in a row, and the rows of a batch are sent one by one. */
const failuresBeforeSplit = 3

export class ActionQueue extends ActionRows {
    #waitUntil = null
    #isServersWait = false
    #isReachable = true
    /** usable (isFresh: newer than the last 401, not accepted yet), asked, askAgain (at), unauthorized. */
    #token = usableToken
    #retry
    #batch = 0

    constructor(settings) {
        super(settings)
        this.#retry = new Retry(this.settings.seed)
    }

    handle(input, now) {
        const effects = []
        const [[name, of]] = Object.entries(input)
        switch (name) {
        case "wake": break
        case "loaded": this.load(of.actions, now, effects); break
        case "set": this.set(of, now, effects); break
        case "reloaded": this.reloaded(of, of.askedAt ?? now, effects); break
        case "network": this.#reached(of.isReachable, now); break
        case "flush": if (this.dueAt !== null) this.dueAt = Math.min(this.dueAt, now); break
        case "token": this.#renewed(); break
        case "tokenFailed":
            if (this.#token.is !== "asked") break
            this.#token = of.isUnauthorized ? { is: "unauthorized" } : { is: "askAgain", at: now + this.#retry.wait() }
            if (of.isUnauthorized) effects.push({ unauthorized: {} })
            break
        case "answered": this.#answered(of.batch, of.results, now, effects); break
        case "failed": this.#failed(of, now, effects); break
        default: throw new TypeError(`no such input: ${name}`)
        }
        this.expire(now, effects)
        this.#askAgain(now, effects)
        this.#send(now, effects)
        return effects
    }

    get wakeAt() { return leastTime(this.#nextAttempt, this.rows.size === 0 ? null : this.expiresAt) }

    get view() {
        return {
            isLoaded: this.isLoaded, pending: this.inOrder.map(row => row.action),
            sending: this.flight.map(sent => sent.action.key), isUnauthorized: this.#token.is === "unauthorized",
        }
    }

    // Sending. The batch being sent: {name, action, wasUncertain}, in the order of the batch.

    /** When something is to be tried; null: only an input makes it possible. */
    get #nextAttempt() {
        if (!this.isLoaded || !this.#isReachable || this.flight.length > 0 || this.rows.size === 0) return null
        if (this.#token.is === "askAgain") return this.#token.at
        if (this.#token.is !== "usable" || this.dueAt === null) return null
        return Math.max(this.dueAt, this.#waitUntil ?? this.dueAt)
    }

    #isDue(now) {
        const next = this.#nextAttempt
        return next !== null && next <= now
    }

    #reached(isReachable, now) {
        if (isReachable && !this.#isReachable) {
            if (!this.#isServersWait) this.#waitUntil = null
            if (this.dueAt !== null) this.dueAt = Math.min(this.dueAt, now)
            if (this.#token.is === "askAgain") this.#token = { is: "askAgain", at: now }
        }
        this.#isReachable = isReachable
    }

    #renewed() {
        if (this.#token.is === "usable") return
        this.#token = { is: "usable", isFresh: true }
        if (!this.#isServersWait) this.#waitUntil = null
    }

    #askAgain(now, effects) {
        if (this.#token.is !== "askAgain" || !this.#isDue(now)) return
        this.#token = { is: "asked" }
        effects.push({ requestToken: {} })
    }

    #send(now, effects) {
        if (this.rows.size === 0) this.dueAt = null
        if (this.#token.is !== "usable" || !this.#isDue(now)) return
        const waiting = this.inOrder
        let chosen = waiting.filter(row => !row.isSuspect).slice(0, this.settings.maximumBatch)
        if (chosen.length === 0) chosen = waiting.slice(0, 1)
        this.#batch += 1
        for (const row of chosen) {
            const isBeforeKnown = !row.isUncertain || row.isRead
            this.flight.push({ name: row.name, action: row.action, wasUncertain: row.isUncertain, isBeforeKnown })
            row.isSent = true
            row.isRead = false
        }
        this.dueAt = chosen.length < waiting.length ? now : null
        this.#waitUntil = null
        this.#isServersWait = false
        this.findExpiry()
        effects.push({ send: { batch: this.#batch, actions: chosen.map(row => row.action) } })
    }

    #answered(batch, results, now, effects) {
        const flight = this.#land(batch, now)
        if (!flight) return
        const byKey = new Map()
        for (const result of results) if (!byKey.has(result.key)) byKey.set(result.key, result)
        const news = []
        let again = false
        let isUnauthorized = false
        let asked
        for (const sent of flight) {
            const result = byKey.get(sent.action.key)
            const outcome = result ? actionOutcome(result.status) : "again"
            if (outcome === "done") this.settle(sent, now, effects)
            else if (outcome === "rejected") this.#reject(sent, result.status, effects, news)
            else if (outcome === "unauthorized") isUnauthorized = true
            else {
                again = true
                if (result?.retryAfter !== undefined) asked = Math.max(asked ?? result.retryAfter, result.retryAfter)
                this.#putBehind(sent)
            }
        }
        effects.push(...news)
        if (isUnauthorized) this.#refuseToken(now, effects)
        else this.#token = usableToken
        if (again) this.#wait(asked, now)
        else this.#retry.reset()
    }

    #failed({ batch, status, retryAfter }, now, effects) {
        const flight = this.#land(batch, now)
        if (!flight) return
        const outcome = status === undefined ? "again" : actionOutcome(status)
        if (outcome === "unauthorized") return this.#refuseToken(now, effects)
        if (status !== undefined) this.#token = usableToken
        if (outcome === "rejected") {
            if (flight.length === 1) {
                const news = []
                this.#reject(flight[0], status, effects, news)
                effects.push(...news)
            } else {
                // One of them may be the cause, so each is sent alone and gets its own answer.
                this.#suspect(flight)
                this.dueAt = now
            }
            return this.#retry.reset()
        }
        this.#wait(retryAfter, now)
        if (status >= 500) {
            for (const sent of flight) this.#putBehind(sent)
            if (this.#retry.failures >= failuresBeforeSplit) this.#suspect(flight)
        }
    }

    /** What was on its way, if it was this batch. */
    #land(batch, now) {
        if (batch !== this.#batch || this.flight.length === 0) return null
        const flight = this.flight
        this.flight = []
        for (const { name } of flight) if (this.rows.has(name)) this.rows.get(name).triedUntil = now
        this.findExpiry()
        return flight
    }

    #putBehind(sent) {
        const row = this.rows.get(sent.name)
        this.order += 1
        if (row) row.order = this.order
    }

    #wait(asked, now) {
        this.dueAt = now
        this.#isServersWait = asked !== undefined
        this.#waitUntil = now + this.#retry.waitAfter(asked)
    }

    #suspect(flight) {
        for (const sent of flight) {
            const row = this.rows.get(sent.name)
            if (row?.action.key === sent.action.key) row.isSuspect = true
        }
    }

    #refuseToken(now, effects) {
        this.dueAt = now
        if (this.#token.isFresh) {
            this.#token = { is: "unauthorized" }
            effects.push({ unauthorized: {} })
        } else {
            this.#token = { is: "asked" }
            effects.push({ requestToken: {} })
        }
    }

    #reject(sent, status, effects, news) {
        const row = this.rows.get(sent.name)
        if (!row) return
        const isReplaced = row.action.key !== sent.action.key
        if (isReplaced) Object.assign(row, { isUncertain: sent.wasUncertain, isRead: sent.isBeforeKnown })
        else {
            this.remove(row, effects)
            this.undo(row, sent.isBeforeKnown, effects)
        }
        news.push({ rejected: { action: sent.action, status, isReplaced } })
    }
}
