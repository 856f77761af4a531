// The decisions beneath screens, for an app that carries them out by itself: values without I/O and without a clock.
import {
    Knowledge, ListDirection, ListEnd, ListInterval, ListKey, ListStretch, PageRequest, RelevanceRule, ScreenThing,
} from "./screens.js"

/** Below, at or above 0: `a` is before, at or behind `b`. */
export function compareEnds(a: ListEnd, b: ListEnd): number

/** The parts of a list in which nothing is missing. */
export class CompleteIntervals {
    /** So many parts are remembered: 64. */
    static readonly maximumIntervals: number
    constructor(maximum?: number)
    /** Nothing is missing in these parts. They are sorted; no two touch. */
    readonly complete: ListInterval[]
    /** Nothing was missing in these parts. */
    readonly stale: ListInterval[]
    /** Notes that a part is complete. */
    insert(interval: ListInterval): void
    /** Notes that a part was complete, but was not followed since. */
    insertStale(interval: ListInterval): void
    /** Makes all parts stale. */
    markStale(): void
    /** Forgets what is outside of a part. */
    keep(bounds: ListInterval): void
    /** Whether everything between two ends may be shown as complete, as old, or has to be asked for first. */
    knowledge(interval: ListInterval): Knowledge
    /** The same of a single key. */
    knowledgeOfKey(key: ListKey): Knowledge
    /** The page to load so that more is complete from here on; null when all of it is. */
    nextPage(from: ListEnd, direction: ListDirection, limit: number): PageRequest | null
    /** A copy that knows the same. */
    copy(): CompleteIntervals
}

/**
 * A machine: it receives what happens and the time in ms, and returns what is to be done, in order. Inputs and effects have
 * one member each, by their name; Tests/Scenarios has all of them.
 */
export interface ScreenMachine {
    handle(input: object, now: number): object[]
    /** Its visible state between two inputs. */
    readonly view: object
    /** When the input `{wake: {}}` is due; null: not at all. */
    readonly wakeAt: number | null
}

/** A list of which some parts are known: what it shows, and which page to load next. */
export class PartialList implements ScreenMachine {
    constructor(settings?: Record<string, number>)
    handle(input: object, now: number): object[]
    readonly view: {
        items: { id: string; key: ListKey }[]
        complete: ListInterval[]
        stale: ListInterval[]
        /** Of what is shown; undefined: nothing is shown. */
        knowledge: Knowledge | undefined
        isLoading: boolean
        failures: number
    }
    /** What can be drawn without a hole, from where the screen is; undefined while no screen shows the list. */
    readonly stretch: ListStretch | undefined
    readonly wakeAt: number | null
}

/** What a screen shows: the details of a thing, or a list. */
export type Interest =
    | { details: { thing: ScreenThing } }
    | { list: { entity: string; ids: string[]; takesNew: boolean } }

/** The interests of the screens, and the rules by which an event affects them. */
export class Relevance implements ScreenMachine {
    constructor(settings?: { rules?: RelevanceRule[] } & Record<string, unknown>)
    handle(input: object, now: number): object[]
    readonly view: {
        screens: { name: string; interest: Interest }[]
        seen: { thing: ScreenThing; at: number }[]
    }
    readonly wakeAt: number | null
    /** Whether a person can see the thing now. */
    isShowing(thing: ScreenThing): boolean
    /** Whether a person saw the thing change, live, at most so many ms before now. */
    sawLive(thing: ScreenThing, within: number, now: number): boolean
    /** The things of which screens show the details. */
    readonly details: ScreenThing[]
    /** The things in the lists on the screens. */
    readonly listed: ScreenThing[]
    /** The entities of lists to which new things belong. */
    readonly takesNew: string[]
    /** Whether a screen with this interest would fetch the thing after all these events, and whether it would leave its list. */
    needs(interest: Interest, thing: ScreenThing, types: string[]): { fetch: boolean; removed: boolean }
}

/** How far each thing can be trusted: questions, changes and losses are numbered in one row. */
export class KnownThings {
    /** So many things are remembered: 10,000. */
    static readonly maximumThings: number
    constructor(maximum?: number)
    /** Numbers a question. */
    ask(): number
    knowledge(thing: ScreenThing): Knowledge
    /** Whether an answer to this question is old. */
    wasChanged(thing: ScreenThing, asked: number): boolean
    /** Whether it changed since its last answer. */
    hasChanged(thing: ScreenThing): boolean
    /** Notes that the server changed it. */
    change(thing: ScreenThing): void
    /** Notes that events arrive from now on, or no more. */
    watch(isWatched: boolean): void
    /** Notes an answer; false: it is to be dropped, because a question asked later was answered before. */
    answer(thing: ScreenThing, asked: number, isGone?: boolean): boolean
}

/** Which things are fetched when: one fetch at a time for a thing, a few at once, those on the screens first. */
export class FetchQueue implements ScreenMachine {
    constructor(settings?: Record<string, number>)
    handle(input: object, now: number): object[]
    readonly view: {
        running: { fetch: number; thing: ScreenThing }[]
        waiting: ScreenThing[]
        shown: { thing: ScreenThing; knowledge: Knowledge }[]
        made: number
        merged: number
        avoided: number
        dropped: number
    }
    readonly wakeAt: number | null
    /** How far a thing can be trusted. */
    knowledge(thing: ScreenThing): Knowledge
}
