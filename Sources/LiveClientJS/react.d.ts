// What react.js exports.

export * from "./types/react.js"
