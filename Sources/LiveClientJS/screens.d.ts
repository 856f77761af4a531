// What screens.js exports.

export * from "./types/screens.js"
export { RequestError } from "./types/errors.js"
