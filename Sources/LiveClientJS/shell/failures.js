// Why requests fail, of an app's API and of the gateway, and what that means for a machine.

import { RequestError } from "../core/errors.js"
import { finalStatuses } from "../core/retry.js"
import { keyOf } from "../core/stored.js"

/** Why a request has failed, in the machines' words. An error with a `kind` says it itself; otherwise its `status` does. */
export function failureOf(error) {
    const { kind, status, retryAfter } = error ?? {}
    if (kind === "unauthorized" || (status === 401 && kind === undefined)) return { unauthorized: {} }
    if (kind === "unreadable" || error instanceof SyntaxError) return { unreadable: {} }
    const isRefused = status < 500 && status !== 408 && status !== 429
    if ((kind === undefined ? isRefused : kind === "rejected") && retryAfter === undefined) return { rejected: { status: status ?? 400 } }
    return { retry: retryAfter === undefined ? {} : { after: retryAfter } }
}

/** The end of the connection that a gateway's refusal is, as of a stream that it refuses for good; undefined: it is none. */
export function endOf({ status, code }) {
    return finalStatuses.includes(status) && code !== undefined ? { refused: { status, code } } : undefined
}

/** What an error says of the thing that was asked for: "gone", "notOurs"; undefined: the request has failed. */
export function outcomeOf(error) {
    // Another server between has answered.
    if (error?.kind === "retry") return
    if (error?.status === 403) return "notOurs"
    return error?.status === 404 || error?.status === 410 ? "gone" : undefined
}

/** Calls what an app has given. What it throws is reported like any error that nobody catches, and stops nobody else. */
export function callApp(listener, ...values) {
    try {
        return listener?.(...values)
    } catch (error) {
        queueMicrotask(() => { throw error })
    }
}

/** What was warned of, once for each function and error; so many, and no more. */
const warned = new Set(), maximumWarned = 100

/** Tells an app what its own function has thrown, `{call, thing, name, error}`; and the console, where no server has said so. */
export function tellFailure(onError, failure) {
    callApp(onError, failure)
    const { call, thing, name, error } = failure, key = call + error
    if (error?.status || error instanceof RequestError || warned.has(key) || warned.size === maximumWarned) return
    warned.add(key)
    console.warn(`livegate: ${call} of ${thing ? keyOf(thing) : name}:`, error)
}

/** Whether whoever gives tokens says that nobody is signed in. Any other error may be mended by waiting. */
export function isSignedOut(error) { return error?.isUnauthorized === true || error?.kind === "unauthorized" }
