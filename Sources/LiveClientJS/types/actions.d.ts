/** Sends what users do to the server: deferrable actions (`set`) and immediate ones (`perform`). */

export { LivegateError, LivegateError as ActionError } from "./errors.js"
import { Client, Environment, Snapshots } from "./connection.js"
import { OneOf } from "./entry.js"
import { LivegateError } from "./errors.js"
import { LiveGate } from "./machine.js"
import { AbortSignal, IDBTransaction, IDBTransactionMode } from "./platform.js"

/** A status that a user gave a thing, not yet sent to the server. There is one for each (kind, id). */
export interface DeferredAction {
    /** Which status it is, in the app's words: `incident.read`. All values of a kind exclude one another. */
    kind: string
    /** The thing's id. */
    id: string
    /** The status that the user wants. */
    value: string
    /** The status that the server had when it was last read; absent: not known. */
    before?: string
    /** The idempotency key: the same for each attempt to send this value, and never that of another one. */
    key: string
    /** When the user did it: ms of Unix time. */
    at: number
}

/** What the server answered to one action of a batch. */
export interface ActionResult {
    key: string
    /** A status of HTTP. */
    status: number
    /** How long the server asks to wait, in ms. */
    retryAfter?: number
}

/** What happened to an action without the user having asked. */
export type ActionNews = OneOf<
    /** The server will never do it. It was undone, unless (`isReplaced`) the user has chosen another value. */
    | { rejected: { action: DeferredAction, status: number, isReplaced: boolean } }
    /** It could not be sent for as long as an action is kept, and was undone. */
    | { expired: { action: DeferredAction } }
    /** A new token was refused too. Everything is kept. */
    | { unauthorized: {} }
>

/** Settings of the queue; each has a default. */
export interface ActionSettings {
    /** How long the first action waits for others, in ms: 3,000. */
    coalescing?: number
    /** Actions in a batch: 50. */
    maximumBatch?: number
    /** Rows that are kept: 10,000. One more is refused. */
    maximumRows?: number
    /** How long a row is kept, in ms: 180 days. Then it is undone. */
    maximumAge?: number
}

/**
 * One write of a store: a row, or the local state. A `show` without a value: reload the thing. `over` and `key` name the expected
 * row, by its key: null where there is none.
 */
export type ActionChange =
    | { persist: { action: DeferredAction, over?: string | null } }
    | { delete: { kind: string, id: string, key?: string | null } }
    | { show: { kind: string, id: string, value?: string } }

/** Another tab has changed a row since this one has read it. Nothing of the commit was written, and it is tried again. */
export class ActionConflict extends LivegateError {
    constructor(row: { kind: string, id: string })
}

/**
 * Keeps actions beside the local state. `commit` writes all of it or nothing. Where several tabs write to it, it compares the
 * expected row of each first change of a row with the stored one, and throws an `ActionConflict`.
 */
export interface ActionStore {
    /** Tabs whose stores have the same name share one: all of them add actions, one sends. Absent: it is this tab's own. */
    readonly sharedName?: string
    load(): Promise<DeferredAction[]>
    commit(changes: ActionChange[]): Promise<unknown>
}

/** Keeps actions for as long as the page lives. */
export class MemoryActionStore implements ActionStore {
    /** @param options `show` gives the local state a status; undefined: the thing is to be reloaded. */
    constructor(options: {
        show: (kind: string, id: string, value?: string) => void
        shelf?: Map<string, DeferredAction>
        sharedName?: string
    })
    readonly sharedName?: string
    load(): Promise<DeferredAction[]>
    commit(changes: ActionChange[]): Promise<void>
}

/** Keeps actions in a store of `openStore`, in the transaction that writes the app's own object stores. */
export class IndexedDBActionStore implements ActionStore {
    /** @param options `tables`: the app's object stores that `show` writes to, in the transaction that it receives. */
    constructor(options: {
        store: {
            readonly name: string
            transaction<Result>(
                tables: string[], mode: IDBTransactionMode, body: (transaction: IDBTransaction) => Result | Promise<Result>
            ): Promise<Result>
        }
        tables?: string[]
        show: (kind: string, id: string, value: string | undefined, transaction: IDBTransaction) => void
    })
    /** The name of the database. */
    readonly sharedName: string
    load(): Promise<DeferredAction[]>
    commit(changes: ActionChange[]): Promise<unknown>
}

/** The options of the actions. */
export interface ActionOptions {
    store: ActionStore
    /** Sends a batch in its order, each action with its key, and returns the result of each; or throws `RequestError`. */
    send: (actions: DeferredAction[], signal: AbortSignal) => Promise<ActionResult[]>
    /** Whose gate and tokens the API has too. Left out: no gate, and tokens by `renewToken`. */
    client?: Client
    /** Gets a new token, after a 401. Only for an API with tokens of its own: otherwise the function of `client` is called. */
    renewToken?: (options: { signal: AbortSignal }) => Promise<unknown>
    /** Called in each tab that shares the store. */
    report?: (news: ActionNews) => void
    /** Another tab has changed what is pending, and the local state with it. */
    changed?: () => void
    settings?: ActionSettings
    /** The gate of the API that they are sent to, where it is not that of `client`. */
    gate?: LiveGate
    /** Replaces parts of the browser, for tests and other platforms. Its `now` is Unix time that does not go back. */
    environment?: Partial<Environment>
}

/**
 * Sends actions to the server. Each tab of an app makes one on its store. Each accepts actions, and the one that holds a Web
 * Lock sends them. When that is closed or frozen, another continues.
 */
export class LiveActions implements Snapshots<readonly DeferredAction[]> {
    /** What the server is not known to have, the oldest first. It stays while the store can neither read nor write. */
    readonly pending: DeferredAction[]
    /** Calls the listener with `pending`, now and after each change, whichever tab made it; returns a function that ends that. */
    watchPending(listener: (pending: DeferredAction[]) => void): () => void
    readonly subscribe: (listener: () => void) => () => void
    /** `pending` as the store has it: the same array until another action is pending, or none. */
    readonly getSnapshot: () => readonly DeferredAction[]
    /** The status that a pending action gives a thing; undefined: none, so what the server has is shown. */
    pendingValue(kind: string, id: string): string | undefined
    /** The time by which actions are kept, in ms. */
    now(): number
    /**
     * Gives a thing a status; fulfilled when it is shown and kept. `from`: what is shown until now. `unless` is called with the
     * pending status when it is this action's turn; where it returns true nothing is done.
     */
    set(kind: string, id: string, value: string, from?: string, options?: {
        unless?: (pending: string | undefined) => boolean
    }): Promise<void>
    /** A status was read from the server and written to the local state: what is pending is put on top of it. */
    reloaded(kind: string, id: string, value: string, askedAt?: number): Promise<void>
    /** Nothing is sent without a network, and everything at once when it is back. */
    networkChanged(isReachable: boolean): void
    tokenChanged(): void
    /** Sends now what waits for others; for a page that is hidden. */
    flush(): void
    /** Runs an immediate action: now, once, or not at all. */
    perform<Value>(operation: (options: { signal: AbortSignal }) => Promise<Value>): Promise<Value>
    /** Stops. What is pending stays in the store. */
    close(): void
}

/** Reads the store and sends what is in it. */
export function openActions(options: ActionOptions): Promise<LiveActions>
