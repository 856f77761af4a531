// What connection.js exports.

export * from "./types/connection.js"
