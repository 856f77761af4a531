// What is shown decides what is fetched; lists that are known in part.

export { FetchQueue } from "./core/fetches.js"
export { CompleteIntervals, compareEnds, compareKeys } from "./core/intervals.js"
export { KnownThings } from "./core/known.js"
export { PartialList } from "./core/partial.js"
export { Relevance, standardRules } from "./core/relevance.js"
export { RequestError } from "./shell/failures.js"
export { Screens } from "./shell/screens.js"
