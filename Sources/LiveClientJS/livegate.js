// Livegate's client for browsers and Node: what an app knows, and what it does about it.

export { CompleteIntervals, compareEnds, compareKeys } from "./core/intervals.js"
export { FetchQueue } from "./core/fetches.js"
export { KnownThings } from "./core/known.js"
export { Relevance, standardRules } from "./core/relevance.js"
export { PartialList } from "./core/partial.js"
export { ConnectionMachine } from "./core/connection.js"
export { Jitter, Retry } from "./core/retry.js"
export { ActionQueue, actionOutcome } from "./core/actions.js"
export { latencyEnds, manualShare, RefreshCounts } from "./core/counting.js"
export { StoreError, keyOf, thingOf } from "./core/stored.js"
export { MemoryStore } from "./shell/memorystore.js"
export { IndexedDBStore, discardStore, openStore } from "./shell/indexeddb.js"
