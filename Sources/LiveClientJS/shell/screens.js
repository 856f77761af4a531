// What the screens of an app show, fetched through one queue: details by id, lists by the page.
import { FetchQueue } from "../core/fetches.js"
import { PartialList } from "../core/partial.js"
import { Relevance, thingKey } from "../core/relevance.js"
import { ScreenRequests, screenFailure } from "./screenrequests.js"

/** The lists and details that screens show of one machine's things. See `Screens` in livegate.d.ts. */
export class Screens {
    /** When more values are kept, those of things that are not remembered go: twice as many as are remembered. */
    static maximumValues = 20_000

    #api
    #environment
    #onReload
    #relevance
    #queue
    #settings
    #lists = new Map()
    #details = new Map()
    /** By thing: {thing, value}. */
    #values = new Map()
    #requests = new ScreenRequests()
    #lastPage = 0
    #timer = null
    #isFingerHeld = false
    #isClosed = false

    /**
     * @param api `{reload(thing, {signal}), page({list, request, signal})}`, see `ScreensAPI`
     * @param environment `{now, setTimeout, clearTimeout}`
     * @param onReload is given `{reloaded: {number, outcome, value}}` and `{reloadFailed: {number, failure}}`
     */
    constructor({ api, environment, onReload = () => {}, rules = [], settings = {} }) {
        this.#api = api
        this.#environment = environment
        this.#onReload = onReload
        this.#settings = settings
        this.#relevance = new Relevance({ ...settings.relevance, rules })
        this.#queue = new FetchQueue(settings.fetches)
    }

    /** Fetches made, merged and avoided, and answers dropped. */
    get counts() {
        const { made, merged, avoided, dropped } = this.#queue.view
        return { made, merged, avoided, dropped }
    }

    isShowing(thing) { return this.#relevance.isShowing(thing) }

    sawLive(thing, within) { return this.#relevance.sawLive(thing, within, this.#environment.now()) }

    /** Shows a thing; `listener` is given each state, at once the first. Ends with `hide()` of what it returns. */
    details(screen, thing, listener) {
        this.#hide(screen)
        this.#details.set(screen, { thing, listener, failure: null })
        this.#relevance.handle({ show: { screen, interest: { details: { thing } } } }, this.#environment.now())
        this.#follow()
        this.#tellDetails(thing)
        return {
            refresh: () => this.#ask({ refresh: { thing } }),
            hide: () => this.#hide(screen),
        }
    }

    /** Makes a list, which knows what it knows also while no screen shows it. */
    list({ name, entity, takesNew = true, key, listener }) {
        if (this.#lists.has(name)) throw new TypeError(`there is a list ${JSON.stringify(name)} already`)
        const machine = new PartialList(this.#settings.lists)
        const list = { name, entity, takesNew, key, listener, machine, isShown: false, number: null, wait: null }
        this.#lists.set(name, list)
        if (this.#isFingerHeld) machine.handle({ finger: { isHeld: true } }, this.#environment.now())
        return {
            show: place => {
                list.isShown = true
                this.#tell(list, { show: place })
            },
            hide: () => this.#hide(name),
            close: () => {
                this.#hide(name)
                this.#environment.clearTimeout(list.wait)
                this.#lists.delete(name)
            },
        }
    }

    /** What happened to a thing: the effect `reload` of the update machine. Answered by `onReload`, once for each number. */
    reload({ number, thing, types }) {
        for (const list of this.#lists.values()) if (list.entity === thing.entity) this.#noteEvent(list, thing, types)
        for (const effect of this.#relevance.handle({ changed: { number, thing, types } }, this.#environment.now())) {
            if (effect.remove) this.#placeInLists(thing, null, effect.remove.screens)
            else if (effect.fetch) this.#ask({ reload: effect.fetch })
            else this.#ask({ pass: effect.pass })
        }
        this.#tellDetails(thing)
    }

    dropReloads() { this.#ask({ dropReloads: {} }) }

    /** The machine got a finger, or lost it. */
    setFinger(isHeld) {
        if (isHeld === this.#isFingerHeld) return
        this.#isFingerHeld = isHeld
        this.#ask({ finger: { isHeld } })
        for (const list of this.#lists.values()) this.#tell(list, { finger: { isHeld } })
        for (const { thing } of this.#details.values()) this.#tellDetails(thing)
    }

    setLive(isLive) { this.#relevance.handle({ live: { isLive } }, this.#environment.now()) }

    setVisible(isVisible) { this.#relevance.handle({ visible: { isVisible } }, this.#environment.now()) }

    /** Gives up all that is on its way. */
    close() {
        this.#isClosed = true
        for (const list of this.#lists.values()) this.#environment.clearTimeout(list.wait)
        this.#environment.clearTimeout(this.#timer)
        this.#requests.close()
    }

    // Screens

    #hide(screen) {
        this.#details.delete(screen)
        this.#relevance.handle({ hide: { screen } }, this.#environment.now())
        const list = this.#lists.get(screen)
        if (list?.isShown) {
            list.isShown = false
            const { running, waiting } = this.#queue.view
            const isPending = [...running.map(({ thing }) => thing), ...waiting].some(thing => (
                thing.entity === list.entity && !list.machine.view.items.some(item => item.id === thing.id)))
            this.#tell(list, { hide: {} })
            // A new thing that it waited for is given up.
            if (isPending) this.#makeStale(list)
        }
        this.#follow()
    }

    /** An event that comes while a list is hidden is not fetched: the list knows less then, and says so. */
    #noteEvent(list, thing, types) {
        this.#tell(list, { changed: { id: thing.id } })
        if (list.isShown) return
        const ids = list.machine.view.items.map(item => item.id)
        const interest = { list: { entity: list.entity, ids, takesNew: list.takesNew } }
        const { fetch, removed } = this.#relevance.needs(interest, thing, types)
        if (removed) this.#tell(list, { removed: { id: thing.id } })
        if (fetch && !ids.includes(thing.id)) this.#makeStale(list)
    }

    #makeStale(list) {
        if (!this.#isFingerHeld) return
        this.#tell(list, { finger: { isHeld: false } })
        this.#tell(list, { finger: { isHeld: true } })
    }

    /** Tells the queue what the screens show. */
    #follow() {
        const { details: things, listed, takesNew } = this.#relevance
        this.#ask({ show: { things, listed, takesNew } })
    }

    // Lists

    #tell(list, input) {
        if (this.#isClosed) return
        const now = this.#environment.now()
        for (const effect of list.machine.handle(input, now)) {
            if (effect.loadPage) this.#loadPage(list, effect.loadPage)
            else if (effect.giveUpPage) this.#requests.abort(`page ${list.number}`)
            // Each as if the event came now, behind the page.
            else for (const id of effect.reload.ids) this.#ask({ refresh: { thing: { entity: list.entity, id } } })
        }
        this.#environment.clearTimeout(list.wait)
        const due = list.machine.wakeAt
        list.wait = due === null ? null
            : this.#environment.setTimeout(() => this.#tell(list, { wake: {} }), Math.max(0, due - now))
        if (!input.changed) this.#tellList(list)
    }

    #loadPage(list, { number, page: request }) {
        this.#lastPage += 1
        const page = this.#lastPage
        list.number = page
        this.#ask({ asked: { page } })
        this.#requests.begin(`page ${page}`, signal => this.#api.page({ list: list.name, request, signal }),
            ({ items, isLast }) => this.#takePage(list, { page, number, items, isLast }),
            error => {
                const after = screenFailure(error).retry?.after
                this.#tell(list, { pageFailed: { number, ...(after === undefined ? {} : { retryAfter: after }) } })
            })
    }

    #takePage(list, { page, number, items, isLast }) {
        const own = items.map(item => ({ ...item, thing: { entity: list.entity, id: item.id } }))
        const effects = this.#ask({ answered: { page, things: own.map(({ thing }) => thing) } })
        const accepted = new Set(effects.flatMap(({ accept }) => accept?.things ?? []).map(thingKey))
        for (const { thing, value } of own) if (accepted.has(thingKey(thing))) this.#keep(thing, value)
        this.#tell(list, { pageLoaded: { number, items: own.map(({ id, key }) => ({ id, key })), isLast } })
        for (const { thing } of own) this.#tellDetails(thing)
    }

    /** Puts a thing where its value says in the lists of its entity, or takes it off them. */
    #placeInLists(thing, value, names) {
        for (const list of this.#lists.values()) {
            if (list.entity !== thing.entity || (names && !names.includes(list.name))) continue
            const key = value === null ? null : list.key(value)
            this.#tell(list, key ? { placed: { id: thing.id, key } } : { removed: { id: thing.id } })
        }
    }

    #tellList(list) {
        const { items, ...rest } = list.machine.view
        const now = this.#environment.now()
        if (list.isShown) {
            const ids = items.map(item => item.id)
            const interest = { list: { entity: list.entity, ids, takesNew: list.takesNew } }
            this.#relevance.handle({ show: { screen: list.name, interest } }, now)
            this.#follow()
        }
        list.listener?.({
            ...rest,
            items: items.map(({ id, key }) => {
                const thing = { entity: list.entity, id }
                return { id, key, value: this.#values.get(thingKey(thing))?.value, knowledge: this.#queue.knowledge(thing) }
            }),
        })
    }

    // Things

    /** `found` is what a fetch has found: `{value}` or another member. */
    #ask(input, found) {
        if (this.#isClosed) return []
        const now = this.#environment.now()
        const effects = this.#queue.handle(input, now)
        for (const effect of effects) this.#carryOut(effect, found)
        this.#environment.clearTimeout(this.#timer)
        const due = this.#queue.wakeAt
        this.#timer = due === null ? null
            : this.#environment.setTimeout(() => this.#ask({ wake: {} }), Math.max(0, due - now))
        return effects
    }

    #carryOut(effect, found) {
        if (effect.fetch) this.#fetch(effect.fetch)
        else if (effect.cancel) this.#requests.abort(`fetch ${effect.cancel.fetch}`)
        else if (effect.apply) this.#take(effect.apply.thing, found)
        else if (effect.reloaded) this.#onReload({ reloaded: { ...effect.reloaded, value: found?.value } })
        else if (effect.reloadFailed) this.#onReload(effect)
        else if (effect.unavailable) {
            const { thing, failure } = effect.unavailable
            this.#noteFailure(thing, failure)
            this.#tellDetails(thing)
        }
    }

    #fetch({ fetch, thing }) {
        this.#requests.begin(`fetch ${fetch}`, signal => this.#api.reload(thing, { signal }),
            found => this.#ask({ fetched: { fetch, outcome: Object.keys(found)[0] } }, found),
            error => {
                this.#ask({ failed: { fetch, failure: screenFailure(error) } })
                // A list that should perhaps have it knows that only by its page.
                for (const list of this.#lists.values()) {
                    const isThere = list.machine.view.items.some(item => item.id === thing.id)
                    if (list.entity === thing.entity && !isThere) this.#makeStale(list)
                }
            })
    }

    #take(thing, found) {
        const hasValue = "value" in found
        if (hasValue) this.#keep(thing, found.value); else this.#values.delete(thingKey(thing))
        this.#placeInLists(thing, hasValue ? found.value : null)
        this.#relevance.handle({ displayed: { thing } }, this.#environment.now())
        this.#tellDetails(thing)
    }

    /** Values are kept as long as their things are remembered. */
    #keep(thing, value) {
        this.#values.set(thingKey(thing), { thing, value })
        this.#noteFailure(thing, null)
        if (this.#values.size <= Screens.maximumValues) return
        for (const [key, { thing: kept }] of this.#values) {
            if (this.#queue.knowledge(kept) === "unknown") this.#values.delete(key)
        }
    }

    #noteFailure(thing, failure) {
        for (const details of this.#details.values()) {
            if (thingKey(details.thing) === thingKey(thing)) details.failure = failure
        }
    }

    #tellDetails(thing) {
        for (const { thing: shown, listener, failure } of this.#details.values()) {
            if (thingKey(shown) !== thingKey(thing)) continue
            const value = this.#values.get(thingKey(thing))?.value
            listener({ thing, value, knowledge: this.#queue.knowledge(thing), failure })
        }
    }
}
