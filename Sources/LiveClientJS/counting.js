// Whether people trust what they see: refreshes and fetches, by screen and day.

export { RefreshCounts, latencyEnds, manualShare } from "./core/counting.js"
