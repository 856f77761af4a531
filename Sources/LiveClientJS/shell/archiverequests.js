// Requests to the archive: one question, its complete answer of a bounded size, and a retry where the server asks to wait.
import { LivegateError } from "../core/errors.js"
import { Retry } from "../core/retry.js"
import { readRetryAfter } from "../core/messages.js"
import { inTime, pause, tokenLimit, within } from "./environment.js"
import { isSignedOut } from "./failures.js"
import { bodyLimit, credentials, headLimit, lateAnswer } from "./requests.js"

/** The largest answer, in bytes: 500 events with names as long as they may be are less than half a MiB. */
const maximumAnswer = 16 * 2 ** 20
/** A server that always asks to wait for no time is not asked for ever. */
const maximumAttempts = 5

/** The text of an answer. Throws where it is too large, cut, or no UTF-8. */
async function readText(answer) {
    const reader = answer.body?.getReader(), decoder = new TextDecoder("utf-8", { fatal: true })
    let text = ""
    for (let size = 0; reader;) {
        const { done, value } = await reader.read()
        if (done) break
        size += value.length
        if (size > maximumAnswer) {
            reader.cancel().catch(() => {})
            throw new RangeError(`answer too large: over ${maximumAnswer} bytes`)
        }
        text += decoder.decode(value, { stream: true })
    }
    return text + decoder.decode()
}

/** The requests of a client to its archive. */
export class ArchiveRequests {
    #client
    #patience

    /** @param patience a request waits altogether so long, in ms, because the server asks for it */
    constructor(client, patience) {
        this.#client = client
        this.#patience = patience
    }

    /** The entities whose events the client has; none: all. */
    get entities() { return this.#client.entities }

    /** The time of the client's clock, in ms. */
    now() { return this.#client.environment.now() }

    /**
     * Asks, with another token after a 401, and once more after the time that `Retry-After` asks for: `{status, body, retryAfter}`,
     * whatever the status. Throws an `ArchiveError` where there is no answer, and the reason of `signal` where that aborts.
     */
    ask(question, outer) {
        return this.#client._whileOpen(outer, async signal => {
            const { environment } = this.#client
            const retry = new Retry(environment.random())
            let waited = 0, isRenewed = false, fresh = false, replacing
            for (let attempt = 1; ; attempt += 1) {
                const { token, ...answer } = await this.#askOnce(question, { fresh, replacing }, signal)
                const { status, retryAfter } = answer
                fresh = status === 401
                replacing = token ?? undefined
                if (attempt === maximumAttempts || (fresh && isRenewed)) return answer
                if (fresh) {
                    isRenewed = true
                    continue
                }
                if ((status !== 429 && status !== 503) || retryAfter === undefined) return answer
                const wait = retry.waitAfter(retryAfter)
                waited += wait
                if (waited > this.#patience) return answer
                await pause(environment, wait, signal)
                signal.throwIfAborted()
            }
        })
    }

    /** One request, whatever is answered: it neither waits nor renews a token. */
    askOnce(question, outer) { return this.#client._whileOpen(outer, signal => this.#askOnce(question, {}, signal)) }

    async #askOnce(question, wanted, signal) {
        const token = await this.#token(wanted, signal)
        try {
            return { ...await this.#fetch(question, token, signal), token }
        } catch (error) {
            signal.throwIfAborted()
            throw new LivegateError("unreachable", `no answer: ${error.message}`, { cause: error })
        }
    }

    async #token(wanted, signal) {
        const late = () => new Error("token: no answer within 30 s")
        let token
        try {
            token = await within(this.#client.environment, tokenLimit, () => this.#client.token(wanted), late, signal)
        } catch (error) {
            signal.throwIfAborted()
            // The client's own error: it is closed.
            if (error?.kind === "closed") throw error
            if (!isSignedOut(error)) throw new LivegateError("unreachable", `no token: ${error?.message ?? error}`, { cause: error })
        }
        signal.throwIfAborted()
        if (token !== null && !token) throw new LivegateError("unauthorized", "there is no token: nobody is signed in")
        return token
    }

    async #fetch({ path, parameters = {}, body }, token, outer) {
        const { environment, _addresses: addresses } = this.#client
        const { headers, ...options } = credentials(token)
        const settings = { ...options, headers: { ...headers }, cache: "no-store" }
        if (body !== undefined) {
            Object.assign(settings, { method: "POST", body })
            settings.headers["Content-Type"] = "application/json"
        }
        return inTime(environment, async (signal, extend) => {
            extend(headLimit)
            const answer = await environment.fetch(addresses.request(path, parameters), { ...settings, signal })
            extend(bodyLimit)
            const retryAfter = readRetryAfter(answer.headers.get("Retry-After"), environment.now())
            return { status: answer.status, body: await readText(answer), retryAfter }
        }, lateAnswer, outer)
    }
}
