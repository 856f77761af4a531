// The questions to the archive and the inbox, and their answers (ArchiveRequest.swift, ArchivePage.swift).

import { given, isObject, isText, parse, readEvent } from "./messages.js"

// Requests

/** A text that is sent as it is. An empty one would ask for something else. */
function text(name, value) {
    if (value === undefined || value === null || isText(value)) return value
    throw new TypeError(`${name}: no text, or an empty one`)
}

/** A time stamp as the server reads it: stamps are whole, so both ends of a time lie at the next one. */
const stamp = time => time === undefined || time === null ? time : Math.min(Math.max(Math.ceil(time), 0), Number.MAX_SAFE_INTEGER)

function names(entities) {
    if (!entities.every(name => isText(name) && !name.includes(","))) throw new TypeError("entities: names without commas")
    return entities.join(",")
}

/** A thing as its entity and id, each a text. */
function thingOf({ entity, id }) {
    if (isText(entity) && isText(id)) return { ent: entity, id }
    throw new TypeError("thing: without its entity or id")
}

const orders = { newestFirst: undefined, oldestFirst: "asc" }

/** The parameters of `/archive/v1`. `all`: the entities of the client, where none are asked for. */
export function archiveParameters({ before, after, from, to, entities = [], thing, order = "newestFirst", limit }, all) {
    if (!Object.hasOwn(orders, order)) throw new TypeError("order: neither newestFirst nor oldestFirst")
    const of = thing ? thingOf(thing) : { ent: names(entities.length > 0 ? entities : all) }
    return {
        before: text("before", before), after: text("after", after), from: stamp(from), to: stamp(to), ...of,
        order: orders[order], limit,
    }
}

/** The parameters of `/inbox/v1`. */
export function inboxParameters({ before, entities = [], isUnreadOnly = false, limit }, all) {
    const ent = names(entities.length > 0 ? entities : all)
    return { before: text("before", before), ent, unread: isUnreadOnly ? 1 : undefined, limit }
}

/** The request for what follows a page in its direction; null behind the last one. */
export function afterArchivePage(request, { events, more }) {
    if (!more || events.length === 0) return null
    const { aid } = events.at(-1)
    return request.order === "oldestFirst" ? { ...request, after: aid } : { ...request, before: aid }
}

/** The same of an inbox. */
export function afterInboxPage(request, { things, more }) {
    return more && things.length > 0 ? { ...request, before: things.at(-1).last.aid } : null
}

/** The body of `POST /inbox/v1/read`. */
export function markBody({ thing, upTo }) {
    if (!isText(upTo)) throw new TypeError("upTo: none of an event's ids")
    return JSON.stringify({ ...(thing && thingOf(thing)), aid: upTo })
}

// Answers

const count = value => Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** A page by the name of its list, and what `read` makes of each line; null: something of it is none. */
function readLines(body, list, read) {
    const page = parse(body)
    if (!isObject(page) || !Array.isArray(page[list]) || typeof page.more !== "boolean") return null
    const lines = page[list].map(line => isObject(line) ? read(line) : null)
    return lines.includes(null) ? null : { page, lines }
}

/** An event with its `aid`; null: none. */
function readLine(line) {
    const event = readEvent(line)?.event
    return event?.aid === undefined ? null : event
}

/** Of a gap that cannot be read, or that begins before 1970, everything may be missing. */
function readGap(gap) {
    const { from, to } = isObject(gap) ? gap : {}
    return given({ from: count(from) ?? 0, to: count(to) })
}

/** What `/archive/v1` has answered: {events, more, at, gaps}; null for anything else. */
export function readArchivePage(body) {
    const { page, lines } = readLines(body, "events", readLine) ?? {}
    if (!Array.isArray(page?.gaps)) return null
    return given({ events: lines, more: page.more, at: isText(page.at) ? page.at : undefined, gaps: page.gaps.map(readGap) })
}

/** What `/inbox/v1` has answered: {things: [{thing, last, unread}], unreadThings, more, at}; null for anything else. */
export function readInboxPage(body) {
    const { page, lines } = readLines(body, "things", line => {
        const last = readLine(line), unread = count(line.unread)
        return last && unread !== undefined ? { thing: { entity: last.entity, id: last.id }, last, unread } : null
    }) ?? {}
    const unreadThings = count(page?.unread_things)
    if (unreadThings === undefined || !isText(page.at)) return null
    return { things: lines, unreadThings, more: page.more, at: page.at }
}
