// While a stream is open (ConnectionMachine+Stream.swift).

import { ConnectionAttempts, tokenLimit } from "./connection-attempts.js"

/** The earliest of these times; null where there is none. */
function earliest(times) {
    const given = times.filter(time => time !== null && time !== undefined)
    return given.length === 0 ? null : Math.min(...given)
}

const freshRenewal = sentAt => ({ request: null, dueAt: null, sentAt, tries: 0 })

/** Long polls begin no faster after each other, unless there is more already. */
const pollPause = 1_000
/** Between two renewals of the token of one stream. */
const renewalPause = 30_000
/** A renewal that brought no new token is tried again after so long, so often. */
const renewalRetry = 15_000
const maximumRenewals = 5

/** The second part of ConnectionMachine: signs of life, polls, the next token, and what is due. */
export class ConnectionStream extends ConnectionAttempts {
    get wakeAt() {
        const phase = this.phase
        if (phase.name !== "open") return phase.until ?? null
        const next = phase.poll ? phase.poll.until ?? phase.poll.at : phase.aliveAt + this.settings.silenceLimit
        return earliest([next, phase.testUntil, phase.renewal.dueAt, this.trialAt(phase)])
    }

    /** Whether a stream is of the network and the way that the ladder stands on. */
    isCurrent(stream) { return stream.network === this.ladder.network && stream.way === this.ladder.way }

    /** When better ways are tried again instead of this one. */
    trialAt(stream) { return this.isOnline && this.isCurrent(stream) ? this.ladder.trialAt : null }

    open(id) {
        this.ladder.opened(this.now, this.jitter)
        this.downSince = this.notBefore = null
        this.attempt = 0
        this.phase = {
            name: "open", id, way: this.ladder.way, network: this.ladder.network, openedAt: this.now, aliveAt: this.now,
            testUntil: null, poll: null, renewal: freshRenewal(null),
        }
    }

    receiveSign(id) {
        const stream = this.stream(id)
        if (stream) Object.assign(stream, { aliveAt: this.now, testUntil: null })
    }

    // Polls

    receivePoll({ id, more }) {
        if (this.isOpening(id)) {
            if (this.isStream) return
            if (this.ladder.way === "polling") return this.receiveOnly(id, more)
            this.open(id)
            return this.nextPoll(more)
        }
        const stream = this.stream(id)
        if (stream?.poll?.until === undefined) return
        if (stream.poll.wait > 0) this.ladder.waitAnswered()
        this.nextPoll(more)
    }

    /** The answer of a poll that is not followed by another at once, unless there is more already. */
    receiveOnly(id, more) {
        if (more) {
            this.phase = { name: "opening", id, until: this.now + this.settings.openLimit }
            return this.emit("poll", { id, wait: 0 })
        }
        this.ladder.opened(this.now, this.jitter)
        this.retry.reset()
        this.downSince = this.notBefore = null
        this.attempt = 0
        this.refusal = "none"
        const interval = this.settings.pollInterval
        const low = Math.floor(interval * 9 / 10), high = Math.floor(interval * 11 / 10)
        const next = this.now + this.jitter.milliseconds(low, high)
        // Better ways are tried again when that is due, not with the next poll.
        this.waitUntil(Math.min(next, this.ladder.trialAt ?? next), "poll")
    }

    /** Asks again: at once for what is there already, else with a pause, so that answers that come too fast make no loop. */
    nextPoll(more) {
        const poll = this.phase.poll
        const soonest = poll?.until === undefined ? this.now : poll.since + pollPause
        if (!more && soonest > this.now) this.phase.poll = { at: soonest }
        else this.sendPoll(more ? 0 : this.ladder.wait)
    }

    sendPoll(wait) {
        this.phase.poll = { since: this.now, wait, until: this.now + wait + this.settings.openLimit }
        this.emit("poll", { id: this.phase.id, wait })
    }

    // The next token

    renew(id) {
        const stream = this.stream(id)
        if (stream?.way !== "webSocket" || stream.renewal.request !== null) return
        stream.renewal.tries = 0
        const sentAt = stream.renewal.sentAt
        stream.renewal.dueAt = sentAt === null ? this.now : Math.max(this.now, sentAt + renewalPause)
        this.fetchRenewal(stream)
    }

    fetchRenewal({ renewal }) {
        if (renewal.dueAt > this.now) return
        this.lastRequest += 1
        renewal.request = this.lastRequest
        renewal.dueAt = this.now + tokenLimit
        this.emit("fetchToken", { request: this.lastRequest, fresh: true })
    }

    isRenewal(request) { return this.phase.name === "open" && this.phase.renewal.request === request }

    receiveRenewal(request, isSame) {
        if (!this.isRenewal(request)) return
        if (isSame) return this.failRenewal(request)
        this.phase.renewal = freshRenewal(this.now)
        this.emit("sendToken", { id: this.phase.id })
    }

    failRenewal(request) {
        if (!this.isRenewal(request)) return
        const renewal = this.phase.renewal
        renewal.request = null
        renewal.tries += 1
        const isLast = renewal.tries >= maximumRenewals
        renewal.dueAt = isLast ? null : this.now + renewalRetry
    }

    // What is due

    wake() {
        const phase = this.phase
        if (phase.name === "open") return this.wakeStream(phase)
        if (typeof phase.until !== "number" || phase.until > this.now) return
        if (phase.name === "fetching") this.failToken({ request: phase.request, isUnauthorized: false })
        if (phase.name === "opening") this.giveUp(phase.id)
        if (phase.name === "waiting") this.begin()
    }

    giveUp(id) {
        this.emit("abandon", { id })
        this.lose({ id, how: "silent" })
    }

    wakeStream(stream) {
        const isDue = time => time !== null && time <= this.now
        if (isDue(stream.testUntil)) {
            this.emit("abandon", { id: stream.id })
            this.leave(stream, false)
            return this.beginSoon()
        }
        if (isDue(this.trialAt(stream))) {
            this.emit("close", { id: stream.id })
            this.leave(stream, false)
            return this.begin()
        }
        const poll = stream.poll
        if (poll?.at !== undefined && isDue(poll.at)) this.sendPoll(this.ladder.wait)
        if (poll?.until !== undefined && isDue(poll.until)) return this.giveUp(stream.id)
        if (!poll && isDue(stream.aliveAt + this.settings.silenceLimit)) return this.giveUp(stream.id)
        const { request, dueAt } = stream.renewal
        if (!isDue(dueAt)) return
        if (request !== null) this.failRenewal(request)
        else this.fetchRenewal(stream)
    }
}
