// The app's API as screens use it: what it may answer, and which answers are the app's mistakes.
import { isObject } from "../core/messages.js"
import { callApp, outcomeOf } from "./failures.js"

/** What the API has of a thing: `{value}`, `{gone: {}}` or `{notOurs: {}}`. */
export async function readThingOf(api, thing, signal) {
    let found
    try {
        found = await api.reload(thing, { signal })
    } catch (error) {
        const outcome = outcomeOf(error)
        if (!outcome) throw error
        return { [outcome]: {} }
    }
    const name = ["value", "gone", "notOurs"].find(name => isObject(found) && name in found)
    if (!name) throw mistake("reload gave none of {value}, {gone: {}}, {notOurs: {}}")
    return { [name]: found[name] }
}

/** A page: `{items, isLast}`. */
export async function readPageOf(api, { list, request, signal }) {
    const page = await api.page({ list, request, signal })
    const isItem = item => typeof item?.id === "string" && typeof item.key?.rank === "number"
    if (Array.isArray(page?.items) && page.items.every(isItem)) return page
    throw mistake(`page gave list ${JSON.stringify(list)} no items {id, key: {rank, text}, value}`)
}

/** An error that its developer should see. To the machines it is an answer that cannot be read. */
function mistake(text) {
    const error = Object.assign(new TypeError(text), { kind: "unreadable" })
    callApp(() => { throw error })
    return error
}
