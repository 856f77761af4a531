// Why requests of an app's API fail, and what that means to a machine.

/** What an app's request to its API came to, where it is not what was asked for. Thrown by the app's functions. */
export class RequestError extends Error {
    /** @param status the HTTP status; absent: no answer. @param retryAfter what the server asked for, in ms */
    constructor(status, retryAfter) {
        super(status === undefined ? "no answer" : `status ${status}`)
        this.name = "RequestError"
        this.status = status
        this.retryAfter = retryAfter
    }

    /** Throws what a `Response` of fetch refuses with; returns it otherwise. */
    static check(response) {
        if (response.ok) return response
        const seconds = Number(response.headers.get("Retry-After") ?? NaN)
        throw new RequestError(response.status, Number.isFinite(seconds) ? seconds * 1_000 : undefined)
    }
}

/** Why a request has failed, in the machine's words. */
export function failureOf(error) {
    const { kind, status, retryAfter } = error ?? {}
    if (kind === "unauthorized" || status === 401) return { unauthorized: {} }
    const isRefused = status !== undefined && status < 500 && status !== 408 && status !== 429
    if (isRefused && retryAfter === undefined) return { rejected: { status } }
    return { retry: retryAfter === undefined ? {} : { after: retryAfter } }
}
