// What is shown decides what is fetched: interests, and the rules by which an event affects them (Relevance.swift).
//
// An interest is {details: {thing}} or {list: {entity, ids, takesNew}}; a thing {entity, id}.
import { keyOf } from "./stored.js"

/** What holds where an app says nothing else: of several rules the first that fits. */
export const standardRules = [
    { type: "created", screen: "details", action: "ignore" },
    // For `deleted` too: the 404 is the answer.
    { screen: "details", action: "fetchIfThere" },
    { type: "created", screen: "list", action: "fetchUnlessThere" },
    { type: "deleted", screen: "list", action: "remove" },
    { screen: "list", action: "fetchIfThere" },
]

export { keyOf as thingKey }

export function isSameThing(a, b) { return a.entity === b.entity && a.id === b.id }

function interestShows({ details, list }, thing) {
    if (details) return isSameThing(details.thing, thing)
    return list.entity === thing.entity && list.ids.includes(thing.id)
}

/** Whether a person can see the thing: its details, or its place in the visible part of a list. */
function isVisibleOn({ interest, visible }, thing) {
    return interestShows(interest, thing) && (visible === undefined || interest.details !== undefined || visible.includes(thing.id))
}

/** Whether what happened to a thing, in this order, has to be fetched for a screen, and whether it goes off the list. */
function interestNeeds(interest, thing, types, rules) {
    const screen = interest.details ? "details" : "list"
    const entity = interest.details ? interest.details.thing.entity : interest.list.entity
    let [fetch, removed] = [false, false]
    if (entity !== thing.entity) return { fetch, removed }
    let isThere = interestShows(interest, thing)
    for (const type of types) {
        const rule = rules.find(({ entity: ruled, type: named, screen: kind }) => (
            kind === screen && (ruled ?? thing.entity) === thing.entity && (named ?? type) === type))
        switch (rule?.action) {
        case "fetchIfThere": fetch ||= isThere; break
        case "fetchUnlessThere": fetch ||= Boolean(interest.list?.takesNew) && !isThere; break
        case "fetch": fetch = true; break
        case "remove":
            if (screen === "details") break
            removed ||= isThere
            isThere = false
            fetch = false
            break
        default: break
        }
    }
    return { fetch, removed }
}

function uniqueThings(things) { return [...new Map(things.map(thing => [keyOf(thing), thing])).values()] }

const relevanceDefaults = { rules: [], maximumScreens: 32, maximumIDs: 10_000, maximumSeen: 1_000, seenFor: 600_000 }

export class Relevance {
    wakeAt = null
    #settings
    #rules
    #screens = []
    #seen = []
    #isVisible = true
    #isLive = false

    constructor(settings) {
        this.#settings = { ...relevanceDefaults, ...settings }
        this.#rules = [...this.#settings.rules, ...standardRules]
    }

    get view() { return { screens: this.#screens.map(({ name, interest }) => ({ name, interest })), seen: this.#seen } }

    /** Whether a person can see the thing now. */
    isShowing(thing) { return this.#isVisible && this.#screens.some(screen => isVisibleOn(screen, thing)) }

    /** Whether a person saw the thing change, live, at most so many milliseconds ago. */
    sawLive(thing, within, now) {
        const longest = Math.min(within, this.#settings.seenFor)
        return this.#seen.some(seen => isSameThing(seen.thing, thing) && now - seen.at <= longest)
    }

    /** The things of which screens show the details, each once: they are fetched first. */
    get details() {
        return uniqueThings(this.#screens.flatMap(({ interest: { details } }) => details ? [details.thing] : []))
    }

    /** The things in the lists on the screens, each once. */
    get listed() {
        return uniqueThings(this.#screens.flatMap(({ interest: { list } }) => (
            (list?.ids ?? []).map(id => ({ entity: list.entity, id })))))
    }

    /** Whether a screen with this interest would fetch the thing after all this, and whether it would go off its list. */
    needs(interest, thing, types) { return interestNeeds(interest, thing, types, this.#rules) }

    /** The entities of lists to which new things belong. */
    get takesNew() {
        return [...new Set(this.#screens.flatMap(({ interest: { list } }) => list?.takesNew ? [list.entity] : []))]
    }

    handle(input, now) {
        const [name] = Object.keys(input)
        const it = input[name]
        switch (name) {
        case "show":
            this.#screens = this.#screens.filter(screen => screen.name !== it.screen)
            this.#screens.push({ name: it.screen, interest: this.#limited(it.interest), visible: it.visible })
            if (this.#screens.length > this.#settings.maximumScreens) this.#screens.shift()
            break
        case "hide": this.#screens = this.#screens.filter(screen => screen.name !== it.screen); break
        case "visible": this.#isVisible = it.isVisible; break
        case "live": this.#isLive = it.isLive; break
        case "changed": return this.#change(it)
        case "displayed":
            if (!this.#isLive || !this.isShowing(it.thing)) return []
            this.#seen = this.#seen.filter(seen => (
                !isSameThing(seen.thing, it.thing) && now - seen.at <= this.#settings.seenFor))
            this.#seen.push({ thing: it.thing, at: now })
            if (this.#seen.length > this.#settings.maximumSeen) this.#seen.shift()
            break
        case "wake": break
        default: throw new TypeError(`no such input: ${name}`)
        }
        return []
    }

    #limited({ details, list }) {
        return details ? { details } : { list: { ...list, ids: list.ids.slice(0, this.#settings.maximumIDs) } }
    }

    #change({ number, thing, types }) {
        let isNeeded = false
        const lists = []
        for (const screen of this.#screens) {
            const { fetch, removed } = interestNeeds(screen.interest, thing, types, this.#rules)
            isNeeded ||= fetch
            if (!removed) continue
            lists.push(screen.name)
            const { list } = screen.interest
            screen.interest = { list: { ...list, ids: list.ids.filter(id => id !== thing.id) } }
        }
        const removal = lists.length === 0 ? [] : [{ remove: { thing, screens: lists } }]
        return [...removal, { [isNeeded ? "fetch" : "pass"]: { number, thing } }]
    }
}
