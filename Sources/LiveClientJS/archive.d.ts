// What archive.js exports.

export * from "./types/archive.js"
export { RequestError } from "./types/errors.js"
