// Why a request to the archive failed (ArchiveError.swift).
import { readProblem } from "../core/messages.js"
import { RequestError } from "./failures.js"

/** A request to the archive or to the inbox came to nothing; `kind` says what to do: see types/archive.d.ts. */
export class ArchiveError extends Error {
    /** @param facts `{status, code, detail, retryAfter}`, as far as the server has said them, or `{cause}` */
    constructor(kind, message, facts = {}) {
        super(message)
        this.name = "ArchiveError"
        this.kind = kind
        Object.assign(this, facts)
    }

    /** What it is to machines, screens and actions: a `RequestError`. */
    get requestError() {
        return new RequestError(this.kind === "unauthorized" ? 401 : this.status, this.retryAfter)
    }
}

const foreign = "the answer is none of a Livegate"

/** What an answer says that is not what was asked for. */
export function archiveErrorOf({ status, body, retryAfter }) {
    if (status < 300) return new ArchiveError("unreachable", foreign)
    const { code, detail } = readProblem(body)
    const facts = Object.fromEntries(Object.entries({ status, code, detail, retryAfter }).filter(([, value]) => value !== undefined))
    const make = (kind, message) => new ArchiveError(kind, message, facts)
    switch (status) {
    case 400: return make("badRequest", `the request is wrong: ${code ?? 400} ${detail ?? ""}`.trim())
    case 401: return make("unauthorized", "the server refused two tokens: status 401")
    case 403: return make("forbidden", "the server refuses this person, or there is none in the token")
    case 404: return make("off", "the server keeps no archive")
    }
    if (status === 408 || status === 429 || status >= 500) return make("unavailable", `the archive cannot answer now: status ${status}`)
    return make("refused", `the server refused: status ${status} ${code ?? ""}`.trim())
}
