// One stream for many machines: each follows from its own cursor held. Cursors of two nodes are never compared.

import { nodeLag } from "../core/recent.js"
import { oneFor, pause } from "./environment.js"
import { callApp, endOf } from "./failures.js"

/** The newest messages of the stream that are kept for those who join it. */
const recentLimit = 1_000
/** A stream that has just begun says so soon where it begins, in ms, or another request asks for a finger. */
const beginningLimit = 2_000

/**
 * Gives each follower everything since its finger, then what comes.
 *
 * The stream runs from the finger of whoever came first. Who comes later joins where its finger stands among the newest
 * messages of the stream. A finger that is not among them, such as one out of a store, is caught up by `/sync/v1`, maybe
 * by a node that is a moment behind: so whoever joins after that is also given the stream's last seconds once more.
 */
export class Following {
    #client
    /** By its machine: `{sink, _isJoined, abort}`. */
    #followers = new Map()
    /** The newest messages, `{at, event, time}`, without `event` where it was only a cursor. */
    #recent = []
    /** The cursor behind which the stream began, and when it was taken up: `{since, time, isWhole}`. */
    #start = null
    #isLive = false
    #stalledSince
    #finger = null
    #isRestarting = false
    #listener = update => this.#update(update)

    constructor(client) {
        this.#client = client
        client.subscribe(this.#listener)
        client.watch(state => this.#watch(state))
    }

    /** The client changes its state because a follower needs another start of the stream. */
    get _isRestarting() { return this.#isRestarting }

    /** The stream's newest. */
    get #cursor() { return this.#recent.at(-1)?.at ?? this.#start.since }

    #now() { return this.#client.environment.now() }

    /** Whether the client's first stream is being opened, which has not said yet where it begins. */
    get #isBeginning() {
        const { cursor, state } = this.#client
        return !this.#start && cursor === null && Boolean(state.connecting || state.connected)
    }

    async #begun() {
        const begun = new AbortController(), check = () => { if (!this.#isBeginning) begun.abort() }
        const ends = [this.#client.watch(check), this.#client.subscribe(check)]
        await pause(this.#client.environment, beginningLimit, begun.signal)
        for (const end of ends) end()
    }

    /**
     * A fresh finger. Once there is a stream it is a cursor of that: older by moments, so right, and nobody who follows
     * from it has to be caught up, or needs a stream of its own.
     */
    async finger() {
        if (this.#isBeginning) await this.#begun()
        if (this.#start && (this.#followers.size > 0 || this.#client.state.connected)) {
            const at = this.#cursor
            if (at) return at
        }
        if (!this.#finger || this.#now() - this.#finger.time >= nodeLag) {
            // For all that ask now: if one gives up, the others still get it.
            const asked = this.#client.sync().then(answer => answer.page?.at ?? answer.resync.at)
            const finger = this.#finger = { asked, time: this.#now() }
            asked.catch(() => { if (this.#finger === finger) this.#finger = null })
        }
        return this.#finger.asked
    }

    /**
     * Begins to follow. `sink` is called with inputs of a machine: `events`, `live`, `resync`, `source` and at last `lost` or `ended`,
     * without their number, maybe before this returns.
     */
    follow(key, since, sink) {
        this.unfollow(key)
        // A machine that fails does not stop the others.
        const follower = { sink: message => callApp(sink, Object.entries(message)), _isJoined: true, abort: new AbortController() }
        const others = this.#followers.size
        this.#followers.set(key, follower)
        // Find the first: messages without a cursor of their own follow it with the same one.
        const index = this.#recent.findIndex(message => message.at === since)
        if (index >= 0) return this.#join(follower, index + 1)
        if (this.#start?.since === since && this.#start.isWhole) return this.#join(follower, 0)
        if (others > 0) {
            follower._isJoined = false
            this.#catchUp(key, follower, since)
            return
        }
        this.#begin(since)
        // An open stream continues from another cursor, or has already reported that it is live.
        if (this.#client.cursor === since && !this.#client.state.connected) return
        this.#isRestarting = true
        this.#isLive = false
        try { this.#client.restart({ since, except: this.#listener }) } finally { this.#isRestarting = false }
    }

    unfollow(key) {
        this.#followers.get(key)?.abort.abort()
        this.#followers.delete(key)
    }

    #begin(since) {
        this.#start = { since, time: this.#now(), isWhole: true }
        this.#recent = []
    }

    /** Gives a follower the newest messages from an index on, and what is so. */
    #join(follower, index) {
        follower._isJoined = true
        for (const { event, at } of this.#recent.slice(index)) follower.sink({ events: { events: event ? [event] : [], at } })
        if (this.#stalledSince !== undefined) follower.sink({ source: { stalledSince: this.#stalledSince } })
        if (this.#isLive) follower.sink({ live: { at: this.#cursor } })
    }

    async #catchUp(key, follower, since) {
        const { signal } = follower.abort
        const begun = this.#now()
        let cursor = since
        const pages = async () => {
            for (;;) {
                const answer = await this.#client.sync({ since: cursor, signal })
                if (signal.aborted) return false
                if (answer.resync) {
                    // A later request asks for what arrived since then.
                    cursor = answer.resync.at
                    follower.sink({ resync: { at: cursor, isEpoch: answer.resync.why === "epoch" } })
                    return true
                }
                cursor = answer.page.at
                follower.sink({ events: { events: answer.page.events.map(eventOf), at: cursor } })
                if (!answer.page.more) return true
            }
        }
        try {
            if (!await pages()) return
            // A stream that began so recently may have begun later than the answering node has read.
            const rest = this.#start.time + nodeLag - this.#now()
            if (rest > 0) {
                await pause(this.#client.environment, rest, signal)
                if (signal.aborted || !await pages()) return
            }
        } catch (error) {
            if (signal.aborted) return
            const end = endOf(error)
            if (!end) return this.#lose(key, follower, error.retryAfter)
            this.unfollow(key)
            follower.sink({ ended: { error: end } })
            return
        }
        if (signal.aborted) return
        const from = begun - nodeLag
        const index = this.#recent.findIndex(message => message.time >= from)
        // Some of what it needs is gone: a new snapshot costs less than so many reloads.
        const isGone = index === 0 && !this.#start.isWhole
        if (isGone) follower.sink({ resync: { at: this.#cursor } })
        this.#join(follower, isGone || index < 0 ? this.#recent.length : index)
    }

    #lose(key, follower, after) {
        if (this.#followers.get(key) === follower) this.unfollow(key)
        follower.sink({ lost: { after } })
    }

    #loseAll(after) {
        for (const [key, follower] of [...this.#followers]) this.#lose(key, follower, after)
    }

    #tell(message) {
        for (const follower of [...this.#followers.values()]) if (follower._isJoined) follower.sink(message)
    }

    #update(update) {
        const [[name, inside]] = Object.entries(update)
        // Nobody follows yet: the first one joins at its cursor in the stream, or decides where the stream begins.
        if (!this.#start && name !== "resync") return
        switch (name) {
        case "event": return this.#message(inside.at, eventOf(inside))
        case "beat": return this.#message(inside.at)
        case "live":
            this.#isLive = true
            this.#remember(inside.at)
            return this.#tell({ live: { at: inside.at } })
        case "resync": return this.#resync(inside)
        case "source":
            this.#stalledSince = inside.state === "stalled" ? inside.ts ?? this.#now() : undefined
            return this.#tell({ source: { stalledSince: this.#stalledSince } })
        case "disconnected":
            this.#isLive = false
            this.#stalledSince = undefined
            if (this.#isRestarting) return
            return this.#loseAll(waitOf(this.#client.state, this.#now()))
        }
    }

    #remember(at, event) {
        this.#recent.push({ at, event, time: this.#now() })
        if (this.#recent.length <= recentLimit) return
        this.#recent.shift()
        if (this.#start) this.#start.isWhole = false
    }

    /** Without a cursor it moves none: whoever resumes gets it again. */
    #message(given, event) {
        const at = given ?? this.#cursor
        this.#remember(at, event)
        this.#tell({ events: { events: event ? [event] : [], at } })
    }

    #resync({ why, at }) {
        this.#isLive = false
        this.#begin(at)
        for (const follower of [...this.#followers.values()]) {
            // A stream without a cursor begins anywhere: machines that are catching up lose nothing by that.
            if (why === "start" && !follower._isJoined) continue
            follower.abort.abort()
            follower.abort = new AbortController()
            follower._isJoined = true
            follower.sink({ resync: { at, isEpoch: why === "epoch" } })
        }
    }

    /** An attempt has failed: whoever waits for a stream is told, and comes back when the client does. */
    #watch(state) {
        if (this.#isRestarting) return
        const isLost = state.ended || state.unauthorized || (state.waiting && state.waiting.why !== "poll")
        if (isLost) this.#loseAll(waitOf(state, this.#now()))
    }
}

/** The one of a client. */
export const followingOf = oneFor(client => new Following(client))

/** An update's or a page's event as machines take it. */
export function eventOf({ entity, id, type, ts }) {
    return { thing: { entity, id }, type, ts }
}

/** How long until the client tries again, where that is known. */
function waitOf(state, now) {
    const until = state.waiting?.until
    return until === undefined ? undefined : Math.max(until - now, 0)
}
