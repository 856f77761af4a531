// What a user did: sent at once, or as soon as the server can be reached.

export { LivegateError as ActionError, LivegateError, RequestError } from "./core/errors.js"
export { ActionConflict } from "./core/sharedactions.js"
export { LiveActions, openActions } from "./shell/actions.js"
export { IndexedDBActionStore, MemoryActionStore } from "./shell/actionstore.js"
