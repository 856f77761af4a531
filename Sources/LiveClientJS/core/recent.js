// What a leading tab keeps for tabs that join it: the newest updates of its stream. No I/O and no clock.

/** How far one node may be behind another that answered before, in ms; further back, it says itself that it stalls. */
export const nodeLag = 10_000
/** The newest updates of a stream that are kept. */
const recentLimit = 1_000

export class RecentUpdates {
    /** Whether what was missed has been delivered. */
    isLive = false
    /** The update that said that the source stalls, while it does. */
    #stalled = null
    /** `{update, at, time}`, the oldest first. */
    #entries = []
    /** The cursor behind which the stream began, when, and whether everything since then is here. */
    #start = null
    #began = 0
    #isWhole = true

    /** The stream begins behind `start`, a cursor or null. */
    begin(start, now) {
        this.#entries = []
        this.#start = start
        this.#began = now
        this.#isWhole = true
        this.isLive = false
    }

    /** Takes an update of the stream. */
    keep(update, now) {
        const [[name, { at, state }]] = Object.entries(update)
        if (name === "resync") return this.begin(at, now)
        if (name === "live") this.isLive = true
        if (name === "disconnected") this.isLive = false
        if (name === "source") this.#stalled = state === "stalled" ? update : null
        if (name === "disconnected") this.#stalled = null
        if (at) this.#add(name === "event" ? update : { beat: { at } }, at, now)
    }

    #add(update, at, now) {
        this.#entries.push({ update, at, time: now })
        if (this.#entries.length <= recentLimit) return
        this.#entries.shift()
        this.#isWhole = false
    }

    /** What a tab that joins has to know, as plain values: see `placeAmong`. */
    told(now) {
        const entries = this.#entries.map(({ update, at, time }) => ({ update, at, ago: now - time }))
        const { isLive } = this
        return { start: this.#start, age: now - this.#began, isWhole: this.#isWhole, isLive, stalled: this.#stalled, entries }
    }
}

/**
 * What a tab whose cursor is `cursor` is given before what its leader says next, by what the leader told:
 *
 * - `{updates}`: these, and nothing is missing;
 * - `{missed: {wait, updates}}`: what `/sync/v1` says, once more after `wait` ms where the leader's stream is so young that it
 *   may have begun behind the node that answers, and then these, of the stream's last seconds: that node may be behind it;
 * - `{resync: {}}`: too much was said since to keep it.
 */
export function placeAmong({ start, age, isWhole, entries }, cursor) {
    const updatesOf = chosen => chosen.map(entry => entry.update)
    const index = entries.findLastIndex(entry => entry.at === cursor)
    if (index >= 0) return { updates: updatesOf(entries.slice(index + 1)) }
    if (isWhole && start === cursor) return { updates: updatesOf(entries) }
    if (!isWhole && entries[0].ago < nodeLag) return { resync: {} }
    const updates = updatesOf(entries.filter(entry => entry.ago <= nodeLag))
    return { missed: { wait: Math.max(nodeLag - age, 0), updates } }
}
