// The decisions about stores: which database is ours, and which of several tabs writes an area. No I/O, no clock.
import { LivegateError } from "./errors.js"

/** The form in which this module keeps things. Another number: another schema. */
export const storeFormat = 1

/** So long after a tab wrote an area, no other does: two that wrote in turns would write everything each time. */
export const storeLeaseMilliseconds = 10_000

/** Which members of a stored identity differ from the wanted one; none: it is ours. An absent one differs in all. */
export function differences(found, wanted) {
    return ["format", "schema", "account", "server"].filter(name => found?.[name] !== wanted[name])
}

/** Says that a database is another one's, and what to do. */
export function otherStore(name, found, wanted) {
    const differs = differences(found, wanted)
    const facts = differs.map(member => `${member} ${JSON.stringify(found?.[member] ?? null)}, not ${
        JSON.stringify(wanted[member])}`)
    const text = `store ${JSON.stringify(name)} is another one's (${facts.join("; ")}): it is not used and not `
        + "deleted; open one with another name, or discard it with discardStore"
    return new LivegateError("other", text, { differs, found: found ?? null })
}

/**
 * What a tab does with a commit of an area: "changes" writes what changed; "whole" replaces what is there by all that
 * this tab knows, because another one wrote last; "leave" writes nothing, because another one goes on writing.
 *
 * Finger and state of an area always come from one tab. Two that wrote their changes into one another would leave an
 * old thing behind a new finger: wrong, and said to be fresh.
 *
 * @param found `{writer, at}` of the last commit, if any
 * @param now the wall clock, which tabs of one browser share
 * @param isWhole it is a snapshot, which replaces everything
 */
export function placeOfCommit(found, writer, now, isWhole = false) {
    if (!found) return "whole"
    if (found.writer === writer) return isWhole ? "whole" : "changes"
    // A time in the future was written before the clock was set back.
    const age = now - found.at
    return age >= 0 && age < storeLeaseMilliseconds ? "leave" : "whole"
}

/** What a store gives for a key of an entry: entity and id as one text, without two things that share one. */
export function keyOf(thing) {
    return JSON.stringify([thing.entity, thing.id])
}

export function thingOf(key) {
    const [entity, id] = JSON.parse(key)
    return { entity, id }
}
