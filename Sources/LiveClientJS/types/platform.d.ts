// What the module uses of a platform. Each is the platform's own type where an app is compiled with it (the library `dom`, or Node's
// types), and otherwise what the module needs of it.

/** The instances of a global class. */
type InstanceOf<Name extends string, Otherwise> =
    typeof globalThis extends { [Key in Name]: { prototype: infer Found } } ? Found : Otherwise
/** A global class itself. */
type ClassOf<Name extends string, Otherwise> = typeof globalThis extends { [Key in Name]: infer Found } ? Found : Otherwise

/** Gives up a request. */
export type AbortSignal = InstanceOf<"AbortSignal", {
    readonly aborted: boolean, readonly reason: unknown
    addEventListener(type: "abort", listener: () => void): void
    removeEventListener(type: "abort", listener: () => void): void
}>
/** An answer of `fetch`. */
export type Response = InstanceOf<"Response", {
    readonly ok: boolean, readonly status: number
    readonly headers: { get(name: string): string | null, has(name: string): boolean }
    json(): Promise<unknown>
    text(): Promise<string>
}>
/** What `fetch` is given. */
export type RequestInit = typeof globalThis extends { fetch: (url: never, options?: infer Found) => unknown } ? NonNullable<Found> : object
/** An address. */
export type URL = InstanceOf<"URL", { readonly href: string }>
/** Something that events come from. */
export type EventTarget = InstanceOf<"EventTarget", {
    addEventListener(type: string, listener: (event: never) => void): void
    removeEventListener(type: string, listener: (event: never) => void): void
}>
/** Keeps texts by key. */
export type Storage = InstanceOf<"Storage", { getItem(key: string): string | null, setItem(key: string, value: string): void }>
/** Web Locks. */
export type LockManager = InstanceOf<"LockManager", object>
/** The class of WebSockets. */
export type WebSocketClass = ClassOf<"WebSocket", new (url: string, protocols?: string[]) => object>
/** The class of channels between tabs. */
export type BroadcastChannelClass = ClassOf<"BroadcastChannel", new (name: string) => object>
/** A database of IndexedDB. */
export type IDBDatabase = InstanceOf<"IDBDatabase", object>
/** A transaction of IndexedDB. */
export type IDBTransaction = InstanceOf<"IDBTransaction", object>
/** Whether a transaction writes. */
export type IDBTransactionMode = "readonly" | "readwrite" | "versionchange"
