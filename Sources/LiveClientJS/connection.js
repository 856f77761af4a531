// The connection: one for a page, or for all tabs of a browser.

export { ConnectionMachine } from "./core/connection.js"
export { Jitter, Retry } from "./core/retry.js"
export { TabMachine } from "./core/tabs.js"
export { LivegateError, connect } from "./shell/client.js"
