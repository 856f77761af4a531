// Why actions are not accepted or not done.
import { LivegateError } from "../core/errors.js"
import { actionOutcome } from "../core/outcome.js"

/** Why an immediate action was not done, or that nobody knows. */
export function immediateError(error) {
    const { status, retryAfter } = error ?? {}
    if (status === undefined) {
        return new LivegateError("unknown", "no answer came: it may have been done", { cause: error })
    }
    const outcome = actionOutcome(status)
    if (outcome === "unauthorized") return new LivegateError("unauthorized", "no token is accepted")
    const kind = outcome === "rejected" ? "rejected" : "unavailable"
    return new LivegateError(kind, `the server does not do it: status ${status}`, { status, retryAfter })
}
