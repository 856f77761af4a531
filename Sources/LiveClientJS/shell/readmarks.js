// Read marks as deferrable actions: shown at once, kept on the device, sent when there is a network (LiveArchive+Marks.swift).
import { markBody } from "../core/archive.js"
import { compareEventIDs, readMarkID, readMarkOf } from "../core/eventid.js"
import { actionOutcome } from "../core/outcome.js"
import { archiveErrorOf } from "./archiveerror.js"

/** The kind of the statuses that are read marks: one for each thing, whose value is the event that was read last. */
export const readKind = "read"
/** What a server answers that has a mark. Whoever says another status of success is somebody between. */
export const marked = 204
/** After so long, in ms, the results that there are are given: the actions give up after 60 s, and would send all of them again. */
const longestSending = 20_000

/**
 * This person has read a thing, or without one everything, up to this event. A mark that leads no further than what is pending, or
 * than `from`, changes nothing.
 *
 * @param from up to where it was read until now, for an undo; left out: not known
 */
export async function markRead(actions, { thing, upTo }, { from } = {}) {
    // Throws where the server would not accept it as a mark.
    markBody({ thing, upTo })
    const leadsNoFurther = known => known !== undefined && compareEventIDs(known, upTo) >= 0
    if (leadsNoFurther(from)) return
    // Compared when it is this action's turn: another mark may still be waiting for the store.
    await actions.set(readKind, readMarkID(thing), upTo, from, { unless: leadsNoFurther })
}

/**
 * Sends actions of the kind "read", one after the other: what each came to, as `send` of `openActions` gives it. It neither waits nor
 * renews a token: the actions do. Throws a `RequestError` where nothing was answered. What has no result is sent again: that is what
 * is left after 20 s, too.
 */
export async function sendReadMarks(requests, actions, signal) {
    const results = [], end = requests.now() + longestSending
    for (const action of actions) {
        if (results.length > 0 && requests.now() >= end) return results
        const { key } = action, mark = readMarkOf(action)
        if (!mark) {
            results.push({ key, status: 400 })
            continue
        }
        try {
            const answer = await requests.askOnce({ path: "/inbox/v1/read", body: markBody(mark) }, signal)
            const { status, retryAfter } = answer, outcome = actionOutcome(status)
            // When nobody is signed in, this error asks for it once, and not for each mark.
            if (outcome === "unauthorized" || (outcome === "done" && status !== marked)) throw archiveErrorOf(answer)
            results.push(retryAfter === undefined ? { key, status } : { key, status, retryAfter })
            if (outcome === "again") return results
        } catch (error) {
            if (results.length === 0) throw error.requestError ?? error
            return results
        }
    }
    return results
}
