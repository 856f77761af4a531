// What tabs.js exports.

export * from "./types/tabs.js"
