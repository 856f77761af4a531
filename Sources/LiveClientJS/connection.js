// The connection of a page; with tabs.js of all tabs of a browser.

export { ConnectionMachine } from "./core/connection.js"
export { Jitter, Retry } from "./core/retry.js"
export { LivegateError, connect } from "./shell/client.js"
