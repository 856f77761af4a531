// Which things are fetched when (FetchQueue.swift).
import { KnownThings } from "./known.js"
import { isFinal } from "./pending.js"
import { thingKey } from "./relevance.js"
import { Retry, earliestOf } from "./retry.js"

const fetchDefaults = { maximumAtOnce: 4, maximumWaiting: 1_000, maximumThings: 10_000, maximumPages: 32, seed: 0 }

export class FetchQueue {
    #settings
    #known
    /** Waiting or on its way, by thing, in the order in which they came: see #job. */
    #jobs = new Map()
    /** What screens of details show; and these with what stands in lists. */
    #detailed = new Map()
    #shown = new Map()
    #takesNew = []
    /** Pages that are on their way, and the number of each one's question. */
    #pages = new Map()
    #lastFetch = 0
    #counts = { made: 0, merged: 0, avoided: 0, dropped: 0 }
    #effects = []

    constructor(settings) {
        this.#settings = { ...fetchDefaults, ...settings }
        this.#known = new KnownThings(this.#settings.maximumThings)
    }

    get view() {
        const jobs = [...this.#jobs.values()]
        return {
            running: jobs.filter(job => job.fetch !== null).sort((a, b) => a.fetch - b.fetch)
                .map(({ fetch, thing }) => ({ fetch, thing })),
            waiting: jobs.filter(job => job.isWaiting).map(job => job.thing),
            shown: [...this.#shown].map(([key, thing]) => (
                { thing, knowledge: this.#known.knowledge(thing, this.#detailed.has(key)) })),
            ...this.#counts,
        }
    }

    get wakeAt() { return earliestOf([...this.#jobs.values()].map(job => job.retryAt)) ?? null }

    knowledge(thing, isWhole) { return this.#known.knowledge(thing, isWhole) }

    handle(input, now) {
        this.#effects = []
        const [name] = Object.keys(input)
        const it = input[name]
        switch (name) {
        case "show": this.#show(it); break
        case "reload": this.#reload(it.number, it.thing); break
        case "pass":
            this.#counts.avoided += 1
            // What a screen shows and no rule fetches is as good as before.
            if (!this.#shown.has(thingKey(it.thing))) this.#known.change(it.thing)
            this.#effects.push({ reloaded: { number: it.number, outcome: "value" } })
            break
        case "refresh": this.#want(it.thing); break
        case "dropReloads": this.#dropReloads(); break
        case "finger": this.#setFinger(it.isHeld); break
        case "fetched": this.#receive(it.fetch, it.outcome); break
        case "failed": this.#fail(it.fetch, it.failure, now); break
        case "asked":
            this.#pages.set(it.page, this.#known.ask())
            if (this.#pages.size > this.#settings.maximumPages) this.#pages.delete(this.#pages.keys().next().value)
            break
        case "answered": this.#receivePage(it); break
        case "put": this.#put(it); break
        case "wake":
            for (const job of this.#jobs.values()) if (job.retryAt <= now) job.retryAt = null
            break
        default: throw new TypeError(`no such input: ${name}`)
        }
        this.#begin()
        return this.#effects
    }

    /** A job: the reloads that the next fetch answers (`next`), those that the one on its way answers (`now`), whether a
     *  screen waits, the fetch that is on its way with the number of its question. */
    #job(thing) {
        const key = thingKey(thing)
        const found = this.#jobs.get(key)
        if (found) return found
        const retry = new Retry(this.#settings.seed + this.#lastFetch)
        const job = {
            key, thing, next: [], now: [], _isForScreen: false, fetch: null, asked: 0, retryAt: null, retry,
            get isWaiting() { return this.fetch === null && (this.next.length > 0 || this._isForScreen) },
        }
        this.#jobs.set(key, job)
        return job
    }

    #show({ things, listed, takesNew }) {
        const before = this.#shown
        const wasDetailed = this.#detailed
        const byKey = all => new Map(all.slice(0, this.#settings.maximumWaiting).map(thing => [thingKey(thing), thing]))
        const goneLists = this.#takesNew.filter(entity => !takesNew.includes(entity))
        this.#detailed = byKey(things)
        this.#shown = byKey([...things, ...listed])
        this.#takesNew = takesNew
        this.#known.pin(this.#shown)
        for (const [key, job] of this.#jobs) {
            if (this.#shown.has(key)) continue
            if (before.has(key) || goneLists.includes(job.thing.entity)) this.#giveUp(job)
        }
        for (const [key, thing] of this.#shown) {
            // A list loads its stale things page by page, except those that changed by themselves while no screen showed them.
            const isOld = this.#detailed.has(key)
                ? !wasDetailed.has(key) && this.#known.knowledge(thing, true) !== "known"
                : !before.has(key) && this.#known.hasChanged(thing)
            if (isOld) this.#want(thing)
        }
    }

    /** Nobody looks any more: what is known of it is old, and the batch need not wait. */
    #giveUp(job) {
        const numbers = [...job.now, ...job.next]
        this.#cancel(job)
        if (numbers.length > 0) this.#known.change(job.thing)
        for (const number of numbers) this.#effects.push({ reloaded: { number, outcome: "value" } })
        this.#jobs.delete(job.key)
    }

    #cancel({ fetch }) { if (fetch !== null) this.#effects.push({ cancel: { fetch } }) }

    /** Nothing of it is on its way any more. Whoever waits for it still waits for the next fetch. */
    #rest(job, rest) {
        Object.assign(job, { fetch: null, now: [], ...rest })
        if (!job.isWaiting) this.#jobs.delete(job.key)
    }

    /** A screen waits for it. The fetch that is on its way does, as long as nothing has changed since. */
    #want(thing) {
        const job = this.#job(thing)
        if (job.fetch === null) job._isForScreen = true
    }

    #reload(number, thing) {
        this.#known.change(thing)
        if (!this.#jobs.has(thingKey(thing)) && this.#jobs.size >= this.#settings.maximumWaiting) {
            this.#effects.push({ reloadFailed: { number, failure: { retry: {} } } })
            return
        }
        const job = this.#job(thing)
        if (job.next.length > 0 || job.isWaiting) this.#counts.merged += 1
        job.next.push(number)
        // A new request ends the wait.
        job.retryAt = null
    }

    #dropReloads() {
        for (const [key, job] of this.#jobs) {
            const wasNeeded = job.now.length > 0 || job.next.length > 0
            job.now = []
            job.next = []
            if (!wasNeeded) continue
            if (!this.#shown.has(key)) this.#giveUp(job)
            else if (job.fetch === null) job._isForScreen = true
        }
    }

    #setFinger(isHeld) {
        this.#known.watch(isHeld)
        this.#pages.clear()
        for (const [key, job] of this.#jobs) {
            if (job.fetch === null) continue
            this.#cancel(job)
            this.#rest(job, { next: [...job.now, ...job.next], _isForScreen: this.#detailed.has(key) })
        }
        if (isHeld) for (const thing of this.#detailed.values()) this.#want(thing)
    }

    #running(fetch) { return [...this.#jobs.values()].find(job => job.fetch === fetch) }

    #receive(fetch, outcome) {
        const job = this.#running(fetch)
        const isNewest = job && this.#known.answer(job.thing, job.asked, outcome !== "value")
        const isWhole = job && outcome === "value" && this.#known.answerWhole(job.thing, job.asked)
        // It is older than a newer summary, but it is the newest answer with all of the thing.
        if (isNewest || isWhole) this.#effects.push({ apply: { fetch, thing: job.thing, outcome, ...(!isNewest && { isLate: true }) } })
        else this.#counts.dropped += 1
        if (!job) return
        for (const number of job.now) this.#effects.push({ reloaded: { number, outcome } })
        job.retry.reset()
        // It was passed over while no screen showed it, and now one does.
        const isOld = this.#shown.has(job.key) && this.#known.wasChanged(job.thing, job.asked)
        this.#rest(job, isOld && { _isForScreen: true })
    }

    #fail(fetch, failure, now) {
        const job = this.#running(fetch)
        if (!job) return
        for (const number of job.now) this.#effects.push({ reloadFailed: { number, failure } })
        const isShown = this.#shown.has(job.key)
        if (isShown) this.#effects.push({ unavailable: { thing: job.thing, failure } })
        // The server would refuse it again. So the screen shows the failure, until a refresh or an event.
        this.#rest(job, { _isForScreen: isShown && !isFinal(failure) })
        if (job.isWaiting && job.next.length === 0) job.retryAt = now + job.retry.waitAfter(failure.retry?.after)
    }

    /** An answer that was given to the app: what was asked for before is older. */
    #put({ thing, isWhole }) {
        const asked = this.#known.ask()
        this.#known.answer(thing, asked)
        if (isWhole) this.#known.answerWhole(thing, asked)
    }

    #receivePage({ page, things, isWhole = false }) {
        const asked = this.#pages.get(page)
        this.#pages.delete(page)
        if (asked === undefined) return
        const accepted = things.filter(thing => this.#known.answer(thing, asked))
        this.#counts.dropped += things.length - accepted.length
        for (const thing of accepted) {
            if (isWhole) this.#known.answerWhole(thing, asked)
            const key = thingKey(thing), job = this.#jobs.get(key)
            if (!job || this.#known.knowledge(thing, this.#detailed.has(key)) !== "known") continue
            job._isForScreen = false
            if (job.fetch === null) this.#rest(job)
        }
        this.#effects.push({ accept: { page, things: accepted } })
    }

    #begin() {
        const jobs = [...this.#jobs]
        let free = this.#settings.maximumAtOnce - jobs.filter(([, job]) => job.fetch !== null).length
        if (free <= 0) return
        const ready = jobs.filter(([, job]) => job.isWaiting && job.retryAt === null)
        const isShown = ([key]) => this.#shown.has(key)
        for (const [, job] of [...ready.filter(isShown), ...ready.filter(entry => !isShown(entry))]) {
            if ((free -= 1) < 0) return
            this.#lastFetch += 1
            this.#counts.made += 1
            Object.assign(job, {
                fetch: this.#lastFetch, asked: this.#known.ask(), now: job.next, next: [], _isForScreen: false,
            })
            this.#effects.push({ fetch: { fetch: job.fetch, thing: job.thing } })
        }
    }
}
