// Livegate's client for browsers and Node: what an app knows, and what it does about it. The archive, counting and the
// machines beneath have separate entries.

export * from "./actions.js"
export * from "./connection.js"
export * from "./machine.js"
export * from "./screens.js"
export * from "./tabs.js"
