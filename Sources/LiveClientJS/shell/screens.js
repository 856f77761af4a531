// What the screens of an app show, fetched through one queue: details by id, lists page by page.
import { bindMethods } from "../core/bound.js"
import { FetchQueue } from "../core/fetches.js"
import { KnownThings } from "../core/known.js"
import { Relevance, thingKey } from "../core/relevance.js"
import { DetailsScreens } from "./detailsscreens.js"
import { setDue, systemEnvironment } from "./environment.js"
import { callApp, failureOf } from "./failures.js"
import { LiveGate } from "./gate.js"
import { PendingRequests } from "./pendingrequests.js"
import { ScreenLists } from "./screenlists.js"
import { readThingOf } from "./screensapi.js"
import { StoredLists } from "./storedlists.js"
import { ScreenToken } from "./screentoken.js"
import { Snapshot } from "./snapshots.js"

/** Later than all that anything waits for. */
const endOfTime = Number.MAX_SAFE_INTEGER

/** The lists and details that screens show of one machine's things. See types/screens.d.ts. */
export class Screens {
    /** Called when a list is another one than before: what `toStore` gives is too. For the machine. */
    onChange = () => {}

    #api
    #environment
    #onReload
    #relevance
    #queue
    #requests
    #token
    #lists
    #details = new DetailsScreens()
    /** By thing: {thing, value, whole}: the newest, and the newest that is more than a list's summary. */
    #values = new Map()
    /** When more values are kept than so many, and than twice as many as things are remembered, some go: `#forgetValues`. */
    #maximumValues = 0
    #maximumThings
    #timer = null
    #hasOwnGate
    #snapshot = new Snapshot()
    #onShown = () => {}
    #isFingerHeld = false
    #isClosed = false

    /**
     * @param api `{reload(thing, {signal}), page({list, request, signal})}`, see `ScreensAPI`
     * @param environment `{now, setTimer, clearTimer}`, such as a client's; left out: that of the page
     * @param onReload is given `{reloaded: {number, outcome, value, isAsBefore}}` or `{reloadFailed: {number, failure}}`
     */
    constructor({ api, environment = systemEnvironment(), onReload = () => {}, rules = [], settings = {}, gate }) {
        bindMethods(this)
        this.#api = api
        this.#hasOwnGate = gate !== undefined
        this.#environment = environment
        this.#onReload = onReload
        this.#relevance = new Relevance({ ...settings.relevance, rules })
        this.#queue = new FetchQueue(settings.fetches)
        this.#maximumThings = settings.fetches?.maximumThings ?? KnownThings.maximumThings
        this.#requests = new PendingRequests(environment, settings.requestDeadline, gate ?? new LiveGate(environment))
        this.#token = new ScreenToken(api, environment, this.#requests, () => this.#tokenChanged())
        const things = {
            ask: input => this.#ask(input), keep: (...known) => this.#keep(...known),
            placed: () => this.#forgetValues(), of: thing => this.#of(thing),
            follow: () => this.#follow(), changed: () => this.onChange(),
            _makeOld: thing => this.#ask({ pass: { number: 0, thing } }, { isSilent: true }),
            shown: () => this.#queue.view.shown.map(({ thing }) => thing), tell: thing => this.#tellDetails(thing),
        }
        this.#lists = new ScreenLists(api, environment, this.#requests, this.#token, this.#relevance, things, settings.lists)
        this.#tellShown()
    }

    /** Fetches made, merged and avoided, and answers dropped. */
    get counts() {
        const { made, merged, avoided, dropped } = this.#queue.view
        return { made, merged, avoided, dropped }
    }

    /** Neither the API's token nor the one after it was taken: nothing is asked until `tokenChanged()`. */
    get isUnauthorized() { return this.#token.isRefused }

    /**
     * Called when what the screens show becomes as the server has it, or is that no more: `{isComplete, hasFailed, isLoading}`;
     * and at once when it is set: screens may show something before they belong to a machine.
     */
    set onShown(listener) {
        this.#onShown = listener
        listener(this.getSnapshot())
    }

    /** `{isComplete, hasFailed, isLoading, isUnauthorized}` of all that is shown: the same object until something has changed. */
    getSnapshot() { return this.#snapshot.get() }

    subscribe(listener) { return this.#snapshot.subscribe(listener) }

    /** Somebody has signed in, or there is another token: what waits for one is asked for at once. */
    tokenChanged() { this.#token.change() }

    isShowing(thing) { return this.#relevance.isShowing(thing) }

    sawLive(thing, within) { return this.#relevance.sawLive(thing, within, this.#environment.now()) }

    /** What is known of a thing, shown or not, as `details` would say it first. */
    known(thing) { return { thing, ...this.#known(thing), failure: null, absence: null } }

    /** Shows a thing; `listener` is given each state, at once the first. Ends with `hide()` of what it returns. */
    details(screen, thing, listener) {
        if (this.#lists.has(screen)) throw new TypeError(`${JSON.stringify(screen)} is the name of a list: no details`)
        this.#hide(screen)
        const { isShown, snapshot } = this.#details.show(screen, thing, listener)
        this.#relevance.handle({ show: { screen, interest: { details: { thing } } } }, this.#environment.now())
        this.#follow()
        this.#tellDetails(thing)
        return {
            refresh: () => {
                if (!isShown()) return
                this.#requests.gate.refresh()
                this.#ask({ refresh: { thing } })
            },
            getSnapshot: snapshot.get, subscribe: snapshot.subscribe,
            // The screen may show something else by now.
            hide: () => { if (isShown()) this.#hide(screen) },
        }
    }

    /** Makes a list, which knows what it knows also while no screen shows it. */
    list(options) {
        const { name } = options
        if (this.#details.has(name)) throw new TypeError(`${JSON.stringify(name)} is the name of a screen of details`)
        return this.#lists.make(options, () => this.#hide(name))
    }

    /** What happened to a thing: the effect `reload` of the update machine. Answered by `onReload`, once for each number. */
    reload({ number, thing, types }) {
        this.#lists._noteEvent(thing, types)
        for (const effect of this.#relevance.handle({ changed: { number, thing, types } }, this.#environment.now())) {
            if (effect.remove) this.#lists.place(thing, null, effect.remove.screens)
            else if (effect.fetch) {
                const isRefused = this.#ask({ reload: effect.fetch }).some(({ reloadFailed }) => reloadFailed?.number === number)
                if (isRefused) this.#lists._noteRefusal(thing)
            }
            else this.#ask({ pass: effect.pass }, { passed: thing })
        }
        this.#tellDetails(thing)
    }

    dropReloads() {
        this.#lists.dropReloads()
        this.#ask({ dropReloads: {} })
    }

    /** The machine got a finger, or lost it. One that comes while there is one is new: what was known before is old. */
    setFinger(isHeld) {
        if (isHeld && this.#isFingerHeld) this.setFinger(false)
        if (isHeld === this.#isFingerHeld) return
        this.#isFingerHeld = isHeld
        this.#ask({ finger: { isHeld } })
        this.#lists.setFinger(isHeld)
        for (const thing of this.#details.things) this.#tellDetails(thing)
    }

    /** What the next visit may show of the lists, for `restore`. */
    toStore() { return this.#lists.toStore() }

    /** What an earlier visit has kept. While a finger is held it is as that says, otherwise old. */
    restore(lists) { this.#lists.restore(lists) }

    /** Has lists kept in a store that is about to be read: until then no page is asked for. */
    _keepLists(given) {
        this.#lists.awaitStored()
        return new StoredLists({ ...given, screens: this })
    }
    storedIsRead() { if (!this.#isClosed) this.#lists.storedIsRead() }

    setLive(isLive) { this.#relevance.handle({ live: { isLive } }, this.#environment.now()) }

    setVisible(isVisible) { this.#relevance.handle({ visible: { isVisible } }, this.#environment.now()) }

    /** There is a network again: what the one before has not answered has failed, and what waits is tried now. */
    networkIsBack() {
        this.#requests.networkIsBack()
        this.retryNow()
    }

    /** What is asked passes the gate of whoever shows these things, with its tokens, unless they have one of their own. */
    useGate(gate, tokens) {
        if (this.#hasOwnGate && gate !== this.#requests.gate) return
        Object.assign(this.#requests, { gate, tokens })
    }

    /** What waits to be tried again is tried now. */
    retryNow() {
        this.#ask({ wake: {} }, undefined, endOfTime)
        this.#lists.retryNow(endOfTime)
    }

    #tokenChanged() {
        if (this.#token._mayAsk) return this.retryNow()
        this.#lists._tellAll()
        for (const thing of this.#details.things) this.#tellDetails(thing)
        this.#tellShown()
    }

    /** Gives up all that is on its way. */
    close() {
        this.#isClosed = true
        this.#snapshot.close()
        this.#lists.close()
        this.#token.close()
        this.#environment.clearTimer(this.#timer)
        this.#requests.close()
    }

    #hide(screen) {
        const thing = this.#details.hide(screen)
        this.#relevance.handle({ hide: { screen } }, this.#environment.now())
        this.#lists.hide(screen, this.#queue)
        this.#follow()
        // It was given up with the details, but a list still waits for it.
        if (thing && this.#lists.awaits(thing)) this.#ask({ refresh: { thing } })
    }

    /** Tells the queue what the screens show. */
    #follow() {
        const { details: things, listed, takesNew } = this.#relevance
        this.#ask({ show: { things, listed, takesNew } })
    }

    // Things

    /** `found`: what a fetch has found, `{value}` or another member; `{passed}`, what no screen needs; `{isSilent}`. */
    #ask(input, found, now = this.#environment.now()) {
        if (this.#isClosed) return []
        const effects = this.#queue.handle(input, now)
        for (const effect of effects) this.#carryOut(effect, found)
        const due = this.#token._mayAsk ? this.#queue.wakeAt : null
        this.#timer = setDue(this.#environment, this.#timer, due, () => this.#ask({ wake: {} }))
        this.#tellShown()
        return effects
    }

    #tellShown() {
        const parts = [...this.#details.parts(thing => this.#queue.knowledge(thing, true)), ...this.#lists.parts]
        const isComplete = parts.every(part => part.isComplete), hasFailed = parts.some(part => part.hasFailed)
        const isLoading = this.#queue.view.running.length > 0 || parts.some(part => part.isLoading), before = this.getSnapshot()
        const shown = this.#snapshot.set({ isComplete, hasFailed, isLoading, isUnauthorized: this.isUnauthorized })
        if (shown !== before) this.#onShown(shown)
    }

    #carryOut(effect, found) {
        this.#environment.debug?.("screens", effect)
        if (effect.fetch) this.#fetch(effect.fetch)
        else if (effect.cancel) this.#requests.abort(`fetch ${effect.cancel.fetch}`)
        else if (effect.apply) this.#take(effect.apply, found)
        else if (effect.reloaded) {
            if (found?.isSilent) return
            // What a screen shows, and no rule has fetched, is as good as before.
            const isAsBefore = Boolean(found?.passed) && this.#queue.knowledge(found.passed) === "known"
            // An answer may have arrived after a newer one.
            const newest = found?.of && "value" in found && this.#values.get(thingKey(found.of))
            const value = newest ? newest.whole ?? newest.value : found?.value
            const reloaded = { ...effect.reloaded, value, ...(isAsBefore && { isAsBefore }) }
            callApp(this.#onReload, { reloaded })
        } else if (effect.reloadFailed) callApp(this.#onReload, effect)
        else if (effect.unavailable) {
            const { thing, failure } = effect.unavailable
            this.#details._noteFailure(thing, failure)
            this.#tellDetails(thing)
        }
    }

    #fetch({ fetch, thing }) {
        this.#requests.begin(`fetch ${fetch}`, signal => this.#token.ask(() => readThingOf(this.#api, thing, signal)),
            found => this.#ask({ fetched: { fetch, outcome: Object.keys(found)[0] } }, { ...found, of: thing }),
            error => {
                this.#ask({ failed: { fetch, failure: failureOf(error) } })
                this.#lists._noteFailure(thing)
            }, thingKey(thing), { call: "reload", thing })
    }

    #take({ thing, isLate }, found) {
        const hasValue = "value" in found
        if (hasValue) this.#keep(thing, found.value, true, isLate); else this.#values.delete(thingKey(thing))
        if (!hasValue) this.#details._noteAnswer(thing, Object.keys(found)[0])
        if (!isLate) this.#lists.place(thing, hasValue ? found.value : null)
        this.#forgetValues()
        this.#relevance.handle({ displayed: { thing } }, this.#environment.now())
        this.#tellDetails(thing)
    }

    #of(thing) { return { value: this.#values.get(thingKey(thing))?.value, knowledge: this.#queue.knowledge(thing) } }

    /** `isWhole`: it is more than a list's summary; `isLate`: a newer summary is there. */
    #keep(thing, value, isWhole, isLate) {
        const known = this.#values.get(thingKey(thing))
        this.#values.set(thingKey(thing), { thing, value: isLate ? known?.value : value, whole: isWhole ? value : known?.whole })
        if (isWhole) this.#details._noteAnswer(thing, null)
    }

    /**
     * The app was given this, as the answer to an action: it is shown at once, and what was asked for before does not replace it.
     *
     * @param isWhole false: it is no more than a list's summary
     */
    put(thing, value, { isWhole = true } = {}) {
        this.#ask({ put: { thing, isWhole } })
        this.#keep(thing, value, isWhole)
        this.#lists.place(thing, value)
        this.#forgetValues()
        this.#tellDetails(thing)
    }

    /** Values are kept as long as their things are remembered, or stand in a list. For when what was kept has its place. */
    #forgetValues() {
        if (this.#values.size <= Math.max(this.#maximumValues, 2 * this.#maximumThings)) return
        const listed = this.#lists._thingKeys
        for (const [key, { thing }] of this.#values) {
            if (this.#queue.knowledge(thing) === "unknown" && !listed.has(key)) this.#values.delete(key)
        }
        // The next pass runs when the values have doubled, so that its cost stays small.
        this.#maximumValues = 2 * this.#values.size
    }

    #tellDetails(thing) {
        if (!this.#isClosed) this.#details.tell(thing, this.#known(thing))
    }

    #known(thing) {
        const known = this.#values.get(thingKey(thing)), isWhole = known?.whole !== undefined
        return { value: isWhole ? known.whole : known?.value, knowledge: this.#queue.knowledge(thing, true), isWhole }
    }
}
