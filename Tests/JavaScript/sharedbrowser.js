// A browser for tabs that share a store: its locks and its channels. A tab can be frozen, and goes on when it is thawed.

/** One browser. `clock` has `setTimer`, `clearTimer` and `now`. */
export class SharedBrowser {
    #clock
    #channels = new Set()
    #locks = new Map()
    #count = 0

    constructor(clock) { this.#clock = clock }

    /** A tab: its environment, and `freeze`, `thaw`, `close`. */
    tab() {
        const browser = this, number = this.#count += 1
        const tab = { isFrozen: false, isClosed: false, isDeaf: false, isSlow: false, held: [], unheard: [], wishes: new Set() }
        /** Does it now, or when the tab is thawed; never in a tab that is closed. */
        const inTab = (work, isTimer = false) => (...values) => {
            if (tab.isClosed) return
            if (tab.isFrozen) tab.held.push(Object.assign(() => work(...values), { isTimer }))
            else work(...values)
        }
        class Channel {
            constructor(name) {
                this.name = name
                const receive = inTab(data => this.onmessage?.({ data }))
                this.receive = data => tab.isDeaf ? tab.unheard.push(() => receive(data)) : receive(data)
                browser.#channels.add(this)
            }
            postMessage(message) {
                if (!browser.#channels.has(this)) throw new DOMException("Channel is closed", "InvalidStateError")
                const data = structuredClone(message)
                for (const other of browser.#channels) {
                    if (other !== this && other.name === this.name) queueMicrotask(() => other.receive(data))
                }
            }
            close() { browser.#channels.delete(this) }
        }
        const { now, setTimer, clearTimer } = this.#clock
        let random = 0
        const environment = {
            now, clearTimer,
            // A browser lets timers of a hidden tab run once a minute.
            setTimer: (work, wait) => setTimer(inTab(work, true), tab.isSlow ? Math.max(wait, 60_000) : wait),
            random: () => number * 1_000_000 + (random += 1), BroadcastChannel: Channel,
            locks: { request: (name, settings, hold) => this.#request(tab, inTab, name, settings, hold) },
        }
        return Object.assign(tab, {
            environment, inTab,
            // Messages are late.
            hear: () => {
                tab.isDeaf = false
                for (const receive of tab.unheard.splice(0)) receive()
            },
            freeze: () => { tab.isFrozen = true },
            // Whatever came meanwhile comes now, in the order that `mix` gives it.
            thaw: (mix = held => held) => {
                tab.isFrozen = false
                for (const work of mix(tab.held.splice(0))) queueMicrotask(work)
            },
            close: () => {
                tab.isClosed = true
                for (const wish of tab.wishes) wish.end()
            },
        })
    }

    #request(tab, inTab, name, { signal, steal }, hold) {
        if (!this.#locks.has(name)) this.#locks.set(name, { holder: null, waiting: [] })
        const lock = this.#locks.get(name)
        return new Promise((resolve, reject) => {
            const wish = { hold: inTab(given => hold().then(given)), resolve: inTab(resolve), reject: inTab(reject) }
            /** Its tab is closed, or its work is done. */
            wish.end = () => {
                tab.wishes.delete(wish)
                lock.waiting = lock.waiting.filter(other => other !== wish)
                if (lock.holder !== wish) return
                lock.holder = null
                this.#next(lock)
            }
            tab.wishes.add(wish)
            signal?.addEventListener("abort", () => {
                if (!lock.waiting.includes(wish)) return
                wish.end()
                wish.reject(signal.reason)
            })
            if (!steal) lock.waiting.push(wish)
            else {
                const before = lock.holder
                this.#grant(lock, wish)
                before?.reject(new Error("stolen"))
            }
            this.#next(lock)
        })
    }

    #next(lock) { if (!lock.holder && lock.waiting.length > 0) this.#grant(lock, lock.waiting.shift()) }

    #grant(lock, wish) {
        lock.holder = wish
        queueMicrotask(() => wish.hold(value => {
            wish.end()
            wish.resolve(value)
        }))
    }
}
