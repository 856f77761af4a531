// Livegate's client for browsers and Node: what an app knows, and what it does about it.

export * from "./actions.js"
export * from "./archive.js"
export * from "./connection.js"
export * from "./core/counting.js"
export * from "./machine.js"
export * from "./screens.js"
export * from "./tabs.js"
