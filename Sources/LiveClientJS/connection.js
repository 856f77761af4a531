// The connection of a page; with tabs.js, of all tabs of a browser.

export { LivegateError, connect } from "./shell/client.js"
