// The connection of a page; with tabs.js, of all tabs of a browser.

export { entryOf } from "./core/entry.js"
export { LivegateError } from "./core/errors.js"
export { connect } from "./shell/client.js"
