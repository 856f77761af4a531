// What an app knows of lists and things, and what its screens fetch.

export { LivegateError } from "./errors.js"
import type { Snapshots } from "./connection.js"
import type { OneOf } from "./entry.js"
import type { LiveGate } from "./machine.js"
import { AbortSignal } from "./platform.js"

/** An incident, a note: its id is unique among those of its entity. */
export interface ScreenThing { entity: string; id: string }

/** The position of an item in its list: by rank, a whole number within ±(2^53 - 1), then by the code points of the text. */
export interface ListKey { rank: number; text: string }

/** Below, at or above 0: `a` is before, at or behind `b`. */
export function compareKeys(a: ListKey, b: ListKey): number

/** An end of a part of a list: a key, or the very beginning or end. */
export type ListEnd = OneOf<{ beginning: {} } | { at: { key: ListKey } } | { end: {} }>

/** A part of a list with both of its ends. */
export interface ListInterval { lower: ListEnd; upper: ListEnd }

/** `forward`: towards larger keys. */
export type ListDirection = "forward" | "backward"

/** `unknown`: to be asked before it is shown; `knownStale`: may be shown as old. */
export type Knowledge = "unknown" | "known" | "knownStale"

/** The next items of a list. */
export interface PageRequest {
    /** Where the page begins. */
    from: ListEnd
    direction: ListDirection
    /** The most items that are useful. */
    limit: number
    /** Whether an item exactly at `from` belongs to the page. */
    isInclusive: boolean
}

/** What a fetch found: the value; 404 or 410; 403. */
export type FoundThing<Value> = OneOf<{ value: Value } | { gone: {} } | { notOurs: {} }>

/** Items of a list in any order; `isLast` when nothing is behind them. */
export interface ListPage<Value> {
    items: { id: string; key: ListKey; value: Value }[]
    isLast: boolean
    /** Its values are all that `reload` would give. Otherwise they are summaries, and details are fetched. */
    isWhole?: boolean
}

/**
 * The app's API as screens use it. A request that fails throws a `RequestError`, or another error with `status` and
 * `retryAfter` (ms). 404 and 410 mean that the thing is gone, 403 that it is not ours, 401 that a token is needed. What else
 * is refused (4xx) is not asked again by itself, and everything else is. An error with a `kind` ("unauthorized",
 * "rejected", or another one to try again) means that. A request without an answer for a minute has failed.
 */
export interface ScreensAPI<Value = unknown> {
    /** Fetches a thing; `signal` cancels it. */
    reload(thing: ScreenThing, options: { signal: AbortSignal }): Promise<FoundThing<Value>>
    /** Fetches a page of the list of that name. */
    page(options: { list: string; request: PageRequest; signal: AbortSignal }): Promise<ListPage<Value>>
    /**
     * Gets another token after something was refused with 401. Called once, until something has succeeded. Left out: the function of
     * their machine's client is called; screens without a machine ask once more for what was refused.
     */
    renewToken?(options: { signal: AbortSignal }): Promise<unknown>
}

/** Which action an event has on a kind of screen; the first rule that fits counts. */
export interface RelevanceRule {
    /** Absent: each entity. */
    entity?: string
    /** Absent: each type of event. */
    type?: string
    screen: "details" | "list"
    action: "ignore" | "fetchIfThere" | "fetchUnlessThere" | "fetch" | "remove"
}

/** The rules where an app sets no others. */
export const standardRules: RelevanceRule[]

/** Why a thing could not be fetched; `after` in ms. */
export type ScreenFailure = OneOf<
    | { retry: { after?: number } } | { unauthorized: {} } | { rejected: { status: number } }
    /** An answer arrived, and cannot be decoded. */
    | { unreadable: {} }
>

/** What a screen of details shows. */
export interface DetailsState<Value = unknown> {
    thing: ScreenThing
    /** The last that is known of all of it, else a list's summary; undefined: nothing. */
    value: Value | undefined
    /** How far all of it can be trusted. */
    knowledge: Knowledge
    /** Whether the value is all of it, and not a list's summary. */
    isWhole: boolean
    /** Of the last fetch; null when it was answered. */
    failure: ScreenFailure | null
    /** The answer of the last fetch for a thing that is not there: 404 or 410, 403; null: it is there, or nobody knows. */
    absence: "gone" | "notOurs" | null
}

/** What can be drawn of a list without a hole: from the end that a screen shows, up to where nothing is known. */
export interface ListStretch {
    /** Its things, beginning at that end; backward against the list's order. */
    ids: string[]
    /** It reaches the other end of the list: nothing is behind it. */
    isComplete: boolean
    /** A part of it is as the server had it: something may be missing, or too much. */
    isStale: boolean
}

/** What a list shows. */
export interface ListState<Value = unknown> {
    /** All that is known, in its order; between two items something may be missing, see `complete`. */
    items: { id: string; key: ListKey; value: Value | undefined; knowledge: Knowledge }[]
    /** Where nothing is missing. */
    complete: ListInterval[]
    /** Where nothing was missing. */
    stale: ListInterval[]
    /** Of everything that the screen needs; undefined while no screen shows the list. */
    knowledge: Knowledge | undefined
    /** What can be drawn without a hole, from where the screen is; undefined while no screen shows the list. */
    stretch: ListStretch | undefined
    isLoading: boolean
    /** Failed pages in a row. */
    failures: number
    /** Why the last page did not arrive; null: it arrived, or none was asked for. */
    failure: ScreenFailure | null
    /** Neither the API's token nor the next one was accepted: nothing is asked until `tokenChanged()`. */
    isUnauthorized: boolean
}

/** A list, which keeps what it knows also while no screen shows it. */
export interface ScreenList<Value = unknown> extends Snapshots<ListState<Value>> {
    /** A screen shows it from there on, and needs so many items. */
    show(place: { from: ListEnd; direction: ListDirection; count: number }): void
    /**
     * What of it a person can see now, by ids: for a screen that loads more than it shows. Null: as many items as it needs.
     * It decides `isShowing` and `sawLive`, and nothing else.
     */
    setVisible(ids: string[] | null): void
    /** No screen shows it: its page is given up. */
    hide(): void
    /** Ends it, and forgets what it knew. */
    close(): void
}

/** A thing on a screen of details. */
export interface ScreenDetails<Value = unknown> extends Snapshots<DetailsState<Value>> {
    /** Fetches it again: a person asked for it. */
    refresh(): void
    hide(): void
}

/** All that screens show: whether it is as the server has it. */
export interface ShownState {
    isComplete: boolean
    /** Some of it could not be fetched. */
    hasFailed: boolean
    isLoading: boolean
    /** Neither the API's token nor the one after it was taken. */
    isUnauthorized: boolean
}

/** A clock in ms that does not go back, and its timers. */
export interface Timing {
    now(): number
    setTimer(work: () => void, milliseconds: number): unknown
    clearTimer(timer: unknown): void
}

/**
 * The result of a reload. No `value` where no screen needs the thing, whose older value is old then. `isAsBefore`: a screen
 * shows it, and what it shows is still right.
 */
export type ReloadResult<Value = unknown> = OneOf<
    | { reloaded: { number: number; outcome: "value" | "gone" | "notOurs"; value?: Value; isAsBefore?: true } }
    | { reloadFailed: { number: number; failure: ScreenFailure } }
>

/** What is kept of a list until the next visit. */
export interface StoredList<Value = unknown> {
    name: string
    entity: string
    /** Where nothing is missing, or was missing. */
    intervals: ListInterval[]
    /** `isOld`: it has changed since it was fetched. */
    items: { id: string; key: ListKey; value: Value | undefined; isOld?: true }[]
}

/** What the screens of an app show of one machine's things, fetched through one queue: 4 at once, details first. */
export class Screens<Value = unknown> implements Snapshots<ShownState> {
    constructor(options: {
        api: ScreensAPI<Value>
        /** The clock in ms, and its timers: a client's `environment`. Left out: those of the page. */
        environment?: Timing
        /** Of the API; left out: that of the machine that they belong to, or one of their own. */
        gate?: LiveGate
        /** The result of each `reload`, once for each number: the `onReload` that a machine gives. */
        onReload?: (result: ReloadResult<Value>) => void
        /** Before the standard ones. */
        rules?: RelevanceRule[]
        settings?: {
            /** `pageLimit` 50, `maximumItems` 10,000, `maximumIntervals` 64, `maximumChanges` 200, `seed`. */
            lists?: Record<string, number>
            /** `maximumAtOnce` 4, `maximumWaiting` 1,000, `maximumThings` 10,000, `maximumPages` 32, `seed`. */
            fetches?: Record<string, number>
            /** `maximumScreens` 32, `maximumIDs` 10,000, `maximumSeen` 1,000, `seenFor` 600,000 ms. */
            relevance?: Record<string, number>
            /** A request without an answer after so long has failed, in ms: 60,000. */
            requestDeadline?: number
        }
    })
    /** Fetches made, merged and avoided, and answers that arrived too late. */
    readonly counts: { made: number; merged: number; avoided: number; dropped: number }
    /**
     * Shows a thing on the screen of that name, which is no list's; the listener receives each state, the first at once.
     * When the screen shows something else, `refresh` and `hide` do nothing any more.
     */
    details(screen: string, thing: ScreenThing, listener?: (state: DetailsState<Value>) => void): ScreenDetails<Value>
    /** What is known of a thing, shown or not: the first state that `details` would give. */
    known(thing: ScreenThing): DetailsState<Value>
    readonly subscribe: (listener: () => void) => () => void
    /** Of all that is shown. */
    readonly getSnapshot: () => ShownState
    /** Makes a list; its name is the screen's too. `key` returns the position of a value; null: not in this list. */
    list(options: {
        name: string
        entity: string
        /** Whether things that are created belong there: true. */
        takesNew?: boolean
        key: (value: Value) => ListKey | null
        listener?: (state: ListState<Value>) => void
    }): ScreenList<Value>
    /** Everything that happened to a thing: the effect `reload` of an update machine. */
    reload(change: { number: number; thing: ScreenThing; types: string[] }): void
    /** The machine waits for none of its reloads any more. */
    dropReloads(): void
    /** The machine got a cursor, or lost it: at first it has none. Another one while there is one makes all old first. */
    setFinger(isHeld: boolean): void
    /** Called when a list differs from before; the code that keeps lists sets it. */
    onChange: () => void
    /** What the next visit may show of the lists: at most 500 items of each, from the end that was visible. */
    toStore(): StoredList<Value>[]
    /** What an earlier visit has kept. While a cursor is held it counts as it was stored, otherwise as old. */
    restore(lists: StoredList<Value>[]): void
    /** What an earlier visit has kept was read: until then no page is asked for. The machine calls it. */
    storedIsRead(): void
    /** Whether the machine is live: at first it is not. */
    setLive(isLive: boolean): void
    /**
     * The answer to an action gave the app this: it is shown at once, and an answer that was asked for before does not replace it.
     * `isWhole: false`: it is no more than a list's summary.
     */
    put(thing: ScreenThing, value: Value, options?: { isWhole?: boolean }): void
    /** What waits to be tried again is tried now. */
    retryNow(): void
    /** Called when it is set, and when what the screens show becomes as the server has it, or is that no more. For the machine. */
    set onShown(listener: (shown: { isComplete: boolean, hasFailed: boolean, isLoading: boolean }) => void)
    /** There is a network again: unanswered requests of the old one, and everything that waits, are made now. */
    networkIsBack(): void
    /** Fetches pass this gate, with these tokens, unless another gate was given. The machine calls it. */
    useGate(gate: LiveGate, tokens: unknown): void
    /** Whether a person can see the app: at first a person can. */
    setVisible(isVisible: boolean): void
    /** Neither the API's token nor the next one was accepted: nothing is asked until `tokenChanged()`. */
    readonly isUnauthorized: boolean
    /** Somebody has signed in, or there is another token: what waits for one is asked for at once. */
    tokenChanged(): void
    /** Whether a person can see the thing now: its details, or its position in the visible part of a list. */
    isShowing(thing: ScreenThing): boolean
    /** Whether a person saw the thing change, live, at most so many ms ago. */
    sawLive(thing: ScreenThing, within: number): boolean
    /** Gives up all that is being fetched. */
    close(): void
}
