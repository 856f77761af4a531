// What this module throws.

import { Response } from "./platform.js"

/** Why something failed, and what to do about it. A mistake in the use of the module is a `TypeError` instead. */
export type ErrorKind =
    /** Somebody has to sign in. */
    | "unauthorized"
    /** The access was revoked: stop. */
    | "revoked"
    /** The same would be refused again. */
    | "rejected"
    /** Try later, after `retryAfter` where it is set. */
    | "retry"
    /** No answer. A read mark may have been made. */
    | "unreachable"
    /** The app has closed it. */
    | "closed"
    /** Not now: the archive is away or behind, or a server at a limit; of a store: this browser gives none, or is full. */
    | "unavailable"
    /** Of a store: it is another schema's, account's or server's. It was neither changed nor deleted. */
    | "other"
    /** Of a store: another tab holds an older schema open. */
    | "blocked"
    /** Of a store: no answer within 10 s. */
    | "late"
    /** Of a store: another tab has deleted it. */
    | "deleted"
    /** Of a store of actions: another tab has changed a row. Nothing was written, and it is tried again. */
    | "conflict"
    /** Of actions: as many as are kept wait for the server. */
    | "full"
    /** Of an immediate action: there is no network, and nothing was sent. */
    | "notReachable"
    /** Of an immediate action: no answer came, so nobody knows whether it was done. */
    | "unknown"
    /** Of the archive: the server keeps none. */
    | "off"
    /** Of an inbox: it belongs to a person, and the token names no person, or one without the right. */
    | "forbidden"
    /** Of the archive: a bug. */
    | "badRequest"
    /** Of the archive: anything else. */
    | "refused"

/** Why something failed. */
export class LivegateError extends Error {
    /** For an app's own functions and stores. */
    constructor(kind: ErrorKind, message: string, facts?: { status?: number, code?: string, retryAfter?: number, cause?: unknown })
    readonly kind: ErrorKind
    /** Of HTTP. */
    readonly status?: number
    /** Of the problem document. */
    readonly code?: string
    /** Of the problem document, for a log. */
    readonly detail?: string
    /** In ms. */
    readonly retryAfter?: number
    /** Of "other": which of `format`, `schema`, `account` and `server` differ. */
    readonly differs?: string[]
    /** Of "other": what was found, where it is readable. */
    readonly found?: { format: number, schema: number, account: string, server: string } | null
    /** What it means for machines, screens and actions, where a function of theirs throws it. */
    readonly requestError: RequestError
}

/**
 * An app's API has refused a request, or did not answer it. 404 and 410 remove the thing, 403 too; 401 makes the client fetch a
 * token, once; everything else is tried again.
 */
export class RequestError extends LivegateError {
    /** @param status the HTTP status; undefined: no answer @param retryAfter what the server asked for, in ms */
    constructor(status?: number, retryAfter?: number)
    readonly kind: "unauthorized" | "rejected" | "retry" | "unreachable"
    /**
     * Returns the answer of a fetch, or throws its refusal. An answer that is not the API's own has failed, whatever its status
     * is. `sign` is what each answer of the API has, a header or the beginning of its `Content-Type`; left out: it is no HTML.
     */
    static check(response: Response, sign?: { header?: string, type?: string }): Response
}
