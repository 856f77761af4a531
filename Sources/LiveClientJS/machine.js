// What an app knows of an area, how far it can be trusted, and where it is kept.

export { LivegateError, LivegateError as StoreError, RequestError } from "./core/errors.js"
export { keyOf, thingOf } from "./core/stored.js"
export { IndexedDBStore, discardStore, openStore } from "./shell/indexeddb.js"
export { LiveGate, gateOf } from "./shell/gate.js"
export { LiveMachine, createMachine } from "./shell/machine.js"
export { MemoryStore } from "./shell/memorystore.js"
