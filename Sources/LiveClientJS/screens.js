// What is shown decides what is fetched; lists that are known in part.

export { compareKeys } from "./core/intervals.js"
export { standardRules } from "./core/relevance.js"
export { RequestError } from "./shell/failures.js"
export { Screens } from "./shell/screens.js"
