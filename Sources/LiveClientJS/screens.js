// What is shown decides what is fetched; lists that are known in part.

export { LivegateError, RequestError } from "./core/errors.js"
export { compareKeys } from "./core/intervals.js"
export { standardRules } from "./core/relevance.js"
export { Screens } from "./shell/screens.js"
