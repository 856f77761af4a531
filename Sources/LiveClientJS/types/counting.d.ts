/** Counts whether people trust what they see. Nothing leaves by itself: the app sends the values where it wants. */

/** How often one screen was refreshed on one day; one line of what `livecat report` reads. */
export interface RefreshCount {
    /** `2026-11-23`, in the time zone that the app chose. */
    day: string
    /** The name that the app uses. */
    screen: string
    /** Refreshes that a person asked for. */
    manual: number
    /** Refreshes that an event caused. */
    automatic: number
    /** Events by the time from their `ts` to the screen: one bin more than `latencyEnds` has. */
    latency: number[]
    /** Events that arrived before their `ts`: this device's clock is behind. */
    ahead: number
    /** Fetches made. */
    made: number
    /** Changes that needed no fetch of their own, because one was waiting already. */
    merged: number
    /** Changes that nobody saw: no fetch. */
    avoided: number
}

/** The upper ends of the bins of `latency`, in ms, each without itself; the last bin has what is above. */
export const latencyEnds: readonly number[]

/** Manual refreshes among all, 0 to 1; null where there was none. */
export function manualShare(count: { manual: number, automatic: number }): number | null

/** What is counted. */
export type CountingInput =
    | { wake: {} }
    /** What an earlier page counted: added to what is there. */
    | { loaded: { counts: Partial<RefreshCount>[] } }
    | { refreshed: { screen: string, isManual: boolean } }
    /** What an event brought is on the screen. `ts`: of the event, ms of Unix time. */
    | { shown: { screen: string, ts: number } }
    | { fetches: { screen: string, made: number, merged: number, avoided: number } }
    /** The app has sent all days up to this one: they are forgotten. */
    | { sent: { through: string } }

/** Counts by screen and day, bounded in both. */
export class RefreshCounts {
    /** The name under which screens beyond the limit are counted. */
    static readonly otherScreens: string
    /** The longest name of a screen, in bytes of UTF-8. */
    static readonly maximumNameBytes: number
    /** @param settings `maximumDays` 31, `maximumScreens` 50 a day, `dayOffset` 0 ms: the time zone's offset. */
    constructor(settings?: { maximumDays?: number, maximumScreens?: number, dayOffset?: number })
    /** A copy of all values, by day. */
    readonly view: { counts: RefreshCount[] }
    readonly wakeAt: null
    /** Counts at `now`, ms of Unix time. Returns what it dropped: the values of the oldest day, not sent. */
    handle(input: CountingInput, now: number): { dropped: { counts: RefreshCount[] } }[]
}
