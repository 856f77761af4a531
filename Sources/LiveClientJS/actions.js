// What a user did: sent at once, or as soon as the server can be reached.

export { ActionConflict } from "./core/sharedactions.js"
export { ActionError } from "./shell/actionerror.js"
export { LiveActions, openActions } from "./shell/actions.js"
export { IndexedDBActionStore, MemoryActionStore } from "./shell/actionstore.js"
export { RequestError } from "./shell/failures.js"
