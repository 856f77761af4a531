// The decisions, without I/O and without a clock: for an app that carries them out itself, and for tests.

import { ActionSettings, DeferredAction } from "./actions.js"

/** Random numbers for spreading clients in time, the same in each language; never for secrets. */
export class Jitter {
    constructor(seed: number)
    /** Uniform over all words of 32 bits. */
    next(): number
    /** Uniform from `low` up to, but without, `high`. */
    milliseconds(low: number, high: number): number
}

/** When to try again: the server's wait first, otherwise full jitter between half a second and a bound that doubles to 20 s. */
export class Retry {
    static readonly minimum: number
    static readonly maximum: number
    /** After so long without a failure the next one counts as the first, in ms. */
    static readonly calm: number
    constructor(seed: number)
    /** Failures in a row. */
    readonly failures: number
    /** Counts a failure and returns how long to wait, in ms; `asked`: the server's `retry_ms`. */
    wait(asked?: number): number
    /** The same after `Retry-After`, in ms. */
    waitAfter(retryAfter: number): number
    reset(): void
}

/**
 * A machine as scenarios drive it: it decides, without I/O and without a clock. Inputs and effects are objects with one
 * member; the Swift SDK's types of the same name define which.
 */
export interface Machine {
    handle(input: object, now: number): Record<string, unknown>[]
    readonly view: Record<string, unknown>
    readonly wakeAt: number | null
}

/** Makes the decisions of a connection. */
export const ConnectionMachine: new (settings: Record<string, unknown>) => Machine

/** Decides which tab of several has the connection. */
export const TabMachine: new (settings: Record<string, unknown>) => Machine

/** Makes the decisions of `LiveMachine`. */
export const UpdateMachine: new (settings: Record<string, unknown>) => Machine

/**
 * Decides about deferrable actions, without I/O: for code that carries it out itself. `handle` receives what
 * happens as `{name: {…}}` and returns what is to be done, in order; Tests/Scenarios/actions shows both.
 */
export class ActionQueue {
    constructor(settings?: ActionSettings & { seed?: number, keyPrefix?: string })
    handle(input: object, now: number): object[]
    /** When `{wake: {}}` is due at the latest; null: only an input changes anything. */
    readonly wakeAt: number | null
    readonly view: { isLoaded: boolean, pending: DeferredAction[], sending: string[], isUnauthorized: boolean }
    pending(kind: string, id: string): string | undefined
}

/** An action queue with one more input, `{taken: {actions, mayBeSent}}`: what is stored, whichever tab wrote it. */
export class SharedActionQueue extends ActionQueue {}

/** What a status of HTTP means for an action. */
export type ActionOutcome = "done" | "unauthorized" | "rejected" | "again"
/** The outcome for a status. */
export function actionOutcome(status: number): ActionOutcome

/** Whether an API is asked: one gate for all that ask it. */
export const ApiGate: new (settings?: Record<string, unknown>) => Machine
