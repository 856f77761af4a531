// The lists of `Screens`: which pages they load, where things are in them, and which events they receive.
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
    #token
    #relevance
    #things
    #settings
    /** What an earlier visit knew of lists that are not made yet, by name; `page` is the number of its question. */
    #stored = new Map()
    #lastPage = 0
    #isFingerHeld = false
    /** What an earlier visit has kept is being read: until then no page is asked for. */
    #awaitsStored = false
    #isClosed = false

    /**
     * @param things what is known of things, and the queue that fetches them: `ask(input)` returns the queue's effects,
     *     `keep(thing, value)`, `placed()`: what was kept stands in its lists; `of(thing)` gives `{value, knowledge}`,
     *     `follow()` says what is shown, `tell(thing)`, `_makeOld(thing)`: it has changed, and was not fetched; `shown()`: the
     *     things on screens; `changed()`: a list is another one
     */
    constructor(api, environment, requests, token, relevance, things, settings) {
        this.#api = api
        this.#environment = environment
        this.#requests = requests
        this.#token = token
        this.#relevance = relevance
        this.#things = things
        this.#settings = settings
    }

    awaitStored() { this.#awaitsStored = true }

    storedIsRead() {
        this.#awaitsStored = false
        for (const list of this.#lists.values()) if (list.isShown) this.#give(list, { show: list.place })
    }

    has(name) { return this.#lists.has(name) }

    /** Of all things that stand in lists. */
    get _thingKeys() {
        const lists = [...this.#lists.values()]
        return new Set(lists.flatMap(({ entity, machine }) => machine.view.items.map(({ id }) => thingKey({ entity, id }))))
    }

    /** Whether a list on a screen should perhaps have the thing, which is being fetched. */
    awaits(thing) { return this.#of(thing).some(list => list.isShown && list.awaits(thing.id)) }

    /** Of each list on a screen: whether it is as the server has it, and whether that could not be fetched. */
    get parts() {
        return [...this.#lists.values()].filter(list => list.isShown).map(({ entity, machine: { view } }) => ({
            isComplete: view.knowledge === "known" && view.items.every(({ id }) => this.#things.of({ entity, id }).knowledge !== "knownStale"),
            hasFailed: view.failures > 0, isLoading: view.isLoading,
        }))
    }

    /** Makes a list, and gives what shows and ends it. @param hide its screen shows it no more */
    make(options, hide) {
        const { name } = options
        if (this.#lists.has(name)) throw new TypeError(`there is a list ${JSON.stringify(name)} already`)
        const list = new NamedList(options, this.#settings)
        this.#lists.set(name, list)
        list.snapshot.set(this.#stateOf(list))
        const isThere = () => this.#lists.get(name) === list, ifThere = work => given => { if (isThere()) work(given) }
        // Nothing has recorded for it what happened since, so it is old as a whole.
        const stored = this.#recall(list)
        if (stored) list.machine.handle({ stored }, this.#environment.now())
        if (this.#isFingerHeld) list.machine.handle({ finger: { isHeld: true } }, this.#environment.now())
        return {
            show: place => {
                if (!isThere()) throw new TypeError(`the list ${JSON.stringify(name)} is closed`)
                list.isShown = true
                list.place = place
                if (this.#awaitsStored) this.#tell(list)
                else this.#give(list, { show: place })
            },
            setVisible: ifThere(ids => {
                list.visible = ids ?? null
                if (list.isShown) this.#tell(list)
            }),
            hide: ifThere(hide), getSnapshot: list.snapshot.get, subscribe: list.snapshot.subscribe,
            close: ifThere(() => {
                hide()
                this.#environment.clearTimer(list.timer)
                this.#lists.delete(name)
                this.#things.changed()
            }),
        }
    }

    /** The screen of a list, if it is one, shows it no more. */
    hide(name, queue) {
        const list = this.#lists.get(name)
        if (!list?.isShown) return
        list.isShown = false
        list._forgetAll()
        const { running, waiting } = queue.view
        const isPending = [...running.map(({ thing }) => thing), ...waiting].some(thing => (
            thing.entity === list.entity && !list.has(thing.id)))
        this.#give(list, { hide: {} })
        // A new thing that it waited for is given up.
        if (isPending) this.#makeStale(list)
    }

    /** What the next visit may show: `{name, entity, intervals, items}` of each list. */
    toStore() {
        return [...this.#lists.values()].map(list => (
            list.toStore(this.#isFingerHeld, id => this.#things.of({ entity: list.entity, id }))))
    }

    /** What an earlier visit has kept, which is as the finger says, if that is held. */
    restore(lists) {
        for (const stored of lists) {
            this.#stored.set(stored.name, { ...stored, page: this.#askForPage() })
            const list = this.#lists.get(stored.name)
            const known = list && this.#recall(list)
            if (known) this.#give(list, { stored: known })
        }
    }

    /** What was kept of a list: its intervals and items. What is known of their values is known again. */
    #recall(list) {
        const stored = this.#stored.get(list.name)
        this.#stored.delete(list.name)
        if (stored?.entity !== list.entity) return null
        const taken = this.#withoutWorse(list, stored.items)
        const things = this.#learn(list, stored.page, taken)
        for (const { id, isOld } of taken) if (isOld) this.#things._makeOld({ entity: list.entity, id })
        // An answer that was asked for before counts as older: details that wait for it have this one.
        for (const thing of things) this.#things.tell(thing)
        return { intervals: stored.intervals, items: stored.items.map(({ id, key }) => ({ id, key })) }
    }

    /** What was old when it was kept is none for a thing that is known; where a screen shows its thing, that is fetched. */
    #withoutWorse(list, items) {
        if (!this.#isFingerHeld || !items.some(({ isOld }) => isOld)) return items
        const shown = new Set(this.#things.shown().map(thingKey))
        return items.filter(({ id, isOld }) => {
            const thing = { entity: list.entity, id }
            const isKnown = this.#things.of(thing).knowledge === "known", isShown = shown.has(thingKey(thing))
            if (isOld && isShown && !isKnown) this.#things.ask({ refresh: { thing } })
            return !isOld || !(isShown || isKnown)
        })
    }

    setFinger(isHeld) {
        this.#isFingerHeld = isHeld
        for (const list of this.#lists.values()) this.#give(list, { finger: { isHeld } })
    }

    dropReloads() { for (const list of this.#lists.values()) list._forgetAll() }

    /** Something happened to a thing. A list that is hidden does not fetch it: it knows less then, and says so. */
    _noteEvent(thing, types) {
        for (const list of this.#of(thing)) {
            this.#things.changed()
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
    _noteFailure(thing) { for (const list of this.#of(thing)) if (list.misses(thing.id)) this.#makeStale(list) }

    /** Too many things are being fetched. What a list misses comes by its page; one that is on its way sees to it itself. */
    _noteRefusal(thing) {
        for (const list of this.#of(thing)) if (list.awaits(thing.id) && !list.machine.view.isLoading) this.#makeStale(list)
    }

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

    /** Tells each what it was told, where nothing but the token is another one. */
    _tellAll() { for (const list of this.#lists.values()) this.#tell(list) }

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
            this.#environment.debug?.(`list ${list.name}`, effect)
            if (effect.loadPage) this.#loadPage(list, effect.loadPage)
            else if (effect.giveUpPage) this.#requests.abort(`page ${list.page}`)
            // Each as if the event arrived now, after the page. A thing that cannot be fetched is in no page yet.
            else for (const id of effect.reload.ids) {
                list.forget(id)
                list.await(id)
                this.#things.ask({ refresh: { thing: { entity: list.entity, id } } })
            }
        }
        const due = this.#token._mayAsk ? list.machine.wakeAt : null
        list.timer = setDue(this.#environment, list.timer, due, () => this.#give(list, { wake: {} }))
        if (!input.changed) this.#tell(list)
    }

    #loadPage(list, { number, page: request }) {
        const page = this.#askForPage()
        list.page = page
        const read = signal => readPageOf(this.#api, { list: list.name, request, signal })
        this.#requests.begin(`page ${page}`, signal => this.#token.ask(() => read(signal)),
            found => this.#take(list, { ...found, page, number }), error => {
                list.failure = failureOf(error)
                const { rejected, retry } = list.failure
                const why = rejected ? { isRefused: true } : retry?.after === undefined ? {} : { retryAfter: retry.after }
                this.#give(list, { pageFailed: { number, ...why } })
            }, list, { call: "page", name: list.name })
    }

    #askForPage() {
        this.#lastPage += 1
        this.#things.ask({ asked: { page: this.#lastPage } })
        return this.#lastPage
    }

    #take(list, { page, number, items, isLast, isWhole = false }) {
        const things = this.#learn(list, page, items, isWhole)
        list.failure = null
        this.#give(list, { pageLoaded: { number, items: items.map(({ id, key }) => ({ id, key })), isLast } })
        // What the fetches had no space for has now arrived.
        list._forgetThere()
        this.#things.placed()
        for (const thing of things) this.#things.tell(thing)
    }

    /** Keeps the values of an answer that are not older than what is known. Returns the things. */
    #learn(list, page, items, isWhole = false) {
        const things = items.map(({ id }) => ({ entity: list.entity, id }))
        const effects = this.#things.ask({ answered: { page, things, isWhole } })
        const accepted = new Set(effects.flatMap(({ accept }) => accept?.things ?? []).map(thingKey))
        things.forEach((thing, index) => {
            if (accepted.has(thingKey(thing))) this.#things.keep(thing, items[index].value, isWhole)
        })
        return things
    }

    #tell(list) {
        if (list.isShown) {
            const show = { screen: list.name, interest: list.interest, visible: list._visibleIDs }
            this.#relevance.handle({ show }, this.#environment.now())
            this.#things.follow()
        }
        this.#things.changed()
        list.tell(this.#stateOf(list))
    }

    #stateOf(list) {
        const { items, ...rest } = list.machine.view
        return {
            ...rest, stretch: list.machine.stretch, isUnauthorized: this.#token.isRefused, failure: list.failure,
            items: items.map(({ id, key }) => ({ id, key, ...this.#things.of({ entity: list.entity, id }) })),
        }
    }
}
