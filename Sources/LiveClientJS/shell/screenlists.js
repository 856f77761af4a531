// The lists of `Screens`: which pages they load, where things stand in them, and what they are told.
import { thingKey } from "../core/relevance.js"
import { setDue } from "./environment.js"
import { failureOf } from "./failures.js"
import { NamedList } from "./namedlist.js"
import { readPageOf } from "./screensapi.js"

/** All lists, by their names. */
export class ScreenLists {
    #lists = new Map()
    #api
    #environment
    #requests
    #relevance
    #things
    #settings
    #lastPage = 0
    #isFingerHeld = false
    #isClosed = false

    /**
     * @param things what is known of things, and the queue that fetches them: `ask(input)` returns the queue's effects,
     *     `keep(thing, value)`, `of(thing)` gives `{value, knowledge}`, `follow()` says what is shown, `tell(thing)`
     */
    constructor({ api, environment, requests, relevance, things, settings }) {
        this.#api = api
        this.#environment = environment
        this.#requests = requests
        this.#relevance = relevance
        this.#things = things
        this.#settings = settings
    }

    has(name) { return this.#lists.has(name) }

    /** Makes a list, and what shows and ends it. */
    make(options) {
        const { name } = options
        if (this.#lists.has(name)) throw new TypeError(`there is a list ${JSON.stringify(name)} already`)
        const list = new NamedList(options, this.#settings)
        this.#lists.set(name, list)
        const isThere = () => this.#lists.get(name) === list
        if (this.#isFingerHeld) list.machine.handle({ finger: { isHeld: true } }, this.#environment.now())
        return {
            show: place => {
                if (!isThere()) throw new TypeError(`the list ${JSON.stringify(name)} is closed`)
                list.isShown = true
                this.#give(list, { show: place })
            },
            isThere,
            close: () => {
                this.#environment.clearTimer(list.timer)
                this.#lists.delete(name)
            },
        }
    }

    /** The screen of a list, if it is one, shows it no more. */
    hide(name, queue) {
        const list = this.#lists.get(name)
        if (!list?.isShown) return
        list.isShown = false
        list.forgetAll()
        const { running, waiting } = queue.view
        const isPending = [...running.map(({ thing }) => thing), ...waiting].some(thing => (
            thing.entity === list.entity && !list.has(thing.id)))
        this.#give(list, { hide: {} })
        // A new thing that it waited for is given up.
        if (isPending) this.#makeStale(list)
    }

    setFinger(isHeld) {
        this.#isFingerHeld = isHeld
        for (const list of this.#lists.values()) this.#give(list, { finger: { isHeld } })
    }

    dropReloads() { for (const list of this.#lists.values()) list.forgetAll() }

    /** Something happened to a thing. A list that is hidden does not fetch it: it knows less then, and says so. */
    noteEvent(thing, types) {
        for (const list of this.#of(thing)) {
            this.#give(list, { changed: { id: thing.id } })
            const { interest } = list
            const { fetch, removed } = this.#relevance.needs(interest, thing, types)
            const isMissing = fetch && !interest.list.ids.includes(thing.id)
            if (list.isShown) {
                if (isMissing) list.await(thing.id)
                continue
            }
            if (removed) this.#give(list, { removed: { id: thing.id } })
            if (isMissing) this.#makeStale(list)
        }
    }

    /** A thing was not fetched. A list that should perhaps have it knows that only by its page. */
    noteFailure(thing) { for (const list of this.#of(thing)) if (list.misses(thing.id)) this.#makeStale(list) }

    /** Puts a thing where its value says in the lists of its entity, or with null takes it off them. */
    place(thing, value, names) {
        for (const list of this.#of(thing)) {
            if (names && !names.includes(list.name)) continue
            const key = value === null ? null : list.keyOf(value)
            list.forget(thing.id)
            if (key === undefined) this.#makeStale(list)
            else this.#give(list, key ? { placed: { id: thing.id, key } } : { removed: { id: thing.id } })
        }
    }

    /** What waits to be tried again is due. */
    retryNow(endOfTime) { for (const list of this.#lists.values()) this.#give(list, { wake: {} }, endOfTime) }

    close() {
        this.#isClosed = true
        for (const list of this.#lists.values()) this.#environment.clearTimer(list.timer)
    }

    #of(thing) { return [...this.#lists.values()].filter(list => list.entity === thing.entity) }

    #makeStale(list) {
        if (!this.#isFingerHeld) return
        this.#give(list, { finger: { isHeld: false } })
        this.#give(list, { finger: { isHeld: true } })
    }

    #give(list, input, now = this.#environment.now()) {
        if (this.#isClosed) return
        for (const effect of list.machine.handle(input, now)) {
            if (effect.loadPage) this.#loadPage(list, effect.loadPage)
            else if (effect.giveUpPage) this.#requests.abort(`page ${list.page}`)
            // Each as if the event came now, behind the page.
            else for (const id of effect.reload.ids) this.#things.ask({ refresh: { thing: { entity: list.entity, id } } })
        }
        list.timer = setDue(this.#environment, list.timer, list.machine.wakeAt, () => this.#give(list, { wake: {} }))
        if (!input.changed) this.#tell(list)
    }

    #loadPage(list, { number, page: request }) {
        this.#lastPage += 1
        const page = this.#lastPage
        list.page = page
        this.#things.ask({ asked: { page } })
        this.#requests.begin(`page ${page}`, signal => readPageOf(this.#api, { list: list.name, request, signal }),
            ({ items, isLast }) => this.#take(list, { page, number, items, isLast }), error => {
                const after = failureOf(error).retry?.after
                this.#give(list, { pageFailed: { number, ...(after === undefined ? {} : { retryAfter: after }) } })
            })
    }

    #take(list, { page, number, items, isLast }) {
        const own = items.map(item => ({ ...item, thing: { entity: list.entity, id: item.id } }))
        const effects = this.#things.ask({ answered: { page, things: own.map(({ thing }) => thing) } })
        const accepted = new Set(effects.flatMap(({ accept }) => accept?.things ?? []).map(thingKey))
        for (const { thing, value } of own) if (accepted.has(thingKey(thing))) this.#things.keep(thing, value)
        this.#give(list, { pageLoaded: { number, items: own.map(({ id, key }) => ({ id, key })), isLast } })
        for (const { thing } of own) this.#things.tell(thing)
    }

    #tell(list) {
        const { items, ...rest } = list.machine.view
        if (list.isShown) {
            const show = { screen: list.name, interest: list.interest }
            this.#relevance.handle({ show }, this.#environment.now())
            this.#things.follow()
        }
        list.tell({
            ...rest, items: items.map(({ id, key }) => ({ id, key, ...this.#things.of({ entity: list.entity, id }) })),
        })
    }
}
