// Which transport works on this network (WayLadder.swift, which explains each rule).

/** The ways, the best first. */
export const connectionWays = ["webSocket", "eventStream", "longPoll", "polling"]

/** Better ways are tried again after so long. */
const trialPause = 3_600_000
/** After a guess: between the half and the whole of this. */
const guessPause = 60_000
/** Failures, each by its weight, that lead to a guess. */
export const maximumStrikes = 3
/** Lives below this may be a timer's; a trial is passed by what lives longer. */
const shortLife = 120_000
/** How many alike prove a timer. */
const provingLives = 3
/** A timer between lets a connection live for so long at least: three that were cut sooner are alike by themselves. */
const shortestTimer = 10_000
/** A long poll that is cut waits for half as long, but for this at least. */
const minimumWait = 10_000
/** Networks that are remembered; over it, the one whose trial is due first is forgotten. */
const maximumKnown = 32

/** Begins with the best way, steps down by what fails, remembers it for the network, tries the better ones after an hour. */
export class WayLadder {
    #ways
    #longestWait
    #isGuess
    #strikes
    #lives
    #cutAfter
    #cutWaits

    constructor(ways, longestWait, known) {
        this.#ways = ways.length === 0 ? connectionWays : ways
        this.#longestWait = longestWait
        /** What the owner keeps. */
        this.known = known.filter(({ way }) => this.#ways.includes(way) && way !== this.#ways[0])
            .slice(0, maximumKnown).map(record => ({ ...record }))
        this.network = ""
        this.#settle()
    }

    #record() { return this.known.find(({ network }) => network === this.network) }

    #lower() {
        const index = this.#ways.indexOf(this.way)
        return index < 0 ? undefined : this.#ways[index + 1]
    }

    /** When better ways are due to be tried; null on the best. */
    get _trialAt() { return this._isTrial ? null : this.#record()?.upAt ?? null }

    /** The device is on this network now. */
    enter(network) {
        if (network === this.network) return
        this.network = network
        this.#settle()
    }

    /** Back to what is known. */
    #settle() {
        const record = this.#record()
        this.way = record?.way ?? this.#ways[0]
        /** Of the next long poll. */
        this.wait = record?.wait ?? this.#longestWait
        this._isTrial = this.#isGuess = false
        this.#strikes = this.#cutWaits = 0
        this.#lives = []
        this.#cutAfter = null
    }

    /** An attempt begins. */
    begin(now) {
        const record = this.#record()
        if (!record) return
        // The time is kept over restarts. A clock that was set back does not delay a trial for ever.
        record.upAt = Math.min(record.upAt, now + trialPause)
        if (this._isTrial || this.way !== record.way || now < record.upAt) return
        this.#settle()
        this._isTrial = true
        this.way = this.#ways[0]
    }

    /** Goes one way down: the next attempt is made by it. False on the last. */
    _stepDown(now) {
        const lower = this.#lower()
        if (lower === undefined) return false
        const cutAfter = this.#lives.length === provingLives ? Math.min(...this.#lives) : this.#cutAfter
        this.way = lower
        this.#strikes = maximumStrikes - 1
        this.#lives = []
        this.#cutWaits = 0
        this.#cutAfter = cutAfter
        this.wait = cutAfter === null
            ? this.#longestWait
            : Math.min(this.#longestWait, Math.max(minimumWait, Math.floor(cutAfter * 3 / 4)))
        const record = this.#record()
        if (this._isTrial && record && this.way === record.way) {
            // The trial has failed.
            this._isTrial = false
            this.wait = record.wait
            this.#keep(now + trialPause)
        }
        return true
    }

    /** The same by a guess, which is tried again soon; a trial that fails is as it was. */
    _stepDownGuessing(now) {
        const wasTrial = this._isTrial
        if (!this._stepDown(now)) return false
        this.#isGuess = !wasTrial
        return true
    }

    /** An attempt failed, and it is not proved whose fault that is. Whether the next way is to be tried at once. */
    failed(weight, now) {
        if (this._isTrial) return this._stepDown(now)
        this.#strikes += weight
        if (this.#strikes < maximumStrikes) return false
        const lower = this.#lower()
        if (lower !== undefined && lower !== "polling") {
            this._stepDownGuessing(now)
        } else {
            this.#settle()
        }
        return false
    }

    /** A stream has opened, or a poll was answered. */
    opened(now, jitter) {
        this.#strikes = 0
        // The best transport needs no record, and a trial succeeds when its stream lasts.
        if (this._isTrial || this.way === this.#ways[0]) return
        const record = this.#record()
        if (record && record.way === this.way && record.wait === this.wait && record.upAt > now) return
        const isGuess = this.#isGuess
        this.#isGuess = false
        this.#keep(now + (isGuess ? jitter.milliseconds(guessPause / 2, guessPause) : trialPause))
    }

    /** What had opened has ended. Whether the next way is to be tried at once. */
    ended(lived, isCut, now) {
        if (this._isTrial) {
            if (lived < shortLife) return isCut && this._stepDown(now)
            this.#pass(now)
            return false
        }
        if (!isCut || lived >= shortLife) {
            this.#lives = []
            return false
        }
        this.#lives = [...this.#lives.slice(1 - provingLives), lived]
        const least = Math.min(...this.#lives), most = Math.max(...this.#lives)
        const isTimer = most - least <= Math.max(1_000, Math.floor(most / 5))
        if (this.#lives.length === provingLives && isTimer) this.#stepDownAfter(least, now)
        return false
    }

    /** Goes one way down: as what is known, where it lived for as long as a timer lets it, else as a guess. */
    #stepDownAfter(lived, now) {
        if (lived >= shortestTimer) return this._stepDown(now)
        this.#lives = []
        return this._stepDownGuessing(now)
    }

    /** The trial's way lived long enough: it is what works here. */
    #pass(now) {
        this._isTrial = false
        if (this.way === this.#ways[0]) this.#forget()
        else this.#keep(now + trialPause)
    }

    #forget() { this.known = this.known.filter(({ network }) => network !== this.network) }

    #keep(upAt) {
        this.#forget()
        if (this.known.length >= maximumKnown) {
            const first = Math.min(...this.known.map(record => record.upAt))
            this.known.splice(this.known.findIndex(record => record.upAt === first), 1)
        }
        this.known.push({ network: this.network, way: this.way, wait: this.wait, upAt })
    }

    /** A long poll was cut before its answer. Two in a row: the next waits for half as long, or the way is given up. */
    _waitCut(lived, now) {
        this.#cutWaits += 1
        if (this.#cutWaits < 2) return
        this.#cutWaits = 0
        const half = Math.floor(this.wait / 2)
        if (half >= minimumWait) this.wait = half
        else this.#stepDownAfter(lived, now)
    }

    _waitAnswered() { this.#cutWaits = 0 }
}

/** What a client does on a close code: {end}, {token: {}}, or {comeBack: minimum} in ms (CloseAdvice.swift). */
export function closeAdvice(code) {
    if (code === 1000) return { end: "done" }
    if (code === 4403) return { end: "revoked" }
    if (code === 4401) return { token: {} }
    return { comeBack: code === 1013 ? 5_000 : 0 }
}
