// A list of which some parts are known: what it shows, and which page to load next (PartialList.swift).
import {
    CompleteIntervals, compareEnds, compareKeys, compareTexts, intervalHasEnd, intervalOf, isOuterEnd, keyEnd, outerEnd,
} from "./intervals.js"
import { Retry } from "./retry.js"

const listDefaults = { pageLimit: 50, maximumItems: 10_000, maximumIntervals: 64, maximumChanges: 200, seed: 0 }

export class PartialList {
    wakeAt = null
    #settings
    #intervals
    /** In their order; and the key of each id. */
    #items = []
    #keys = new Map()
    #place = null
    /** The page that is on its way: {number, request, isWatched, changed, _isOverrun}. */
    #page = null
    /** What the server does not give: it is asked for when a screen shows the list anew, or with another finger. */
    #refused = null
    #isFingerHeld = false
    #retry
    #lastNumber = 0
    #effects = []

    constructor(settings) {
        this.#settings = { ...listDefaults, ...settings }
        this.#intervals = new CompleteIntervals(this.#settings.maximumIntervals)
        this.#retry = new Retry(this.#settings.seed)
    }

    get view() {
        return {
            items: this.#items, complete: this.#intervals.complete, stale: this.#intervals.stale,
            knowledge: this.#place ? this.#intervals.knowledge(this.#shown()) : undefined,
            isLoading: this.#page !== null, failures: this.#retry.failures,
        }
    }

    /**
     * What can be drawn without a hole from where the screen is: `{ids, isComplete, isStale}`; undefined while no screen shows the
     * list. Without anything known there it is empty, and says nothing of what is behind.
     */
    get stretch() {
        if (!this.#place) return undefined
        const { from, direction } = this.#place, isForward = direction === "forward"
        const end = this.#intervals.knownEnd(from, direction)
        if (!end) return { ids: [], isComplete: false, isStale: false }
        const known = intervalOf(from, end, isForward)
        const ids = this.#items.filter(({ key }) => intervalHasEnd(known, keyEnd(key))).map(({ id }) => id)
        return {
            ids: isForward ? ids : ids.reverse(), isComplete: isOuterEnd(end, isForward),
            isStale: this.#intervals.knowledge(known) !== "known",
        }
    }

    handle(input, now) {
        this.#effects = []
        const [name] = Object.keys(input)
        const it = input[name]
        switch (name) {
        case "show":
            this.#refused = null
            this.#place = { ...it, count: Math.min(Math.max(0, it.count), Math.floor(this.#settings.maximumItems / 2)) }
            break
        case "hide":
            this.#place = null
            this.wakeAt = null
            break
        case "finger": this.#setFinger(it.isHeld); break
        case "stored": this.#restore(it); break
        case "pageLoaded":
        case "pageFailed": {
            const page = this.#page
            if (page?.number !== it.number) return []
            this.#page = null
            if (name === "pageLoaded") this.#receive(page, it.items, it.isLast, now); else this.#fail(it.retryAfter, now)
            if (it.isRefused) [this.#refused, this.wakeAt] = [page.request, null]
            break
        }
        case "changed": this.#noteChange(it.id); break
        case "placed":
            this.#noteChange(it.id)
            this.#set(it.id, this.#intervals.knowledgeOfKey(it.key) === "unknown" ? null : it.key)
            if (this.#items.length > this.#settings.maximumItems) this.#limitItems()
            break
        case "removed":
            this.#noteChange(it.id)
            this.#set(it.id, null)
            break
        case "wake":
            if (this.wakeAt <= now) this.wakeAt = null
            break
        default: throw new TypeError(`no such input: ${name}`)
        }
        this.#askNext()
        return this.#effects
    }

    /** All that the screen shows: up to the item at which it is full, or to the end. */
    #shown() {
        const { from, direction, count } = this.#place
        const isForward = direction === "forward"
        if (!count) return { lower: from, upper: from }
        const ahead = itemsAhead(this.#items, from, isForward)
        const full = ahead.at(isForward ? count - 1 : -count)
        return intervalOf(from, full ? keyEnd(full.key) : outerEnd(isForward), isForward)
    }

    #askNext() {
        const next = this.#place ? this.#nextPage() : null
        if (this.#page && !isSamePage(this.#page.request, next)) this.#giveUpPage()
        if (!next || this.#page || this.wakeAt !== null || (this.#refused && isSamePage(this.#refused, next))) return
        const known = this.#intervals.knowledge(this.#shown())
        if (known === "known" || (!this.#isFingerHeld && known !== "unknown")) return
        this.#lastNumber += 1
        const isWatched = this.#isFingerHeld
        this.#page = { number: this.#lastNumber, request: next, isWatched, changed: new Set(), _isOverrun: false }
        this.#effects.push({ loadPage: { number: this.#lastNumber, page: next } })
    }

    /** Behind what is known from the screen on. Without a finger what is loaded is old at once, and is not loaded again. */
    #nextPage() {
        const known = this.#intervals.copy()
        if (!this.#isFingerHeld) for (const interval of this.#intervals.stale) known.insert(interval)
        return known.nextPage(this.#place.from, this.#place.direction, this.#settings.pageLimit)
    }

    #giveUpPage() {
        if (this.#page) this.#effects.push({ giveUpPage: { number: this.#page.number } })
        this.#page = null
    }

    #receive(page, answer, isLast, now) {
        const { from, direction, isInclusive } = page.request
        const isForward = direction === "forward"
        const given = itemsAhead(answer, from, isForward)
        const furthest = given.map(item => item.key).reduce((far, key) => (
            far && compareKeys(far, key) * (isForward ? 1 : -1) >= 0 ? far : key), null)
        // Either no item or only the known item, with more behind it: such a page brings nothing new. A page during which too
        // much changed is useless too. To ask again at once might go on for ever.
        const isNew = isLast || (furthest && (isInclusive || compareEnds(keyEnd(furthest), from) !== 0))
        if (!isNew || page._isOverrun) return this.#fail(undefined, now)
        const loaded = intervalOf(from, isLast ? outerEnd(isForward) : keyEnd(furthest), isForward)
        this.#retry.reset()
        const there = new Map()
        for (const { id, key } of given) if (!there.has(id)) there.set(id, key)
        const gone = this.#items.filter(({ id, key }) => (
            intervalHasEnd(loaded, keyEnd(key)) && (isInclusive || compareEnds(from, keyEnd(key)) !== 0)
            && !there.has(id) && !page.changed.has(id)))
        for (const { id } of gone) this.#set(id, null)
        for (const [id, key] of there) if (!page.changed.has(id)) this.#set(id, key)
        if (page.isWatched) this.#intervals.insert(loaded); else this.#intervals.insertStale(loaded)
        this.#limitItems()
        const ids = [...page.changed].sort(compareTexts)
        if (ids.length > 0) this.#effects.push({ reload: { ids } })
    }

    #fail(retryAfter, now) { this.wakeAt = now + this.#retry.waitAfter(retryAfter) }

    #setFinger(isHeld) {
        if (isHeld === this.#isFingerHeld) return
        this.#isFingerHeld = isHeld
        this.#refused = null
        if (!isHeld) this.#intervals.markStale()
        // It may lack what happened between its request and the new cursor held.
        this.#giveUpPage()
    }

    #restore({ intervals, items }) {
        for (const interval of intervals) {
            if (this.#isFingerHeld) this.#intervals.insert(interval); else this.#intervals.insertStale(interval)
        }
        for (const { id, key } of items) this.#set(id, key)
        this.#limitItems()
    }

    #noteChange(id) {
        const page = this.#page
        if (!page) return
        if (page.changed.size < this.#settings.maximumChanges) page.changed.add(id)
        else if (!page.changed.has(id)) page._isOverrun = true
    }

    /** Puts an item where it stands now; null removes it. */
    #set(id, key) {
        const old = this.#keys.get(id)
        if (old) {
            if (key && compareKeys(old, key) === 0) return
            this.#items.splice(this.#index(old), 1)
            this.#keys.delete(id)
        }
        if (!key) return
        this.#keys.set(id, key)
        const index = this.#index(key)
        const other = this.#items[index]
        // Two items have the same key: the later one keeps it.
        const hasSame = other !== undefined && compareKeys(other.key, key) === 0
        if (hasSame) this.#keys.delete(other.id)
        this.#items.splice(index, hasSame ? 1 : 0, { id, key })
    }

    /** Where the first item stands that is not before the key. */
    #index(key) {
        let [low, high] = [0, this.#items.length]
        while (low < high) {
            const middle = (low + high) >> 1
            if (compareKeys(this.#items[middle].key, key) < 0) low = middle + 1; else high = middle
        }
        return low
    }

    /** Forgets what is too much, and each item that lies in no known stretch any more. */
    #limitItems() {
        const { maximumItems } = this.#settings
        const items = this.#items
        if (items.length > maximumItems) {
            const from = this.#place?.from ?? { beginning: {} }
            const first = items.length - itemsAhead(items, from, true).length
            // A quarter is kept behind the screen, the rest ahead of it.
            const share = Math.floor((maximumItems * (this.#place?.direction === "backward" ? 3 : 1)) / 4)
            const low = Math.min(Math.max(0, first - share), items.length - maximumItems)
            const high = low + maximumItems
            this.#intervals.keep({
                lower: low === 0 ? { beginning: {} } : keyEnd(items[low].key),
                upper: high === items.length ? { end: {} } : keyEnd(items[high - 1].key),
            })
        }
        const known = items.filter(item => this.#intervals.knowledgeOfKey(item.key) !== "unknown")
        if (known.length === items.length) return
        this.#items = known
        this.#keys = new Map(known.map(item => [item.id, item.key]))
    }
}

/** Those that stand with an end, or behind it in a direction. */
function itemsAhead(items, from, isForward) {
    return items.filter(({ key }) => compareEnds(keyEnd(key), from) * (isForward ? 1 : -1) >= 0)
}

function isSamePage(a, b) {
    return b !== null && a.direction === b.direction && a.isInclusive === b.isInclusive
        && a.limit === b.limit && compareEnds(a.from, b.from) === 0
}
