// The connection of a page; with tabs.js, of all tabs of a browser.

export { entryOf } from "./core/entry.js"
export { LivegateError, connect } from "./shell/client.js"
