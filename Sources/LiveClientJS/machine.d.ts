// What machine.js exports.

export * from "./types/machine.js"
