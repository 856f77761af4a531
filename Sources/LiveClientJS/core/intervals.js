// The parts of a list in which nothing is missing (ListKey.swift, CompleteIntervals.swift).
//
// A key is {rank, text}; an end {beginning: {}}, {at: {key}} or {end: {}}; an interval {lower, upper}, both ends.

/** Below, at or above 0: as `a` stands before, with or behind `b`. By rank, then by the text's code points. */
export function compareKeys(a, b) { return a.rank - b.rank || compareTexts(a.text, b.text) }

/** As `compareKeys`, by the code points alone. */
export function compareTexts(a, b) {
    const length = Math.min(a.length, b.length)
    for (let index = 0; index < length; index += 1) {
        if (a[index] !== b[index]) return codeOrder(a.charCodeAt(index)) - codeOrder(b.charCodeAt(index))
    }
    return a.length - b.length
}

/** A surrogate stands for a code point above all that one unit holds. */
function codeOrder(unit) { return unit >= 0xD800 && unit < 0xE000 ? unit + 0x2800 : unit }

export function compareEnds(a, b) {
    if (a.at && b.at) return compareKeys(a.at.key, b.at.key)
    return endRank(a) - endRank(b)
}

function endRank(end) { return end.beginning ? -1 : end.end ? 1 : 0 }

export function keyEnd(key) { return { at: { key } } }

/** The end of the whole list in a direction. */
export function outerEnd(isForward) { return isForward ? { end: {} } : { beginning: {} } }

export function isOuterEnd(end, isForward) { return (isForward ? "end" : "beginning") in end }

/** The interval that begins with one end and, seen in a direction, ends with the other. */
export function intervalOf(from, to, isForward) { return isForward ? { lower: from, upper: to } : { lower: to, upper: from } }

function farEnd({ lower, upper }, isForward) { return isForward ? upper : lower }

function smallerEnd(a, b) { return compareEnds(a, b) <= 0 ? a : b }
function largerEnd(a, b) { return compareEnds(a, b) >= 0 ? a : b }

export function intervalHasEnd(interval, end) {
    return compareEnds(interval.lower, end) <= 0 && compareEnds(end, interval.upper) <= 0
}

function intervalHas(interval, other) {
    return compareEnds(interval.lower, other.lower) <= 0 && compareEnds(other.upper, interval.upper) <= 0
}

function intervalsTouch(a, b) { return compareEnds(a.lower, b.upper) <= 0 && compareEnds(b.lower, a.upper) <= 0 }

/** False for one with its ends exchanged, and for one that is an open end and nothing else. */
function hasExtent({ lower, upper }) {
    const order = compareEnds(lower, upper)
    return order < 0 || (order === 0 && Boolean(lower.at))
}

/** What lies outside of the other; a piece keeps the end that it shares. */
function subtractInterval(interval, other) {
    if (!intervalsTouch(interval, other)) return [interval]
    const pieces = [{ lower: interval.lower, upper: other.lower }, { lower: other.upper, upper: interval.upper }]
    return pieces.filter(({ lower, upper }) => compareEnds(lower, upper) < 0)
}

/** A sorted list with one more in it, as one with all that it touches. */
function mergeInterval(list, interval) {
    let merged = interval
    const apart = list.filter(other => {
        if (!intervalsTouch(other, interval)) return true
        merged = { lower: smallerEnd(merged.lower, other.lower), upper: largerEnd(merged.upper, other.upper) }
        return false
    })
    const index = apart.findIndex(other => compareEnds(merged.upper, other.lower) <= 0)
    apart.splice(index < 0 ? apart.length : index, 0, merged)
    return apart
}

/** Several stretches, sorted, merged when they touch or overlap, split by nothing but what makes them stale. */
export class CompleteIntervals {
    /** So many stretches are remembered, complete and stale ones together. */
    static get maximumIntervals() { return 64 }

    /** Nothing is missing in these. Sorted; no two touch. */
    complete = []
    /** Nothing was missing in these. Sorted; none overlaps another or a complete one, but for the end that they share. */
    stale = []
    #maximum

    constructor(maximum = CompleteIntervals.maximumIntervals) { this.#maximum = Math.max(1, maximum) }

    /** Notes that a stretch is complete. */
    insert(interval) {
        if (!hasExtent(interval)) return
        this.complete = mergeInterval(this.complete, interval)
        this.stale = this.stale.flatMap(older => subtractInterval(older, interval))
        this.#forgetFurthest(interval)
    }

    /** Notes that a stretch was complete when it was asked for, and that nobody watched it since. */
    insertStale(interval) {
        if (!hasExtent(interval)) return
        this.stale = mergeInterval(this.stale, interval)
        for (const newer of this.complete) this.stale = this.stale.flatMap(older => subtractInterval(older, newer))
        this.#forgetFurthest(interval)
    }

    markStale() {
        for (const interval of this.complete) this.stale = mergeInterval(this.stale, interval)
        this.complete = []
    }

    /** Forgets what lies outside of a stretch. */
    keep(bounds) {
        const clip = list => list.map(({ lower, upper }) => (
            { lower: largerEnd(lower, bounds.lower), upper: smallerEnd(upper, bounds.upper) })).filter(hasExtent)
        this.complete = clip(this.complete)
        this.stale = clip(this.stale)
    }

    /** Whether all between two ends may be shown as complete (`known`), as old (`knownStale`), or is `unknown`. */
    knowledge(interval) {
        if (this.complete.some(known => intervalHas(known, interval))) return "known"
        const all = this.complete.reduce(mergeInterval, this.stale)
        return all.some(known => intervalHas(known, interval)) ? "knownStale" : "unknown"
    }

    /** How far something is known from here on, as it is or as it was; null where not even this end is known. */
    knownEnd(from, direction) {
        const found = this.complete.reduce(mergeInterval, this.stale).find(interval => intervalHasEnd(interval, from))
        return found ? farEnd(found, direction === "forward") : null
    }

    knowledgeOfKey(key) { return this.knowledge({ lower: keyEnd(key), upper: keyEnd(key) }) }

    /** The page to load so that more is complete from here on; null when all of it is. */
    nextPage(from, direction, limit) {
        const isForward = direction === "forward"
        if (isOuterEnd(from, isForward)) return null
        const known = this.complete.find(interval => intervalHasEnd(interval, from))
        const reached = known ? farEnd(known, isForward) : from
        return isOuterEnd(reached, isForward) ? null : { from: reached, direction, limit, isInclusive: !known }
    }

    copy() {
        const copy = new CompleteIntervals(this.#maximum)
        copy.complete = this.complete
        copy.stale = this.stale
        return copy
    }

    #forgetFurthest(newest) {
        while (this.complete.length + this.stale.length > this.#maximum) {
            const ofStale = this.stale.some(other => !intervalsTouch(other, newest)) || this.complete.length <= 1
            const list = ofStale ? this.stale : this.complete
            const before = list.filter(other => compareEnds(other.upper, newest.lower) < 0).length
            const behind = list.filter(other => compareEnds(newest.upper, other.lower) < 0).length
            const rest = before > behind ? list.slice(1) : list.slice(0, -1)
            if (ofStale) this.stale = rest; else this.complete = rest
        }
    }
}
