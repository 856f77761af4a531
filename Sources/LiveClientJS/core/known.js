// How far things can be trusted, by id (KnownThings.swift).
import { thingKey } from "./relevance.js"

/** How far each thing can be trusted: questions, changes and losses are numbered in one row, so that late tells from new. */
export class KnownThings {
    /** So many things are remembered; beyond it the eighth that was used longest ago goes. What is pinned stays. */
    static get maximumThings() { return 10_000 }

    #maximum
    #number = 0
    #isWatched = false
    /** Answers to questions from before this are old. */
    #staleBefore = 0
    /** As far as anything was forgotten: an answer to an older question may be older than what is forgotten. */
    #forgotten = 0
    /** By thing: {asked, whole, changed, isHeld}, `whole`: as `asked`, of an answer that was no summary; the one used last stands last. */
    #entries = new Map()
    /** On a screen now, by thing. */
    #pinned = new Map()

    constructor(maximum = KnownThings.maximumThings) { this.#maximum = Math.max(1, maximum) }

    /** Things that must not be forgotten, by `thingKey`: all that is on the screens. */
    pin(things) { this.#pinned = things }

    /** Numbers a question. */
    ask() { return (this.#number += 1) }

    /** `isWhole`: of all of it, not only of a list's summary. */
    knowledge(thing, isWhole = false) {
        const entry = this.#entries.get(thingKey(thing))
        if (!entry?.isHeld) return "unknown"
        return this.#isWatched && (isWhole ? entry.whole : entry.asked) > Math.max(entry.changed, this.#staleBefore) ? "known" : "knownStale"
    }

    /** Whether it changed since its last answer: what is old only because the finger was lost does not count. */
    hasChanged(thing) {
        const entry = this.#entries.get(thingKey(thing))
        return Boolean(entry?.isHeld) && entry.changed > entry.asked
    }

    /** Notes that the server changed it. */
    change(thing) {
        const changed = this.ask()
        this.#use(thing, entry => { entry.changed = changed })
    }

    /** Whether an answer to this question is old: something happened since. */
    wasChanged(thing, asked) {
        return Math.max(this.#entries.get(thingKey(thing))?.changed ?? 0, this.#staleBefore) > asked
    }

    /** Notes that events come from now on, or no more: what was asked before is old. */
    watch(isWatched) {
        this.#isWatched = isWatched
        this.#staleBefore = this.ask()
    }

    /** Notes an answer; false: a question asked later was answered before, and this answer is to be dropped. */
    answer(thing, asked, isGone = false) {
        let isNewest = true
        this.#use(thing, entry => {
            isNewest = asked >= entry.asked
            if (isNewest) Object.assign(entry, { asked, isHeld: !isGone, ...(isGone && { whole: 0 }) })
        })
        return isNewest
    }

    /** Notes that an answer was no summary; false: there is a newer one, or the thing is gone since. */
    answerWhole(thing, asked) {
        let isNewest = false
        this.#use(thing, entry => {
            isNewest = entry.isHeld && asked >= entry.whole
            if (isNewest) entry.whole = asked
        })
        return isNewest
    }

    /** Changes an entry, then forgets what is too much: maybe this one, if all others are pinned. */
    #use(thing, change) {
        const key = thingKey(thing)
        const entry = this.#entries.get(key) ?? { asked: 0, whole: 0, changed: this.#forgotten, isHeld: false }
        this.#entries.delete(key)
        this.#entries.set(key, entry)
        change(entry)
        if (this.#entries.size > this.#maximum) this.#forget(Math.max(1, Math.floor(this.#maximum / 8)))
    }

    #forget(count) {
        const free = [...this.#entries].filter(([key]) => !this.#pinned.has(key))
        for (const [key, { asked, changed }] of free.slice(0, count)) {
            this.#forgotten = Math.max(this.#forgotten, asked, changed)
            this.#entries.delete(key)
        }
    }
}
