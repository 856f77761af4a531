// An app on the JavaScript module, and its user: as Tests/ChaosApps is in Swift. Node runs it in apps.js, a browser in page.js.

import {
    MemoryActionStore, MemoryStore, RequestError, Screens, compareKeys, connect, createMachine, openActions,
} from "../../../Sources/LiveClientJS/livegate.js"

/** As many as fit a screen. */
const listed = 20
const kind = "incident.mark"
/** Longer than the API is ever paused, in ms. */
const deadline = 15_000
/** What a user does next; written as often as it is likely. */
const deeds = ["nothing", "look", "look", "mark", "mark", "refresh", "background", "offline", "restart"]

const keyOfIncident = ({ number, id }) => ({ rank: -number, text: id })
const later = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
const between = (low, high) => low + Math.random() * (high - low)
const choice = values => values[Math.floor(Math.random() * values.length)]

class API {
    constructor({ base, account }) { Object.assign(this, { base, account }) }

    async ask(path, { signal, ...options } = {}) {
        const headers = { Authorization: `Bearer token-${this.account}`, "Content-Type": "application/json" }
        // Node 20 forgets the deadline of an `AbortSignal.any` that holds a timeout (nodejs/node#57736).
        const asking = new AbortController()
        const stop = () => asking.abort(signal.reason)
        const late = setTimeout(() => asking.abort(new DOMException("no answer", "TimeoutError")), deadline)
        if (signal?.aborted) stop()
        signal?.addEventListener("abort", stop)
        try {
            const answer = await fetch(this.base + path, { ...options, headers, cache: "no-store", signal: asking.signal })
            return await RequestError.check(answer).json()
        } finally {
            clearTimeout(late)
            signal?.removeEventListener("abort", stop)
        }
    }

    incident(id, signal) { return this.ask(`/incidents/${id}`, { signal }) }

    async page({ from, direction, limit, isInclusive }, signal) {
        const words = new URLSearchParams({ limit, direction })
        if (from.at) {
            words.set("from", -from.at.key.rank)
            words.set("inclusive", isInclusive ? "1" : "0")
        }
        const { incidents, more } = await this.ask(`/incidents?${words}`, { signal })
        return { items: incidents.map(value => ({ id: value.id, key: keyOfIncident(value), value })), isLast: !more }
    }

    async apply(actions, signal) {
        return (await this.ask("/actions", { method: "POST", body: JSON.stringify({ actions }), signal })).results
    }
}

/** What outlives a start of the app where it has no other store: for Node. */
export class Memory {
    #machine = new Map()
    #actions = new Map()

    open() {
        return {
            machine: new MemoryStore({ shelf: this.#machine }),
            actions: new MemoryActionStore({ show: () => {}, shelf: this.#actions }), close() {},
        }
    }
}

/** What a store gives that is late, as the SDK has it, when many pages begin at once: it is asked again. */
export async function patient(work) {
    for (;;) {
        try {
            return await work()
        } catch (error) {
            if (error.kind !== "late") throw error
        }
    }
}

export class App {
    #name
    #account
    #api
    #live
    #environment
    #memory
    #log
    #session = null
    #opened = null
    #isStopping = false
    #isCalm = false

    /**
     * - live: the gateway's address; api: that of the API; environment: what the module is to use instead of the system's.
     * - memory: its `open()` gives what a start of the app keeps its state in.
     * - log: `{opened, taken, told, marks}`, kept by `keep(log)` after each change.
     */
    constructor({ name, account, live, api, environment, memory, log, keep = () => {} }) {
        this.#name = name
        this.#account = account
        this.#api = new API({ base: api, account })
        this.#live = live
        this.#environment = environment
        this.#memory = memory
        this.#log = Object.assign({ opened: null, taken: [], told: [], marks: 0 }, log, { keep: () => keep(this.#log) })
    }

    async run() {
        await this.#open()
        while (!this.#isStopping) {
            await later(between(1_000, 8_000))
            if (!this.#isStopping) await this.#act()
        }
        this.#isCalm = true
    }

    calm() { this.#isStopping = true }

    async #open() {
        const memory = await this.#memory.open()
        const client = connect({
            url: this.#live, entities: ["incident"], account: this.#account, token: `token-${this.#account}`,
            // A network where nothing but polling works is found out by mistake, when everything is in trouble.
            pollInterval: 2_000, environment: this.#environment,
        })
        const session = { memory, client, list: null, details: null }
        session.machine = createMachine(client, {
            area: "incidents", entities: ["incident"], store: memory.machine, snapshot: async () => [],
            screens: onReload => session.screens = new Screens({
                api: {
                    reload: async ({ id }, { signal }) => ({ value: await this.#api.incident(id, signal) }),
                    page: ({ request, signal }) => this.#api.page(request, signal),
                },
                environment: client.environment, onReload, settings: { lists: { pageLimit: 12 } },
            }),
        })
        session.actions = await patient(() => openActions({
            store: memory.actions, send: (actions, signal) => this.#api.apply(actions, signal), renewToken: async () => {},
            report: news => this.#told(news), settings: { coalescing: 500 },
        }))
        const kept = new Set(session.actions.pending.map(({ value }) => value))
        for (const taken of this.#log.taken) if (!kept.has(taken.value)) taken.isUntold = true
        this.#log.keep()
        const list = session.screens.list({
            name: "list", entity: "incident", key: keyOfIncident, listener: state => { session.list = state },
        })
        list.show({ from: { beginning: {} }, direction: "forward", count: listed })
        this.#session = session
        if (this.#log.opened) this.#look(this.#log.opened)
    }

    #close() {
        const { memory, client, machine, screens, actions } = this.#session
        this.#session = null
        machine.close()
        screens.close()
        actions.close()
        client.close()
        memory.close()
    }

    #told(news) {
        const { action, status } = news.rejected ?? news.expired ?? { action: { value: "" }, status: 401 }
        this.#log.told.push({ value: action.value, status: status ?? 0 })
        this.#log.keep()
    }

    #look(id) {
        const session = this.#session
        session.shown?.hide()
        session.details = null
        session.shown = session.screens.details("details", { entity: "incident", id }, state => { session.details = state })
    }

    async #act() {
        const deed = choice(deeds)
        const { client, machine, actions } = this.#session
        if (deed === "look") {
            const incident = this.#choose()
            if (!incident) return
            this.#log.opened = incident.id
            this.#look(incident.id)
        } else if (deed === "mark") {
            await this.#mark()
        } else if (deed === "refresh") {
            machine.refresh()
        } else if (deed === "background") {
            client.enterBackground()
            await later(between(500, 3_000))
            client.enterForeground()
        } else if (deed === "offline") {
            client.pathChanged({ isSatisfied: false })
            actions.networkChanged(false)
            await this.#mark()
            await later(between(500, 3_000))
            client.pathChanged({ isSatisfied: true })
            actions.networkChanged(true)
        } else if (deed === "restart") {
            this.#close()
            await this.#open()
        }
    }

    /** One of those that the list shows. */
    #choose() {
        const values = (this.#session.list?.items ?? []).slice(0, listed).map(({ value }) => value).filter(Boolean)
        return values.length > 0 ? choice(values) : null
    }

    async #mark() {
        const incident = this.#choose()
        if (!incident) return
        const value = `${this.#name}#${++this.#log.marks}`
        // A page may end before it is known whether it was taken.
        const taken = { id: incident.id, value, isUntold: false, isTrying: true }
        this.#log.taken.push(taken)
        this.#log.keep()
        try {
            await this.#session.actions.set(kind, incident.id, value, this.#row(incident).mark)
        } catch (error) {
            // Nobody knows what came of it.
            if (error.kind === "late") return
            throw error
        }
        taken.isTrying = false
        this.#log.keep()
    }

    /** What is pending on top of what is known. */
    #row({ id, mark, version }) {
        return { id, mark: this.#session.actions.pendingValue(kind, id) ?? mark, version }
    }

    report() {
        const session = this.#session
        const report = {
            name: this.#name, account: this.#account, isCalm: this.#isCalm, list: null, details: null, stored: [], pending: [],
            taken: this.#log.taken, told: this.#log.told, state: "not open",
        }
        if (!session) return report
        const { machine, client, actions, list, details } = session
        const top = list?.complete.find(({ lower }) => "beginning" in lower)
        const isInside = key => top && (!top.upper.at || compareKeys(key, top.upper.at.key) <= 0)
        const shown = list?.items.filter(({ key, value }) => value && isInside(key)) ?? []
        if (list) {
            const isKnown = top !== undefined && list.knowledge === "known" && !list.isLoading
            report.list = { rows: shown.map(({ value }) => this.#row(value)), isKnown }
        }
        if (!details && this.#log.opened) report.details = { id: this.#log.opened, row: null, isKnown: false }
        if (details) {
            const isGone = details.absence !== null
            const row = details.value && !isGone ? this.#row(details.value) : null
            report.details = { id: details.thing.id, row, isKnown: isGone || details.knowledge === "known" }
        }
        report.stored = [...machine.entries.values()].map(value => this.#row(value))
        report.pending = actions.pending.map(({ value }) => value)
        const now = details && [details.knowledge, details.absence, details.failure, details.isFetching, details.value?.version]
        report.state = JSON.stringify([machine.state, client.state, client.way, machine.freshness, now])
        return report
    }
}
