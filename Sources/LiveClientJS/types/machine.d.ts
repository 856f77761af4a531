// Areas of state that are kept as the server has them, and the stores that contain them.

export { LivegateError, LivegateError as StoreError, RequestError } from "./errors.js"
import { AppFailure, Client, ConnectionEnd, Snapshots } from "./connection.js"
import { OneOf } from "./entry.js"
import { AbortSignal, IDBDatabase, IDBTransaction, IDBTransactionMode } from "./platform.js"
import { ReloadResult, ScreenFailure, StoredList, Timing } from "./screens.js"

/** What an event names: an incident, a note. Its id is unique among those of its entity. */
export interface Thing {
    entity: string
    id: string
}

/** The text by which entries are kept: entity and id as one. */
export function keyOf(thing: Thing): string
/** The thing of such a text. */
export function thingOf(key: string): Thing

/** When a server reported a change of a thing that is shown now. */
export interface LiveTime {
    thing: Thing
    /** Of the oldest event that is shown now, in ms since 1970. */
    ts: number
}

/** A thing that could not be reloaded, what happened to it, and why the last attempt has failed. */
export interface StaleThing {
    thing: Thing
    types: string[]
    failure: ScreenFailure
}

/** How far what is shown can be trusted. Times in ms of the client's clock: when it left `connected`. */
export type Freshness = OneOf<
    /** It is as the server has it. */
    | { connected: {} }
    /** It may be old; that is about to change. */
    | { connecting: { since: number } }
    /** It may be old, and attempts fail: no network, no token, or no answer. */
    | { cannotConnect: { since: number } }
    /** The server has lost its own source of events; since then by its clock. */
    | { sourceStalled: { since: number } }
    /** For good: the server does not let this origin (403), account or version in; without a status the access was revoked. */
    | { refused: { status?: number, code?: string } }
>

/** Why an attempt of a machine has failed. */
export type UpdateFailure = OneOf<
    /** The request for a cursor has failed, or the app's snapshot. */
    | { request: { failure: ScreenFailure } }
    /** The store did not accept the snapshot. */
    | { store: {} }
    /** More events arrived after a snapshot than may wait. */
    | { overflow: {} }
    /** The stream has ended, or could not be opened. */
    | { lost: {} }
    /** Nothing was asked: there is no network, no token, or no connection any more. */
    | { notAsked: {} }
>

/** The state of a machine. Times in ms of the client's clock. */
export type MachineState = OneOf<
    /** The store is being read: nothing is known yet, which is neither empty nor old. */
    | { notLoaded: {} }
    /** The last state, if there is one, is old. */
    | { stale: {} }
    /** The same, while a new snapshot is fetched. */
    | { registering: {} }
    | { registerFailed: { retryAt: number, failures: number, cause: UpdateFailure } }
    /** A stream is open, or being opened. */
    | { live: {} }
    | { pollFailed: { retryAt: number, failures: number, cause: UpdateFailure } }
    /** In the background; polls then, if at all. */
    | { idle: { nextPoll?: number } }
>

/** Whether requests to an API are made. Times in ms of the client's clock. */
export type GateState = OneOf<{ open: {} } | { closed: { until: number } } | { probing: {} } | { rising: { limit: number } }>

/**
 * One gate for all requests to an API. A 408, 429 or 5xx, or no answer, closes it for all that pass it. They wait, one request
 * tests whether the API answers again, then slowly more are made.
 */
export class LiveGate {
    /** An open gate. A client has one already: `gateOf`. */
    constructor(environment: Timing, onError?: (failure: AppFailure) => void)
    readonly state: GateState
    /** The last error of an app's function that asks this API; null: nothing. */
    readonly lastError: AppFailure | null
    /** A person wants to see everything again: one request tests the API now, even if it asked to wait. */
    refresh(): void
    /** There is a network again: waits for a network are over. */
    networkIsBack(): void
}

/** The gate of the API that belongs to a client. Its machines and their screens pass it; pass it to actions. */
export function gateOf(client: Client): LiveGate

/** The options of a machine. */
export interface MachineOptions<Value = unknown> {
    /** The name of the area in the store: one machine for each; another one is refused until that is closed. */
    area: string
    /** Events of other entities are ignored; none named: all count. */
    entities?: string[]
    /** All things of the area by `keyOf`, from the app's API. It begins after the cursor arrived, so it must not come from a cache. */
    snapshot(options: { signal: AbortSignal }): Promise<Iterable<[string, Value]>>
    /** The thing from the app's API; undefined: it does not belong to the area. Left out where `screens` fetch. */
    reload?(thing: Thing, options: { types: string[], signal: AbortSignal }): Promise<Value | undefined>
    /**
     * Screens that fetch only what is shown: a function that makes them with this `onReload`. Entries that they pass over
     * are removed here, because they are old.
     */
    screens?(onReload: (result: ReloadResult<Value>) => void): MachineScreens
    /** Where it is kept; left out: nowhere. */
    store?: LiveStore
    /** The app's own object stores, which `also` writes to in the same transaction (IndexedDB). */
    tables?: string[]
    /** Called in each commit, with all entries (`isWhole`) or those that change. It must not await anything. */
    also?(transaction: IDBTransaction, changes: { isWhole: boolean, put: [string, Value][], remove: string[] }): void
    /** What these events changed is shown now: called after the watchers, for `RefreshCounts`. Things that no screen needed are left out. */
    shown?(times: LiveTime[]): void
    /** How long the server keeps events, in ms: 24 hours. What is older is replaced by a snapshot without asking. */
    retention?: number
    /** How often to ask in the background, in ms; left out: not at all. */
    pollInterval?: number
    /** The most changes that wait for a commit: 1,000. Beyond it a snapshot replaces all reloads. */
    maximumPending?: number
    /** A request without an answer of the app's API after so long has failed, in ms: 60,000. */
    requestDeadline?: number
    /** Of the API that `snapshot` and `reload` ask; left out: the client's, `gateOf`. */
    gate?: LiveGate
    /** After an event has waited so long without being in the state, the state counts as old, in ms: 5,000. */
    patience?: number
    /** The seed of the random waits, so that a test gets the same ones; left out: by chance. */
    seed?: number
}

/** What a machine asks of its screens. `Screens` have it, and only they have lists that are kept in the machine's store. */
export interface MachineScreens {
    reload(change: { number: number, thing: Thing, types: string[] }): void
    dropReloads(): void
    setFinger(isHeld: boolean): void
    setLive(isLive: boolean): void
    setVisible(isVisible: boolean): void
    networkIsBack?(): void
    /** Somebody pulled the screen: what waits to be tried again is tried now. */
    retryNow?(): void
    /** Set by the machine, whose sign covers what the screens show. */
    onShown?: (shown: { isComplete: boolean, hasFailed: boolean, isLoading: boolean }) => void
    /** Fetches pass this gate, and a 401 makes it call the client's token function. */
    useGate?(gate: LiveGate, tokens: unknown): void
    /** What an earlier visit has kept was read. */
    storedIsRead?(): void
    close(): void
}

/** Begins a machine on a client's connection. Any number of them share it. */
export function createMachine<Value = unknown>(client: Client, options: MachineOptions<Value>): LiveMachine<Value>

/** What is visible of a machine. */
export type MachineSnapshot<Value = unknown> = Readonly<Pick<LiveMachine<Value>,
    "entries" | "isLoaded" | "state" | "freshness" | "sign" | "lastSuccess" | "knownStale" | "isUnauthorized" | "end" | "storeError"
    | "isInMemory">>

/** An area of state, kept as the server has it. */
export class LiveMachine<Value = unknown> implements Snapshots<MachineSnapshot<Value>> {
    private constructor()
    /** What is known, by `keyOf`: another map after each change; empty while not loaded. */
    readonly entries: ReadonlyMap<string, Value>
    get(thing: Thing): Value | undefined
    /** Whether the store was read: before, nothing is known, which is neither empty nor old. */
    readonly isLoaded: boolean
    readonly state: MachineState
    readonly freshness: Freshness
    /**
     * The sign for people, including the lists and details of its screens: undefined in the background, while nothing is wrong,
     * and for the first 300 ms of a gap.
     */
    readonly sign: Freshness | undefined
    /** When it was last as the server has it, in ms of the client's clock. */
    readonly lastSuccess: number | undefined
    /** What could not be reloaded, three times or for good: its entry stays what it was, and is old. */
    readonly knownStale: readonly StaleThing[]
    /** Two tokens were refused: somebody has to sign in. */
    readonly isUnauthorized: boolean
    /** Why nothing is asked any more: the connection has ended for good. What is known stays, and is old. Undefined: it has not ended. */
    readonly end: ConnectionEnd | undefined
    /**
     * Why the store is not used any more (a `StoreError` of another kind than "late", such as "unavailable" where the disk is
     * full: state goes on in memory), or what it failed to read or write and is tried again. Null while it is used, and
     * where there is none.
     */
    readonly storeError: Error | null
    /**
     * Whether state goes on in memory, because its store can neither read nor write: after three failures in a row. It is as good as
     * before, and does not survive the page. A snapshot (`refresh`) tries the store again, unless it is gone.
     */
    readonly isInMemory: boolean
    /** Calls the listener after each visible change of this machine; returns a function that ends that. */
    readonly subscribe: (listener: () => void) => () => void
    /** Everything visible of this machine: the same object until something has changed. */
    readonly getSnapshot: () => MachineSnapshot<Value>
    /** The same as `subscribe`. */
    watch(listener: () => void): () => void
    /**
     * Somebody pulled the screen: tests the connection, does now what would be tried later, and fetches a new snapshot.
     * Fulfilled when everything has arrived (true), or cannot be fetched now.
     */
    refresh(): Promise<boolean>
    /** Somebody opens a thing: if it is known to be stale, it is asked for now. */
    check(thing: Thing): void
    /** There is a new token, because somebody has signed in again: what waited for one continues. */
    tokenChanged(): void
    /** Ends it: nothing is called or written any more. */
    close(): void
}

/** What a machine keeps of itself: opaque to apps. */
export interface MachineMetadata {
    finger?: string
    lastSuccess?: number
    lastAttempt?: number
    knownStale?: StaleThing[]
}

/** A commit of an area: all of it is written, or nothing. */
export interface StoreCommit {
    metadata: MachineMetadata
    put?: [string, unknown][]
    remove?: string[]
    /** A snapshot: `whole` replaces everything. */
    isWhole?: boolean
    whole?(): Iterable<[string, unknown]>
    tables?: string[]
    also?(transaction: IDBTransaction, isWhole: boolean): void
}

/** What keeps areas of state. */
export interface LiveStore {
    /** What was committed of an area last; null: nothing was committed. */
    load(area: string): Promise<{ metadata: MachineMetadata, entries: Map<string, unknown> } | null>
    /** "leave": another tab has written this area in the last 10 seconds and continues to do so; nothing was written. */
    commit(area: string, commit: StoreCommit): Promise<"changes" | "whole" | "leave">
    close(): void
}

/** A store that ends with the page. */
export class MemoryStore implements LiveStore {
    /** Those that share a `shelf` behave as tabs of one browser. */
    constructor(options?: { shelf?: Map<string, unknown>, writer?: string, now?: () => number })
    /** For tests: an error that it throws makes a commit fail. */
    beforeCommit: (area: string) => void | Promise<void>
    load: LiveStore["load"]
    commit: LiveStore["commit"]
    close(): void
}

/** A store on IndexedDB. */
export class IndexedDBStore implements LiveStore {
    private constructor()
    /** The name of the database: with its server and account. Locks and channels of its actions have it too. */
    readonly name: string
    /** The database that was unreadable when this one replaced it: it stays as it is. Null: there was none. */
    readonly setAside: string | null
    load: LiveStore["load"]
    commit: LiveStore["commit"]
    /** The app's own transaction on its own object stores; fulfilled with what `body` returned, when it is complete. */
    transaction<Result>(
        tables: string[], mode: IDBTransactionMode, body: (transaction: IDBTransaction) => Result | Promise<Result>
    ): Promise<Result>
    close(): void
    /**
     * Its account signs out on this device: closes the store, whose machines and actions were closed before. `keep: false` deletes
     * it in all tabs; otherwise it stays for the next time. `pending`: the actions that the server is not known to have, kept or deleted.
     */
    signOut(options?: { keep?: boolean }): Promise<{ isKept: boolean, pending: unknown[] }>
}

/**
 * Opens the store of an account at a server, or creates it where there is none. A store that the browser cannot read is set aside
 * (`setAside`), and another one replaces it.
 *
 * Throws a `StoreError`: "other" for a database of another schema, account or server, which is neither used nor deleted;
 * "blocked" while another tab holds an older schema; "unavailable" where the browser offers none; "late" after 10 s.
 */
export function openStore(options: {
    /** What the database's name begins with, in front of server and account: `livegate`. */
    name?: string
    /** The database's whole name, where an earlier release has made it. */
    database?: string
    /** The app's own number from 1, to be raised with each change of what it keeps. */
    schema?: number
    account: string
    /** Its address, or another name that distinguishes it from others. */
    server: string
    /** Creates the app's object stores, and updates older ones. Without it an older schema counts as another app's. */
    tables?(database: IDBDatabase, transaction: IDBTransaction, oldVersion: number): void
}): Promise<IndexedDBStore>

/**
 * Deletes a store with all that is in it, after its user agreed; no tab writes it back. By its `name`, or by the options of `openStore`.
 * Throws a `StoreError` "late" where another tab keeps it open for 10 s: then it is deleted when that closes it.
 */
export function discardStore(store: string | { name?: string, account: string, server: string }): Promise<void>
