// A server and its API in memory, with a clock that a test turns, and a client on it with the face that machines use.
import { setImmediate } from "node:timers/promises"

/** Time that stands still until a test moves it. */
export class Clock {
    #now = 1_000_000
    #timers = new Map()
    #last = 0

    now = () => this.#now
    setTimer = (callback, milliseconds) => {
        this.#timers.set(++this.#last, { callback, at: this.#now + milliseconds })
        return this.#last
    }
    clearTimer = timer => { this.#timers.delete(timer) }
    get timers() { return [...this.#timers.values()] }
    random = () => 7

    /** Lets everything happen that waits for no time. */
    async settle() { for (let round = 0; round < 20; round += 1) await setImmediate() }

    /** Moves on, and calls on its way what is due. */
    async pass(milliseconds) {
        const end = this.#now + milliseconds
        for (;;) {
            await this.settle()
            const [next] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
            if (!next) break
            this.#timers.delete(next[0])
            this.#now = Math.max(this.#now, next[1].at)
            next[1].callback()
        }
        this.#now = end
        await this.settle()
    }
}

/** Things with versions, the events of their changes, and cursors into those: `c` and how many are before it. */
export class Server {
    things = new Map()
    events = []
    /** Events before this one are gone. */
    kept = 0
    /** Called before each answer, with its name: a test changes something there, or refuses. */
    point = async () => {}
    /** So many of the newest events are not known yet to the node that answers `/sync/v1`. */
    lag = 0
    clients = new Set()
    /** The time stamp of events from now on; undefined: they have none. */
    ts

    change(id, type = "updated", entity = "incident") {
        const key = `${entity}/${id}`
        if (type === "deleted") this.things.delete(key)
        else this.things.set(key, { entity, id, version: (this.things.get(key)?.version ?? 0) + 1 })
        this.events.push({ entity, id, type, ...(this.ts !== undefined && { ts: this.ts }) })
        for (const client of this.clients) client.push()
    }

    get end() { return Math.max(this.events.length - this.lag, this.kept) }

    async sync(since, limit = 2) {
        await this.point("sync")
        if (since === undefined) return { page: { events: [], at: `c${this.end}`, more: false } }
        const from = Number(since.slice(1))
        if (from < this.kept) return { resync: { why: "expired", at: `c${this.end}` } }
        const end = Math.max(Math.min(from + limit, this.end), from)
        const events = this.events.slice(from, end).map((event, index) => ({ ...event, at: `c${from + index + 1}` }))
        return { page: { events, at: `c${end}`, more: end < this.end } }
    }

    /** What an app's snapshot reads, thing by thing, while the server goes on. */
    async snapshot(entity) {
        const entries = []
        await this.point("snapshot")
        for (const key of [...this.things.keys()].filter(key => key.startsWith(entity + "/"))) {
            await this.point("thing of the snapshot")
            const thing = this.things.get(key)
            if (thing) entries.push([JSON.stringify([thing.entity, thing.id]), { ...thing }])
        }
        await this.point("end of the snapshot")
        return entries
    }

    async reload({ entity, id }) {
        await this.point("reload")
        const thing = this.things.get(`${entity}/${id}`)
        const answer = thing ? { ...thing } : null
        await this.point("end of the reload")
        if (!answer) throw Object.assign(new Error("gone"), { status: 404 })
        return answer
    }

    /** All that a machine of an entity has to know, as its entries. */
    expected(entity) {
        return Object.fromEntries([...this.things.values()].filter(thing => thing.entity === entity)
            .map(thing => [JSON.stringify([thing.entity, thing.id]), thing]))
    }
}

/** One connection to it, as `connect` gives, whose stream a test opens and breaks. */
export class ScriptedClient {
    #listeners = new Set()
    #watchers = new Set()
    #server
    #isOpen = false
    /** Requests of the server, as `name since`. */
    requests = []
    streams = 0
    tokens = 0
    cursor = null
    state = { connecting: { since: 0, attempt: 1 } }

    constructor(server, clock) {
        this.#server = server
        this.environment = clock
        server.clients.add(this)
    }

    subscribe(listener) { this.#listeners.add(listener); return () => this.#listeners.delete(listener) }
    watch(listener) { this.#watchers.add(listener); listener(this.state); return () => this.#watchers.delete(listener) }
    deliver(update) { for (const listener of [...this.#listeners]) listener(update) }
    become(state) { this.state = state; for (const watcher of [...this.#watchers]) watcher(state) }

    start() { if (this.state.unauthorized) this.become({ connecting: { since: 0, attempt: 1 } }) }

    async token() { this.tokens += 1; return "token" }
    _tokens = { token: "token", ask: question => this.token(question) }

    async sync({ since } = {}) {
        this.requests.push(`sync ${since ?? ""}`.trim())
        return this.#server.sync(since)
    }

    restart({ since }) {
        this.cursor = since
        const wasOpen = this.#isOpen
        if (!wasOpen) return
        this.close({ idle: {} })
        this.open()
    }

    /** The stream is open: from the cursor, or from the end. */
    open() {
        this.#isOpen = true
        this.streams += 1
        this.become({ connected: {} })
        this.deliver({ connected: { way: "webSocket" } })
        if (this.cursor === null) this.deliver({ resync: { why: "start", at: this.cursor = `c${this.#server.events.length}` } })
        else if (Number(this.cursor.slice(1)) < this.#server.kept) {
            this.cursor = `c${this.#server.events.length}`
            this.deliver({ resync: { why: "expired", at: this.cursor } })
        }
        this.push()
        this.deliver({ live: { at: this.cursor } })
    }

    /** The stream ends; the client is in this state then. */
    close(state) {
        this.#isOpen = false
        this.state = state
        this.deliver({ disconnected: {} })
        this.become(state)
    }

    push() {
        while (this.#isOpen && Number(this.cursor.slice(1)) < this.#server.events.length) {
            const index = Number(this.cursor.slice(1))
            this.cursor = `c${index + 1}`
            this.deliver({ event: { ...this.#server.events[index], at: this.cursor } })
        }
    }
}
