// A world for a client: a clock that stands until it is moved, a network, a page, and a gateway that a test plays.
import { connect } from "../../Sources/LiveClientJS/livegate.js"

/** Lets everything happen that waits for nothing but its turn. */
export async function settle() { for (let turn = 0; turn < 10; turn += 1) await new Promise(resolve => setImmediate(resolve)) }

class FakeSocket {
    constructor(world, url, protocols) {
        Object.assign(this, { world, url: new URL(url), protocols, readyState: 0, sent: [], closedWith: null })
        world.sockets.push(this)
        if (world.refusesSockets) queueMicrotask(() => this.end(1006))
    }
    open() {
        this.readyState = 1
        this.onopen({})
    }
    say(message) { this.onmessage({ data: JSON.stringify(message) }) }
    end(code, reason = "") {
        this.readyState = 3
        this.onclose({ code, reason })
    }
    send(text) { this.sent.push(JSON.parse(text)) }
    close(code) {
        this.closedWith = code
        this.readyState = 3
    }
}

/** A request that a test answers. */
class Question {
    constructor(url, options, resolve, reject) {
        this.url = new URL(url)
        this.options = options
        this.fail = () => reject(new TypeError("Failed to fetch"))
        this.answer = (status, body, headers = {}) => resolve(new Response(JSON.stringify(body), { status, headers }))
        this.reply = resolve
        /** Answers with an event stream; `say` sends a piece of it. */
        this.stream = () => {
            let controller
            const body = new ReadableStream({ start: given => { controller = given } })
            resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }))
            this.say = text => controller.enqueue(new TextEncoder().encode(text))
            this.end = () => controller.close()
        }
        options.signal?.addEventListener("abort", () => {
            this.isAborted = true
            reject(options.signal.reason)
        })
    }
}

class Page extends EventTarget {
    document = Object.assign(new EventTarget(), { visibilityState: "visible" })
    navigator = { onLine: true }
    fire(target, name, facts = {}) { target.dispatchEvent(Object.assign(new Event(name), facts)) }
    show(isVisible) {
        this.document.visibilityState = isVisible ? "visible" : "hidden"
        this.fire(this.document, "visibilitychange")
    }
    setOnline(isOnline) {
        this.navigator.onLine = isOnline
        this.fire(this, isOnline ? "online" : "offline")
    }
}

export class World {
    time = 1_000_000
    timers = []
    sockets = []
    questions = []
    stored = new Map()
    refusesSockets = false
    page = new Page()
    tokens = []
    asked = []

    environment(changes = {}) {
        const world = this
        return {
            now: () => this.time,
            setTimer: (callback, after) => {
                const timer = { at: this.time + after, callback }
                this.timers.push(timer)
                return timer
            },
            clearTimer: timer => { this.timers = this.timers.filter(other => other !== timer) },
            random: () => 7,
            fetch: (url, options) => new Promise((resolve, reject) =>
                this.questions.push(new Question(url, options, resolve, reject))),
            WebSocket: class extends FakeSocket { constructor(url, protocols) { super(world, url, protocols) } },
            storage: { getItem: key => this.stored.get(key) ?? null, setItem: (key, value) => this.stored.set(key, value) },
            page: this.page, locks: undefined, BroadcastChannel: undefined, ...changes,
        }
    }

    /** A client and what it told: its updates, and the names of its states. */
    client(options = {}, changes = {}) {
        const token = async ({ fresh }) => {
            this.asked.push(fresh)
            return this.tokens.shift() ?? "T"
        }
        const client = connect({
            url: "https://live.example.com", token, environment: this.environment(changes), ...options,
        })
        const told = { client, updates: [], states: [] }
        client.subscribe(update => told.updates.push(update))
        client.watch(state => told.states.push(Object.keys(state)[0]))
        return told
    }

    /** Moves the clock, and fires what becomes due on the way. */
    async pass(milliseconds) {
        const end = this.time + milliseconds
        await settle()
        for (;;) {
            const due = this.timers.filter(timer => timer.at <= end).sort((one, other) => one.at - other.at)[0]
            if (!due) break
            this.timers = this.timers.filter(timer => timer !== due)
            this.time = Math.max(this.time, due.at)
            due.callback()
            await settle()
        }
        this.time = end
        await settle()
    }

    get socket() { return this.sockets.at(-1) }
    get question() { return this.questions.at(-1) }
}

/** A page of `/sync/v1`. */
export const pageOf = (at, ids = [], more = false) => ({
    events: ids.map(id => ({ ent: "incident", id, type: "created", at, ts: 1 })), at, more,
})
export const eventOf = (id, at) => ({ ent: "incident", id, type: "created", at })
/** The kinds of updates, in short: ids for events. */
export const short = updates => updates.map(update => update.event?.id ?? Object.keys(update)[0])
