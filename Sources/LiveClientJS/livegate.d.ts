// Livegate's client for browsers and Node: what an app knows, and what it does about it.

export * from "./types/connection.js"
export * from "./types/tabs.js"
export * from "./types/machine.js"
export * from "./types/screens.js"
export * from "./types/actions.js"
