// What screens.js exports.

export * from "./types/screens.js"
export * from "./types/partial.js"
export { RequestError } from "./types/machine.js"
