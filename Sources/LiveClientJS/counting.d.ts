// What counting.js exports.

export * from "./types/counting.js"
