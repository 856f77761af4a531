// Why actions are not accepted or not done.
import { actionOutcome } from "../core/outcome.js"

/** Why an action was not taken or not done. */
export class ActionError extends Error {
    /**
     * @param kind of a deferrable one "full" or "closed"; of an immediate one "notReachable" (nothing was sent),
     *     "unauthorized", "rejected", "unavailable" (with `status`, perhaps `retryAfter`), or "unknown": no answer
     *     came, so nobody knows whether it was done
     */
    constructor(kind, message, members = {}) {
        super(message)
        this.name = "ActionError"
        this.kind = kind
        Object.assign(this, members)
    }
}

/** Why an immediate action was not done, or that nobody knows. */
export function immediateError(error) {
    const { status, retryAfter } = error ?? {}
    if (status === undefined) {
        return new ActionError("unknown", "no answer came: it may have been done", { cause: error })
    }
    const outcome = actionOutcome(status)
    if (outcome === "unauthorized") return new ActionError("unauthorized", "no token is accepted")
    const kind = outcome === "rejected" ? "rejected" : "unavailable"
    return new ActionError(kind, `the server does not do it: status ${status}`, { status, retryAfter })
}
