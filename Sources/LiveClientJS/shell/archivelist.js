// The archive as a list: loads its unknown parts (LiveArchive+Lists.swift).
import { bindMethods } from "../core/bound.js"
import { eventIDAfter, eventIDBefore, eventKey } from "../core/eventid.js"
import { isText } from "../core/messages.js"
import { callApp } from "./failures.js"

/** Whether an id lies between those that are asked for. */
function isBetween({ before, after }, aid) { return !(isText(before) && aid >= before) && !(isText(after) && aid <= after) }

/** Whether an event of the stream is one of those that are asked for. */
function covers({ before, after, from, to, thing, entities = [] }, { aid, ts, entity, id }) {
    if (!isBetween({ before, after }, aid) || ts < from || ts >= to) return false
    if (thing) return thing.entity === entity && thing.id === id
    return entities.length === 0 || entities.includes(entity)
}

/** Events of the stream that are kept: as many as may be reloaded behind a page that was on its way. */
const maximumKept = 1_000

/**
 * Each event is an item, whose id is its `aid`. The very beginning is the oldest event, the very end is now: a screen that begins with
 * the newest shows it from `{ end: {} }` backward.
 */
export class ArchivePageSource {
    #archive
    #wanted
    #onGaps
    /** By id, the newest of the stream: the archive may be a moment behind it. */
    #kept = new Map()

    /** @param wanted of which entities, or which thing; its limits and order are those of each page */
    constructor(archive, wanted = {}, { onGaps = () => {} } = {}) {
        bindMethods(this)
        this.#archive = archive
        this.#wanted = wanted
        this.#onGaps = onGaps
    }

    /**
     * An event that came live: `reload` gives it without asking, and a page has it that the archive gave before it had it. False: it
     * is none of the list's, and nothing is kept.
     */
    keep(event) {
        if (!isText(event.aid) || !covers(this.#wanted, event)) return false
        this.#kept.set(event.aid, event)
        if (this.#kept.size > maximumKept) this.#kept.delete(this.#kept.keys().next().value)
        return true
    }

    /** After a `resync`, which tells of an erasing too: nothing of what was kept is sure any more. */
    forget() { this.#kept.clear() }

    /** What `reload` of `Screens` gives for an item: its event, which never changes. */
    async reload({ id }, { signal } = {}) {
        const kept = this.#kept.get(id)
        if (kept) return { value: kept }
        // The id's own limits replace those of the request.
        if (!isBetween(this.#wanted, id)) return { gone: {} }
        const { events } = await this.#ask({ ...this.#wanted, after: eventIDBefore(id), before: eventIDAfter(id), limit: 1 }, signal)
        return events.length > 0 ? { value: events[0] } : { gone: {} }
    }

    /** What `page` of `Screens` gives. */
    async page({ request, signal }) {
        const asked = this.asking(request)
        const page = await this.#ask(asked, signal)
        if (page.gaps.length > 0) callApp(this.#onGaps, page.gaps)
        const events = this.#withKept(page, asked)
        const items = events.slice(0, request.limit).map(event => ({ id: event.aid, key: eventKey(event.aid), value: event }))
        return { items, isLast: !page.more && events.length <= request.limit, isWhole: true }
    }

    /**
     * The events of a page, and those between its ends that came live. One that came late, stamped long ago, is told live at once, where
     * no list may have a place for it yet; the archive gives older pages without it while its writer is behind.
     */
    #withKept({ events, more }, asked) {
        const sign = asked.order === "oldestFirst" ? 1 : -1
        const compare = (left, right) => sign * (left.aid < right.aid ? -1 : 1)
        const known = new Set(events.map(({ aid }) => aid))
        const missing = [...this.#kept.values()].filter(event =>
            !known.has(event.aid) && covers(asked, event) && !(more && compare(event, events.at(-1)) > 0))
        return missing.length > 0 ? [...events, ...missing].sort(compare) : events
    }

    /** Throws a `RequestError`, as screens want it. */
    async #ask(request, signal) {
        try {
            return await this.#archive.page(request, { signal })
        } catch (error) {
            throw error?.requestError ?? error
        }
    }

    /** What the archive is asked for. At an item, it alone lies between the two ids beside it. */
    asking({ from, direction, limit, isInclusive }) {
        const isBackward = direction === "backward"
        const asked = { ...this.#wanted, limit, order: isBackward ? "newestFirst" : "oldestFirst" }
        const aid = from.at?.key.text
        if (aid === undefined) return asked
        if (isBackward) return { ...asked, before: isInclusive ? eventIDAfter(aid) : aid }
        return { ...asked, after: isInclusive ? eventIDBefore(aid) : aid }
    }
}
