// Why a request to the archive failed (ArchiveError.swift).
import { LivegateError } from "../core/errors.js"
import { readProblem } from "../core/messages.js"

const foreign = "the answer is none of a Livegate"

/** What an answer says that is not what was asked for. */
export function archiveErrorOf({ status, body, retryAfter }) {
    if (status < 300) return new LivegateError("unreachable", foreign)
    const { code, detail } = readProblem(body)
    const facts = Object.fromEntries(Object.entries({ status, code, detail, retryAfter }).filter(([, value]) => value !== undefined))
    const make = (kind, message) => new LivegateError(kind, message, facts)
    switch (status) {
    case 400: return make("badRequest", `the request is wrong: ${code ?? 400} ${detail ?? ""}`.trim())
    case 401: return make("unauthorized", "the server refused two tokens: status 401")
    case 403: return make("forbidden", "the server refuses this person, or there is none in the token")
    case 404: return make("off", "the server keeps no archive")
    }
    if (status === 408 || status === 429 || status >= 500) return make("unavailable", `the archive cannot answer now: status ${status}`)
    return make("refused", `the server refused: status ${status} ${code ?? ""}`.trim())
}
