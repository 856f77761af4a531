// An async iterator of updates for one reader.

/** Updates that wait for a reader. A page cannot slow its server down, so it would fill the memory. */
const maximumWaiting = 1024

/** Holds what a busy reader has not read; over its limit that is dropped, and a resync says so. */
export class UpdateQueue {
    #waiting = []
    #readers = []
    #hasEnded = false
    #error = null
    #leave
    /** The newest cursor, also of what was read. */
    #at

    /** @param at the cursor that its reader begins with; null: none */
    constructor(leave, at = null) {
        this.#leave = leave
        this.#at = at
    }

    push(update) {
        if (this.#hasEnded) return
        this.#at = Object.values(update)[0].at ?? this.#at
        const reader = this.#readers.shift()
        if (reader) return reader.resolve({ done: false, value: update })
        this.#waiting.push(update)
        if (this.#waiting.length <= maximumWaiting) return
        this.#waiting = this.#shortened()
    }

    /** What a reader has to know of all that it has not read: how things stand, and to fetch what it shows. */
    #shortened() {
        const last = isOne => this.#waiting.filter(isOne).slice(-1)
        const at = this.#at
        const standing = last(update => update.connected || update.disconnected)
        const source = last(update => update.source)
        if (!at) return [...standing, ...source]
        const isLive = this.#waiting.findLast(update => update.live || update.resync || update.disconnected)?.live
        return [...standing, { resync: { why: "slow", at } }, ...source, ...isLive ? [{ live: { at } }] : []]
    }

    /** Ends behind what waits already, with an error where there is one. */
    end(error) {
        if (this.#hasEnded) return
        this.#hasEnded = true
        this.#error = error
        this.#leave()
        for (const reader of this.#readers.splice(0)) this.#finish(reader)
    }

    #finish({ resolve, reject }) {
        const error = this.#error
        this.#error = null
        if (error) reject(error)
        else resolve({ done: true, value: undefined })
    }

    next() {
        return new Promise((resolve, reject) => {
            if (this.#waiting.length > 0) return resolve({ done: false, value: this.#waiting.shift() })
            if (this.#hasEnded) return this.#finish({ resolve, reject })
            this.#readers.push({ resolve, reject })
        })
    }

    async return() {
        this.#waiting = []
        this.end(null)
        return { done: true, value: undefined }
    }

    [Symbol.asyncIterator]() { return this }
}
