// The one connection of an app, and what arrives over it.

export { EntryOf, OneOf, entryOf } from "./entry.js"
export { ErrorKind, LivegateError } from "./errors.js"
import type { EventID, ReadMark } from "./archive.js"
import { OneOf } from "./entry.js"
import { AbortSignal, BroadcastChannelClass, EventTarget, LockManager, RequestInit, Response, Storage, URL, WebSocketClass } from "./platform.js"
import { Timing } from "./screens.js"
import type { Sharing } from "./tabs.js"

/** The transports for events, the best first: the client finds out for each network what works. */
export type ConnectionWay = "webSocket" | "eventStream" | "longPoll" | "polling"

/** Why a connection has ended for good: reconnecting would change nothing. */
export type ConnectionEnd = OneOf<
    /** The app closed it. */
    | { stopped: {} }
    /** The server ended the stream by a `bye` with 1000. A close with 1000 alone is from a proxy, and counts as a loss. */
    | { done: {} }
    /** Close code 4403: the access was revoked. */
    | { revoked: {} }
    /** `code` is that of the problem document, where a Livegate answered. */
    | { refused: { status: number, code?: string } }
>

/** The state of a connection. Times in ms of the client's clock, which begins at 1970 and never goes back. */
export type ConnectionState = OneOf<
    /** Not begun, or in the background. */
    | { idle: {} }
    /** An attempt is being made; `since` the connection was lost, or first wanted; `attempt` counts from 1 since then. */
    | { connecting: { since: number, attempt: number } }
    | { connected: {} }
    /** No attempt before `until`, or before the network is back: `navigator.onLine` is wrong at times. */
    | { waiting: { until?: number, why: "offline" | "retry" | "asked" | "token" | "poll" } }
    /** Two tokens in a row were refused, or there is none: nobody is signed in. `start()` tries again. */
    | { unauthorized: {} }
    | { ended: { error: ConnectionEnd } }
>

/** Something has changed: fetch it from the ordinary API, if it is shown. */
export interface LiveEvent {
    entity: string
    id: string
    type: string
    /** The cursor behind it. */
    at?: string
    /** The record's time stamp, in ms since 1970. */
    ts?: number
    /** Its id in the archive, where the client asks for ids. */
    aid?: EventID
}

/** What a client delivers, in its order. */
export type LiveUpdate = OneOf<
    | { connected: { way: ConnectionWay } }
    | { event: LiveEvent }
    /** Everything that was missed has been delivered; what follows happens now. */
    | { live: { at: string } }
    /** Nothing new, but a newer cursor. */
    | { beat: { at: string } }
    /**
     * Fetch now what is shown: what was missed is not delivered, everything after this is. `why` is `start` (no cursor, or the stream
     * continues from another reader's), `slow` (this reader was too far behind), or the server's `epoch`, `expired`, `ahead`, `invalid`.
     */
    | { resync: { why: string, at: string } }
    /** The server has lost its own source of events (`stalled`), or has it again (`live`). */
    | { source: { state: string, ts?: number } }
    /** This person has read so far, on another device or this one. It moves no cursor: fetch the inbox after each `live`. */
    | { read: ReadMark }
    | { disconnected: {} }
>

/** What an app's own function has thrown. */
export interface AppFailure {
    /** Which one. */
    call: "token" | "snapshot" | "reload" | "page" | "send"
    /** The thing that it was to reload. */
    thing?: { entity: string, id: string }
    /** The name of the area or the list. */
    name?: string
    error: unknown
}

/** The options of a client. */
export interface ClientOptions {
    /** `https://live.example.com`; `wss`, and `/live/v1` behind it, mean the same. */
    url: string | URL
    /**
     * Returns the bearer token for an attempt, never called twice at a time. `fresh`: the last one was refused or ends soon;
     * `replacing` is that one, where it is known. No token: nobody is signed in. Left out with `cookie`.
     */
    token?: string | ((question: { fresh: boolean, replacing?: string }) => Promise<string | null | undefined> | string | null | undefined)
    /** The browser adds a cookie that the server knows. */
    cookie?: boolean
    /**
     * Receives what the app's functions throw, of this client and of all that pass its gate. An error that is no server's answer
     * is also in the console, once for each function and error.
     */
    onError?: (failure: AppFailure) => void
    /** Writes each decision of the client and its machines in one line by `console.debug`: never a token or a ticket. */
    debug?: boolean
    /** Send the token by a ticket in the address, instead of a subprotocol. */
    ticket?: boolean
    /** The cursor that was kept from an earlier run; null: from now on. */
    since?: string | null
    /** The entities whose events are delivered, at most 16; none: all. */
    entities?: string[]
    /** Whether events carry `aid`, their ids in the archive: for screens that also show its pages. */
    asksForEventIDs?: boolean
    /** The transports that may be tried, the best first: all. */
    ways?: ConnectionWay[]
    /** Between two requests of the transport `polling`, in ms. */
    pollInterval?: number
    /** How often the server sends a heartbeat, in ms: 25,000; 5 s to 5 min. Without one for 5 s more the stream is lost. */
    beat?: number
    /** `allTabs` of `livegate/tabs`: all tabs of this browser with the same server and `account` share one connection. */
    share?: Sharing
    /** Whose connection it is, so that two people never share one. */
    account?: string
    /** Names the network of the device, so that what was learned about it is remembered. */
    network?: () => string
    /** How long a hidden page keeps its connection, in ms: 30,000. */
    hiddenGrace?: number
    /** Replaces parts of the browser, for tests and other platforms. */
    environment?: Partial<Environment>
}

/** What the module uses of the browser, or of Node. */
export interface Environment extends Timing {
    /** A whole number below 2^32. */
    random(): number
    fetch(url: string, options: RequestInit): Promise<Response>
    WebSocket: WebSocketClass | undefined
    /** Remembers what works on which network; null: nothing is remembered. */
    storage: Pick<Storage, "getItem" | "setItem"> | null
    /** With both of these, tabs share a connection. */
    locks: LockManager | undefined
    BroadcastChannel: BroadcastChannelClass | undefined
    /** A window, whose visibility and network are followed; null: neither is known. */
    page: EventTarget & {
        document?: EventTarget & { visibilityState: string }
        navigator?: { onLine: boolean, connection?: EventTarget & { type?: string } }
    } | null
}

/** What `Client.sync` returns: what came after a cursor, or a resync because that cannot be delivered. */
export type SyncAnswer =
    | { page: { events: LiveEvent[], at: string, more: boolean }, resync?: undefined }
    | { resync: { why: string, at: string }, page?: undefined }

/** What is shown of an object, for `useSyncExternalStore` of React and similar functions. */
export interface Snapshots<Snapshot> {
    /** Calls the listener after each change of the snapshot; returns what ends that. */
    readonly subscribe: (listener: () => void) => () => void
    /** The same object until something has changed, and another one then, with the parts that are the same. Not to be written to. */
    readonly getSnapshot: () => Snapshot
}

/** Begins a client: it connects, reconnects after losses, and resumes where it was. */
export function connect(options: ClientOptions): Client

/** One connection for any number of readers and machines. Its methods need no `this`, as those of all objects of this module. */
export interface Client {
    /** `state` as a snapshot. */
    readonly connection: Snapshots<ConnectionState>
    readonly state: ConnectionState
    readonly way: ConnectionWay
    /** Whether this tab has the connection that all share; true where nothing is shared. */
    readonly isLeader: boolean
    /** The cursor after the newest update that was delivered; null before the first. */
    readonly cursor: string | null
    /** Its clock and timers, for `Screens`. */
    readonly environment: Timing
    /** Calls the listener with each update from now on; returns a function that ends that. */
    subscribe(listener: (update: LiveUpdate) => void): () => void
    /** Calls the listener with the state, now and after each change; returns a function that ends that. */
    watch(listener: (state: ConnectionState) => void): () => void
    /**
     * Calls the listener with whether people see this page, now and after each change; returns a function that ends that.
     * `isVisible`: it is on the screen. `isForeground`: it was until `hiddenGrace` ago. Another tab may have the connection meanwhile.
     */
    watchVisibility(listener: (page: { isVisible: boolean, isForeground: boolean }) => void): () => void
    /**
     * The updates from now on, for one reader. They end with the client; a `LivegateError` is thrown if it ended for a
     * reason. 1,024 wait for a busy reader; beyond that a resync replaces them.
     */
    updates(): AsyncIterableIterator<LiveUpdate>
    /**
     * Asks `/sync/v1`. `wait` in ms. `upTo`: a cursor that another node has sent, such as the `at` of a `changed` signal. The page
     * arrives when its node has read as far, after `wait` (else 2 s) at the latest, and has `more` while it has not. Throws a
     * `LivegateError`: `unreachable` after 12 s and the wait, too.
     */
    sync(question?: {
        since?: string, upTo?: string, limit?: number, wait?: number, signal?: AbortSignal,
    }): Promise<SyncAnswer>
    /** The token that requests carry; null with a cookie. `replacing`: another one than that, which was refused (`fresh`). */
    token(question?: { fresh?: boolean, replacing?: string }): Promise<string | null | undefined>
    /** Continues from another cursor, for all readers: all get a resync with it, except the listener `except`. */
    restart(options?: { since?: string | null, except?: (update: LiveUpdate) => void }): void
    /** Tries again after `unauthorized`. */
    start(): void
    /** Closes the connection and keeps the cursor; pages do it by themselves. */
    enterBackground(): void
    /** Reconnects at once. */
    enterForeground(): void
    /**
     * A person wants to see what is new: a waiting attempt is made now, and an open stream is tested for 2 s. A machine's `refresh`
     * does so by itself.
     */
    refresh(): void
    /** The device has another network, or none; pages report it by themselves. */
    pathChanged(path: { isSatisfied: boolean, network?: string }): void
    /** Ends the client, its updates and its machines' news. No function of the app is called any more. */
    close(): void
}
