// An event's id in the archive (`aid`), and up to which event a person has read (EventID.swift). An id is the server's text.
// It identifies an event of a page and the same event of the stream.

import { isText, parse } from "./messages.js"

/** Whether a server can have given it: 1 to 40 characters that a URL carries unchanged. */
export const isEventID = text => typeof text === "string" && /^[0-9A-Za-z_-]{1,40}$/.test(text)

/** Below, at or above 0: as `a` happened before, with or behind `b`. By bytes, which the characters of an id are. */
export function compareEventIDs(a, b) { return a < b ? -1 : a > b ? 1 : 0 }

/** Where an event stands in a list of the past: the oldest is the first. */
export const eventKey = aid => ({ rank: 0, text: aid })

/** The characters of an id, in the order of their bytes. */
const characters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

/** The least text of as many characters that is greater: of no event, but a place in their order. */
export const eventIDAfter = aid => stepped(aid, 1)
/** The greatest that is less. */
export const eventIDBefore = aid => stepped(aid, -1)

/** The character at the end of a row has no neighbour on this side: it wraps, and the one before it is stepped too. */
function stepped(aid, step) {
    const [last, first] = step > 0 ? [characters.length - 1, 0] : [0, characters.length - 1]
    let behind = ""
    for (let index = aid.length - 1; index >= 0; index -= 1) {
        const at = characters.indexOf(aid[index])
        if (at < 0) return aid
        if (at !== last) return aid.slice(0, index) + characters[at + step] + behind
        behind = characters[first] + behind
    }
    return aid
}

// Marks: {thing: {entity, id}, upTo}; without `thing` a mark is for everything

/** Whether an event of a thing lies below a mark. */
export function markCovers({ thing, upTo }, aid, { entity, id }) {
    return (!thing || (thing.entity === entity && thing.id === id)) && compareEventIDs(aid, upTo) <= 0
}

/** The id of the action that marks a thing, `["incident","PAM4FGS"]`; of everything it is `[]`. */
export const readMarkID = thing => JSON.stringify(thing ? [thing.entity, thing.id] : [])

/** The mark that an action of the kind "read" is, by its id and value; null: the id is none of `readMarkID`. */
export function readMarkOf({ id, value }) {
    const names = parse(id)
    if (!Array.isArray(names) || !names.every(isText) || !isText(value)) return null
    if (names.length === 0) return { upTo: value }
    return names.length === 2 ? { thing: { entity: names[0], id: names[1] }, upTo: value } : null
}
