// What core.js exports.

export * from "./types/core.js"
export * from "./types/partial.js"
