// What actions.js exports.

export * from "./types/actions.js"
export { RequestError } from "./types/errors.js"
