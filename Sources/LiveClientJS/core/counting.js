// Counts by screen and day whether people trust what they see (RefreshCounts.swift, with the same words and rules).
import { bindMethods } from "./bound.js"
import { copyOf } from "./copy.js"

/** The upper ends of the bins of `latency`, in ms, each without itself; the last bin has what is above. */
export const latencyEnds = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000]

const emptyCount = (day, screen) => ({
    day, screen, manual: 0, automatic: 0, latency: [...latencyEnds, 0].map(() => 0), ahead: 0,
    made: 0, merged: 0, avoided: 0,
})
const bytesOf = text => new TextEncoder().encode(text).length

/** Manual refreshes among all, 0 to 1; null where there was none. */
export function manualShare({ manual, automatic }) {
    return manual + automatic === 0 ? null : manual / (manual + automatic)
}

function addCount(count, other) {
    for (const name of ["manual", "automatic", "ahead", "made", "merged", "avoided"]) count[name] += other[name] ?? 0
    const bins = other.latency ?? []
    count.latency.forEach((_, bin) => { count.latency[bin] += bins[bin] ?? 0 })
}

function countLatency(count, milliseconds) {
    if (milliseconds < 0) count.ahead += 1
    else {
        const bin = latencyEnds.findIndex(end => milliseconds < end)
        count.latency[bin < 0 ? latencyEnds.length : bin] += 1
    }
}

export class RefreshCounts {
    /** The name under which screens beyond the limit are counted. */
    static get otherScreens() { return "other" }
    /** The longest name of a screen, in bytes of UTF-8. */
    static get maximumNameBytes() { return 100 }

    #settings
    /** Sorted by day: {day, counts}, a day's screens in the order in which they came. */
    #days = []

    constructor(settings = {}) {
        bindMethods(this)
        this.#settings = { maximumDays: 31, maximumScreens: 50, dayOffset: 0, ...settings }
    }

    get view() { return { counts: this.#days.flatMap(({ counts }) => counts.map(count => copyOf(count))) } }

    get wakeAt() { return null }

    handle(input, now) {
        const today = new Date(now + this.#settings.dayOffset).toISOString().slice(0, 10)
        const effects = []
        const [[name, of]] = Object.entries(input)
        const change = (screen, day, body) => this.#change(screen, day, effects, body)
        switch (name) {
        case "wake": break
        case "loaded":
            for (const count of of.counts) change(count.screen, count.day, into => addCount(into, count))
            break
        case "refreshed":
            change(of.screen, today, count => { count[of.isManual ? "manual" : "automatic"] += 1 })
            break
        case "shown": change(of.screen, today, count => countLatency(count, now - of.ts)); break
        case "fetches":
            change(of.screen, today, count => {
                for (const part of ["made", "merged", "avoided"]) count[part] += Math.max(of[part], 0)
            })
            break
        case "sent": this.#days = this.#days.filter(({ day }) => day > of.through); break
        default: throw new TypeError(`no such input: ${name}`)
        }
        return effects
    }

    #change(screen, day, effects, body) {
        const counts = this.#countsOf(day, effects)
        if (!counts) return
        let name = bytesOf(screen) <= RefreshCounts.maximumNameBytes ? screen : RefreshCounts.otherScreens
        const named = counts.filter(count => count.screen !== RefreshCounts.otherScreens)
        if (!counts.some(count => count.screen === name) && named.length >= this.#settings.maximumScreens) {
            name = RefreshCounts.otherScreens
        }
        let count = counts.find(count => count.screen === name)
        if (!count) counts.push(count = emptyCount(day, name))
        body(count)
    }

    /** A day's counts, made where they are missing; null: older than all that are kept, and there is no room. */
    #countsOf(day, effects) {
        const found = this.#days.find(one => one.day === day)
        if (found) return found.counts
        if (this.#days.length >= Math.max(1, this.#settings.maximumDays)) {
            if (day < this.#days[0].day) return null
            effects.push({ dropped: { counts: this.#days.shift().counts } })
        }
        const at = this.#days.findIndex(one => one.day > day)
        const added = { day, counts: [] }
        this.#days.splice(at < 0 ? this.#days.length : at, 0, added)
        return added.counts
    }
}
