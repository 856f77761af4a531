// What the page knows of incidents: a machine of the module, and the screens that decide what is fetched. No DOM.

import { RefreshCounts } from "../../LiveClientJS/counting.js"
import { Screens, compareKeys, createMachine, keyOf } from "../../LiveClientJS/livegate.js"

/** Incidents of a page of the list. */
const pageLimit = 25
/** The server keeps no more: all of them fit into one answer. */
const maximumIncidents = 100
/** Answers to what people did that are kept until something newer comes. */
const maximumAnswers = 100
/** The page's name among what is counted. */
const screen = "incidents"

const thingOf = id => ({ entity: "incident", id })
/** The newest first. */
const keyOfIncident = ({ number, id }) => ({ rank: -number, text: id })

/** The incident that the end of an address names; null: none, or nothing that can be read. */
export function idOf(hash) {
    try {
        const id = decodeURIComponent(hash.slice(1))
        return id === "" || id === "list" ? null : id
    } catch {
        return null
    }
}

/** The list and the details, as they are known now. */
export class Incidents {
    #api
    #onRead
    #now
    #machine
    #screens
    #list
    #listed = null
    #count = pageLimit
    #details = null
    #detailed = null
    /** What the last visit knew, by the module's keys: shown as old until something newer comes. */
    #stored = null
    #answers = new Map()
    #changed
    /** By day, how the page is refreshed; it begins at the midnight of who looks. */
    #refreshes = new RefreshCounts({ dayOffset: -new Date().getTimezoneOffset() * 60_000 })
    /** What was counted of fetches already. */
    #fetches = { made: 0, merged: 0, avoided: 0 }
    #time

    /**
     * - store: keeps what is known for the next visit; null: nothing does.
     * - read(incident, askedAt): the API has answered with this, to a question of this time of `now()`.
     * - changed(): something that can be seen here is another.
     */
    constructor({ api, client, store, now, read, changed }) {
        this.#api = api
        this.#now = now
        this.#onRead = read
        this.#changed = changed
        this.#time = client.environment.now
        this.#machine = createMachine(client, {
            area: "incidents", entities: ["incident"], store: store ?? undefined,
            // What the next visit begins with; what is shown now arrives by the pages of the list.
            snapshot: async ({ signal }) => {
                const { incidents } = await api.list(null, pageLimit, signal)
                return incidents.map(incident => [keyOf(thingOf(incident.id)), incident])
            },
            screens: onReload => this.#screens = new Screens({
                api: {
                    reload: (thing, { signal }) => this.#reload(thing.id, signal),
                    page: ({ request, signal }) => this.#page(request, signal),
                },
                environment: client.environment, onReload, settings: { lists: { pageLimit } },
            }),
            shown: times => {
                this.#note({ refreshed: { screen, isManual: false } })
                for (const { ts } of times) this.#note({ shown: { screen, ts } })
                changed()
            },
        })
        this.#machine.watch(() => {
            if (this.#machine.isLoaded) this.#stored ??= this.#machine.entries
            changed()
        })
        this.#list = this.#screens.list({
            name: "list", entity: "incident", key: keyOfIncident,
            listener: state => {
                this.#listed = state
                changed()
            },
        })
    }

    /** What people are shown of the connection; undefined: nothing is wrong, or not for long enough. */
    get sign() { return this.#machine.sign }
    get isConnected() { return "connected" in this.#machine.freshness }
    /** Fetches made, merged and avoided. */
    get counts() { return this.#screens.counts }

    /** What `RefreshCounts` has counted, of this visit and those before it in this tab: an app sends it where it likes. */
    refreshes() {
        const { counts } = this, before = this.#fetches
        const news = name => counts[name] - before[name]
        this.#note({ fetches: { screen, made: news("made"), merged: news("merged"), avoided: news("avoided") } })
        this.#fetches = counts
        return this.#refreshes.view.counts
    }

    /** A visit before this one has counted so; `isReloaded`: it ended because somebody wanted to see something newer. */
    goOn(counts, isReloaded) {
        this.#note({ loaded: { counts } })
        if (isReloaded) this.#note({ refreshed: { screen, isManual: true } })
    }

    #note(input) { this.#refreshes.handle(input, this.#time()) }

    /** Whether the list can be seen: what nobody looks at is not fetched. */
    showList(isShown) {
        if (!isShown) return this.#list.hide()
        this.#list.show({ from: { beginning: {} }, direction: "forward", count: this.#count })
    }

    showMore() {
        this.#count = this.list.incidents.length + pageLimit
        this.showList(true)
    }

    /** The stretch of the list that begins with the newest: `{incidents, isKnown, isOld, hasMore, isFailing}`. */
    get list() {
        const { items = [], complete = [], stale = [], failures = 0 } = this.#listed ?? {}
        const top = ({ lower }) => "beginning" in lower
        const known = complete.find(top)
        const stretch = known ?? stale.find(top)
        const isFailing = failures > 0
        // Before the first page arrives there is what the last visit knew.
        if (!stretch) {
            const incidents = [...this.#stored?.values() ?? []].sort((a, b) => b.number - a.number)
            return { incidents, isKnown: incidents.length > 0, isOld: true, hasMore: false, isFailing }
        }
        const isInside = key => !stretch.upper.at || compareKeys(key, stretch.upper.at.key) <= 0
        const shown = items.filter(({ key, value }) => value && isInside(key))
        const incidents = shown.map(({ value }) => this.#newest(value))
        return { incidents, isKnown: true, isOld: !known, hasMore: !("end" in stretch.upper), isFailing }
    }

    /** Shows the details of an incident; null: of none. */
    showDetails(id) {
        this.#details?.hide()
        this.#details = this.#detailed = null
        if (id === null) return
        this.#details = this.#screens.details("details", thingOf(id), state => {
            this.#detailed = state
            this.#changed()
        })
        // A page of the list has no notes.
        this.#details.refresh()
    }

    /** What the details show: `{incident, isOld, isGone, failure}`, `incident` undefined while nothing is known. */
    get details() {
        const { thing, value, knowledge, failure = null, absence = null } = this.#detailed ?? {}
        const isGone = absence !== null
        const known = thing && !isGone ? value ?? this.#stored?.get(keyOf(thing)) : undefined
        const incident = known && this.#newest(known)
        return { incident, isOld: knowledge !== "known", isGone, failure }
    }

    /** The incident as the answer to what somebody did has it: it counts until something newer was fetched. */
    answered(incident) {
        this.#answers.delete(incident.id)
        this.#answers.set(incident.id, incident)
        if (this.#answers.size > maximumAnswers) this.#answers.delete(this.#answers.keys().next().value)
        this.#changed()
    }

    #newest(value) {
        const answer = this.#answers.get(value.id)
        return answer?.updated_at > value.updated_at ? answer : value
    }

    // The API

    async #reload(id, signal) {
        const askedAt = this.#now()
        const incident = await this.#api.details(id, signal)
        this.#onRead(incident, askedAt)
        return { value: incident }
    }

    async #page({ from, limit, isInclusive }, signal) {
        const askedAt = this.#now()
        const { incidents, more } = await this.#behind(from.at?.key, isInclusive, limit, signal)
        for (const incident of incidents) this.#onRead(incident, askedAt)
        const items = incidents.map(incident => (
            { id: incident.id, key: keyOfIncident(incident), value: this.#withNotes(incident) }))
        // With the notes of the details they are as good as those.
        return { items, isLast: !more, isWhole: true }
    }

    /** What the API has behind a place of the list; undefined: from its beginning. */
    async #behind(key, isInclusive, limit, signal) {
        if (!key) return this.#api.list(null, limit, signal)
        try {
            if (!isInclusive) return await this.#api.list(key.text, limit, signal)
        } catch (error) {
            if (error.status !== 404) throw error
        }
        // The API pages from an incident only while that exists.
        const { incidents, more } = await this.#api.list(null, maximumIncidents, signal)
        const distance = incident => compareKeys(keyOfIncident(incident), key)
        return { incidents: incidents.filter(incident => distance(incident) >= (isInclusive ? 0 : 1)), more }
    }

    /** A page of the list has no notes: those of the details stay until the details come. */
    #withNotes(incident) {
        const known = this.#detailed?.value
        return known?.id === incident.id ? { ...known, ...incident } : incident
    }
}
