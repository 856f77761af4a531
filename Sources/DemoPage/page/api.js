// The incident API of the address that this page came from, as one account with its token.

/** Why a request gave nothing: `status` 0 where there was no answer, else that of the answer. */
export class APIError extends Error {
    constructor(status, detail, retryAfter) {
        super(detail)
        this.status = status
        /** Milliseconds that the server asked for; undefined where it did not. */
        this.retryAfter = retryAfter
    }

    /** Whether the same request may succeed later. */
    get passes() { return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500 }
}

export class API {
    constructor() {
        this.session = null
        /** By path: the tag and the body of the last answer, at most `API.maximumTags`. */
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

    list(from, limit) {
        const words = new URLSearchParams({ limit: String(limit) })
        if (from) words.set("from", from)
        return this.get(`/api/incidents?${words}`)
    }

    details(id) { return this.get(`/api/incidents/${encodeURIComponent(id)}`) }

    act(id, verb, key, body) {
        const options = { method: "POST", headers: { "Idempotency-Key": key }, body: body && JSON.stringify(body) }
        return this.ask(`/api/incidents/${encodeURIComponent(id)}/${verb}`, options).then(answer => answer.json())
    }

    async get(path) {
        const known = this.tags.get(path)
        const answer = await this.ask(path, { headers: known ? { "If-None-Match": known.tag } : {}, cache: "no-store" })
        if (answer.status === 304) return known.body
        const body = await answer.json()
        this.tags.delete(path)
        this.tags.set(path, { tag: answer.headers.get("ETag"), body })
        if (this.tags.size > API.maximumTags) this.tags.delete(this.tags.keys().next().value)
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
        try {
            return await fetch(path, options)
        } catch {
            throw new APIError(0, "the server cannot be reached")
        }
    }
}

/** As many as two screens have incidents. */
API.maximumTags = 200

async function problem(answer) {
    const body = await answer.json().catch(() => ({}))
    const seconds = Number(answer.headers.get("Retry-After"))
    const retryAfter = seconds > 0 ? seconds * 1000 : undefined
    return new APIError(answer.status, body.detail ?? `status ${answer.status}`, retryAfter)
}
