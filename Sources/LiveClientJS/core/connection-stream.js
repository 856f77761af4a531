// While a stream is open (ConnectionMachine+Stream.swift).

import { ConnectionAttempts, tokenLimit } from "./connection-attempts.js"
import { earliestOf } from "./retry.js"

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
        const phase = this._phase
        if (phase.name !== "open") return phase.until ?? null
        const next = phase.poll ? phase.poll.until ?? phase.poll.at : phase.aliveAt + this._settings.silenceLimit
        return earliestOf([next, phase.testUntil, phase.renewal.dueAt, this._trialAt(phase)])
    }

    /** Whether a stream is of the network and the way that the ladder stands on. */
    _isCurrent(stream) { return stream.network === this._ladder.network && stream.way === this._ladder.way }

    /** When better ways are tried again instead of this one. */
    _trialAt(stream) { return this._isOnline && this._isCurrent(stream) ? this._ladder._trialAt : null }

    _open(id) {
        this._ladder.opened(this._now, this._jitter)
        this._downSince = this._notBefore = null
        this._attempt = 0
        this._phase = {
            name: "open", id, way: this._ladder.way, network: this._ladder.network, openedAt: this._now, aliveAt: this._now,
            testUntil: null, poll: null, renewal: freshRenewal(null),
        }
    }

    _receiveSign(id) {
        const stream = this._stream(id)
        if (stream) Object.assign(stream, { aliveAt: this._now, testUntil: null })
    }

    // Polls

    _receivePoll({ id, more }) {
        if (this._isOpening(id)) {
            if (this._isStream) return
            if (this._ladder.way === "polling") return this._receiveOnly(id, more)
            this._open(id)
            return this._nextPoll(more)
        }
        const stream = this._stream(id)
        if (stream?.poll?.until === undefined) return
        if (stream.poll.wait > 0) this._ladder._waitAnswered()
        this._nextPoll(more)
    }

    /** The answer of a poll that is not followed by another at once, unless there is more already. */
    _receiveOnly(id, more) {
        if (more) {
            this._phase = { name: "opening", id, until: this._now + this._settings.openLimit }
            return this._emit("poll", { id, wait: 0 })
        }
        this._ladder.opened(this._now, this._jitter)
        this._retry.reset()
        this._downSince = this._notBefore = null
        this._attempt = 0
        this._refusal = "none"
        const interval = this._settings.pollInterval
        const next = this._now + this._jitter.milliseconds(Math.floor(interval * 9 / 10), Math.floor(interval * 11 / 10))
        // Better transports are tried again when that is due, not with the next poll.
        this._waitUntil(Math.min(next, this._ladder._trialAt ?? next), "poll")
    }

    /** Asks again: at once for what is there already, else with a pause, so that answers that come too fast make no loop. */
    _nextPoll(more) {
        const poll = this._phase.poll
        const soonest = poll?.until === undefined ? this._now : poll.since + pollPause
        if (!more && soonest > this._now) this._phase.poll = { at: soonest }
        else this._sendPoll(more ? 0 : this._ladder.wait)
    }

    _sendPoll(wait) {
        this._phase.poll = { since: this._now, wait, until: this._now + wait + this._settings.openLimit }
        this._emit("poll", { id: this._phase.id, wait })
    }

    // The next token

    _renew(id) {
        const stream = this._stream(id)
        if (stream?.way !== "webSocket" || stream.renewal.request !== null) return
        stream.renewal.tries = 0
        const sentAt = stream.renewal.sentAt
        stream.renewal.dueAt = sentAt === null ? this._now : Math.max(this._now, sentAt + renewalPause)
        this._fetchRenewal(stream)
    }

    _fetchRenewal({ renewal }) {
        if (renewal.dueAt > this._now) return
        this._lastRequest += 1
        renewal.request = this._lastRequest
        renewal.dueAt = this._now + tokenLimit
        this._emit("fetchToken", { request: this._lastRequest, fresh: true })
    }

    _isRenewal(request) { return this._phase.name === "open" && this._phase.renewal.request === request }

    _receiveRenewal(request, isSame) {
        if (!this._isRenewal(request)) return
        if (isSame) return this._failRenewal(request)
        this._phase.renewal = freshRenewal(this._now)
        this._emit("sendToken", { id: this._phase.id })
    }

    _failRenewal(request) {
        if (!this._isRenewal(request)) return
        const renewal = this._phase.renewal
        renewal.request = null
        renewal.tries += 1
        const isLast = renewal.tries >= maximumRenewals
        renewal.dueAt = isLast ? null : this._now + renewalRetry
    }

    // What is due

    _wake() {
        const phase = this._phase
        if (phase.name === "open") return this._wakeStream(phase)
        if (typeof phase.until !== "number" || phase.until > this._now) return
        if (phase.name === "fetching") this._failToken({ request: phase.request, isUnauthorized: false })
        if (phase.name === "opening") this._giveUp(phase.id)
        if (phase.name === "waiting") this._begin(phase.why === "offline")
    }

    _giveUp(id) {
        this._emit("abandon", { id })
        this._lose({ id, how: "silent" })
    }

    _wakeStream(stream) {
        const isDue = time => time !== null && time <= this._now
        if (isDue(stream.testUntil)) {
            this._emit("abandon", { id: stream.id })
            this._leave(stream, false)
            return this._beginSoon()
        }
        if (isDue(this._trialAt(stream))) {
            this._emit("close", { id: stream.id })
            this._leave(stream, false)
            return this._begin()
        }
        const poll = stream.poll
        if (poll?.at !== undefined && isDue(poll.at)) this._sendPoll(this._ladder.wait)
        if (poll?.until !== undefined && isDue(poll.until)) return this._giveUp(stream.id)
        if (!poll && isDue(stream.aliveAt + this._settings.silenceLimit)) return this._giveUp(stream.id)
        const { request, dueAt } = stream.renewal
        if (!isDue(dueAt)) return
        if (request !== null) this._failRenewal(request)
        else this._fetchRenewal(stream)
    }
}
