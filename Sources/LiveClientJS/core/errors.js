// What this module throws: one class, whose `kind` is the reason.

/** Something failed; see types/errors.d.ts for the kinds. A mistake of the app is a TypeError. */
export class LivegateError extends Error {
    /** @param facts `{status, code, detail, retryAfter, cause}` and the like, as far as they are known */
    constructor(kind, message, facts) {
        super(message)
        this.name = "LivegateError"
        this.kind = kind
        Object.assign(this, facts)
    }

    /** What it is to machines, screens and actions. */
    get requestError() { return new RequestError(this.kind === "unauthorized" ? 401 : this.status, this.retryAfter) }
}

/** Why an app's request to its API failed. Thrown by the app's functions. */
export class RequestError extends LivegateError {
    /** @param status the HTTP status; absent: no answer. @param retryAfter what the server asked for, in ms */
    constructor(status, retryAfter) {
        const mayPass = status >= 500 || status === 408 || status === 429
        const kind = status === undefined ? "unreachable" : status === 401 ? "unauthorized" : mayPass ? "retry" : "rejected"
        super(kind, status === undefined ? "no answer" : `status ${status}`, { status, retryAfter })
        this.name = "RequestError"
    }

    /**
     * Throws what a `Response` of fetch refuses with; returns it otherwise. An answer that is not the API's own says nothing of what was
     * asked for, whatever its status is: it has failed, and is asked for again.
     *
     * @param sign `{header}` or `{type}`: what each answer of the API has; left out: it is no HTML, which a proxy in front of it sends
     */
    static check(response, { header, type } = {}) {
        const { headers } = response, kind = headers.get("Content-Type") ?? ""
        const isOurs = header ? headers.has(header) : type ? kind.startsWith(type) : !kind.startsWith("text/html")
        if (response.ok && isOurs) return response
        const seconds = Number(headers.get("Retry-After") ?? NaN)
        const error = new RequestError(response.status, Number.isFinite(seconds) ? seconds * 1_000 : undefined)
        throw isOurs ? error : Object.assign(error, { kind: "retry" })
    }
}
