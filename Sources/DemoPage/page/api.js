// The incident API of the address that served this page, as one account with its token.

import { RequestError } from "../../LiveClientJS/livegate.js"

/** No answer after so long is none, in ms: on a network that died without a word `fetch` waits for minutes. */
const deadline = 15_000
/** Answers that are kept with their tags: as many as two screens have incidents. */
const maximumTags = 200

/** Why a request gave nothing, in words for people. */
export class APIError extends RequestError {
    /** @param status undefined: there was no answer @param retryAfter what the server asked for, in ms */
    constructor(status, detail, retryAfter) {
        super(status, retryAfter)
        this.message = detail
    }
}

export class API {
    constructor() {
        this.session = null
        /** By path: the tag and the body of the last answer. */
        this.tags = new Map()
    }

    /** Where the gateway is and who we are; asked for again when a token was refused. */
    async enter(again = false) {
        if (!this.session || again) {
            const answer = await this.fetch("/session", { cache: "no-store" })
            if (!answer.ok) throw await problem(answer)
            this.session = await answer.json()
        }
        return this.session
    }

    /** The newest incidents, or those behind the one with the id `from`. */
    list(from, limit, signal) {
        const words = new URLSearchParams({ limit: String(limit) })
        if (from) words.set("from", from)
        return this.get(`/api/incidents?${words}`, signal)
    }

    details(id, signal) { return this.get(`/api/incidents/${encodeURIComponent(id)}`, signal) }

    /** The incident as it is then. The same key again does nothing again. */
    act(id, verb, key, { body, signal } = {}) {
        const headers = { "Idempotency-Key": key }
        const options = { method: "POST", headers, body: body && JSON.stringify(body), signal }
        return this.ask(`/api/incidents/${encodeURIComponent(id)}/${verb}`, options).then(answer => answer.json())
    }

    async get(path, signal) {
        const known = this.tags.get(path)
        const headers = known ? { "If-None-Match": known.tag } : {}
        const answer = await this.ask(path, { headers, cache: "no-store", signal })
        if (answer.status === 304) return known.body
        const body = await answer.json()
        this.tags.delete(path)
        this.tags.set(path, { tag: answer.headers.get("ETag"), body })
        if (this.tags.size > maximumTags) this.tags.delete(this.tags.keys().next().value)
        return body
    }

    /** The answer, with a new token once where the old one is refused. */
    async ask(path, options) {
        for (const again of [false, true]) {
            const { token } = await this.enter(again)
            const headers = { ...options.headers, Authorization: `Bearer ${token}` }
            const answer = await this.fetch(path, { ...options, headers })
            if (answer.ok || answer.status === 304) return answer
            if (answer.status !== 401 || again) throw await problem(answer)
        }
    }

    async fetch(path, options) {
        const late = AbortSignal.timeout(deadline)
        const signal = options.signal ? AbortSignal.any([options.signal, late]) : late
        try {
            return await fetch(path, { ...options, signal })
        } catch {
            throw new APIError(undefined, "the server cannot be reached")
        }
    }
}

async function problem(answer) {
    const body = await answer.json().catch(() => ({}))
    const seconds = Number(answer.headers.get("Retry-After"))
    const retryAfter = seconds > 0 ? seconds * 1000 : undefined
    return new APIError(answer.status, body.detail ?? `status ${answer.status}`, retryAfter)
}
