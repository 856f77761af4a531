// A gateway with an archive, which a test plays: its answers one after the other, and what was asked.
import { LiveArchive } from "../../Sources/LiveClientJS/archive.js"
import { World, settle } from "./world.js"

export const lineOf = (aid, more = {}) => ({ ent: "incident", id: `P${aid}`, type: "created", ts: 1795240000000, aid, ...more })
export const pastOf = (aids, more = false, rest = {}) => ({ events: aids.map(aid => lineOf(aid)), more, gaps: [], ...rest })
export const inboxOf = (things, more = false, rest = {}) => ({ things, unread_things: 17, more, at: "here", ...rest })

/** An answer as it is sent: a body as text, bytes, a stream, or an object; 200 of an object is a page. */
export function answerOf(status, body = "", headers = {}) {
    const isText = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream
    return () => new Response(status === 204 ? null : isText ? body : JSON.stringify(body), { status, headers })
}

/** A body of which the rest never comes. */
export function cutBody(text) {
    return new ReadableStream({
        start(controller) {
            controller.enqueue(new TextEncoder().encode(text))
            queueMicrotask(() => controller.error(new TypeError("terminated")))
        },
    })
}

export class ArchiveWorld extends World {
    /** Of requests to the archive: `{path, parameters, method, body, token, headers, signal}`. */
    requests = []
    #answers

    /** @param answers of `answerOf`, or what throws; the last of them answers all further requests */
    constructor(...answers) {
        super()
        this.#answers = answers
    }

    environment(changes = {}) {
        const fetch = async (url, { method = "GET", body, headers, signal, redirect }) => {
            const { pathname: path, searchParams } = new URL(url)
            const token = headers.Authorization?.replace("Bearer ", "")
            this.requests.push({ path, parameters: Object.fromEntries(searchParams), method, body, token, headers, signal, redirect })
            const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]
            return answer()
        }
        return super.environment({ fetch, ...changes })
    }

    /** The archive of a client that shows tokens t1, t2 and so on. */
    archive(options = {}, settings = {}) {
        let count = 0
        const token = async ({ fresh }) => {
            this.asked.push(fresh)
            return `t${count += 1}`
        }
        // Its stream is of no use here: in the background there is none. The first request shows the token that it asks for.
        const { client } = this.client({ token, ...options })
        client.enterBackground()
        return new LiveArchive(client, settings)
    }

    /** What a request comes to, while the clock runs. */
    async result(promise, milliseconds = 0) {
        const done = promise.then(value => ({ value }), error => ({ error }))
        await this.pass(milliseconds)
        return Promise.race([done, settle().then(() => ({ isPending: true }))])
    }
}
