// Requests to the gateway by fetch: pages of `/sync/v1`, tickets, and event streams.

import { EventStreamReader, given, readPage, readProblem, readRetryAfter } from "../core/messages.js"
import { inTime } from "./environment.js"

/** The addresses of a gateway: `https://live.example.com`, with or without `/live/v1`; `wss` means the same. */
export class Addresses {
    #base

    constructor(url) {
        // The class URL is not used: some platforms cannot set its parts, or read them.
        const [, scheme, secure, rest] = /^(?:(http|ws)(s?)|[^:]*):\/\/([^/?#]+[^?#]*)/i.exec(String(url).trim()) ?? []
        if (!scheme) throw new TypeError(`url: '${String(url).split("/")[0]}' is none of http, https, ws, wss`)
        this.#base = `http${secure}://${rest}`.replace(/\/(live\/v1\/?)?$/, "")
    }

    get text() { return this.#base }

    /** `parameters` without a value are left out. */
    request(path, parameters) {
        const all = Object.entries(parameters).filter(([, value]) => (value ?? "") !== "")
        const query = all.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")
        return this.#base + path + (query && "?" + query)
    }

    socket(path, parameters) { return this.request(path, parameters).replace(/^http/, "ws") }
}

/**
 * What a request says about who asks: the token, or the cookie that the browser adds. A redirect is a failure: older browsers
 * carry the header on to wherever it leads, and Livegate sends none.
 */
export function credentials(token) {
    const redirect = "error"
    return token === null ? { redirect, credentials: "include" } : { redirect, headers: { Authorization: `Bearer ${token}` } }
}

/** A refusal by its head and body: {refused: {status, code, retryAfter}}; {resync: {why, at}} where it is one. */
async function readRefusal(answer, environment) {
    const { code, resync } = readProblem(await answer.text())
    if (answer.status === 410 && resync) return { resync }
    const retryAfter = readRetryAfter(answer.headers.get("Retry-After"), environment.now())
    return { refused: given({ status: answer.status, code, retryAfter }) }
}

/** What messages carry for an app that shows the archive beside them. */
const withEventIDs = "at,ts,aid"

/** A server that is there begins its answer within so long, in ms, behind a wait that was asked for. */
export const headLimit = 12_000
/** The rest of an answer, in ms: a page of 500 events is 60 KB, and slow paths carry 2 KB in a second. */
export const bodyLimit = 30_000

/** Why a request ends whose answer does not come in time. */
export const lateAnswer = () => new Error("no answer in time")

/**
 * Asks `/sync/v1`: {page: {events, at, more}}, {resync: {why, at}}, {refused: {status, code, retryAfter}}, or {lost: {how}}.
 * A cursor that cannot be read is a resync here as it is on a stream: a fresh one is fetched. `wait` in ms.
 * A path that died without a word is `lost` after 12 s and the wait: browsers themselves wait for minutes. Not so with
 * `isTimed: false`, for who aborts by himself.
 */
export async function askSync(environment, addresses, question) {
    const { token, since, upTo, wait, limit, entities, asksForEventIDs, signal: outer, isTimed = true } = question
    const begun = environment.now()
    const parameters = {
        since, upto: upTo, limit, wait: wait ? Math.ceil(wait / 1000) : undefined, ent: entities?.join(","),
        with: asksForEventIDs ? withEventIDs : undefined,
    }
    const ask = async (signal, extend) => {
        if (isTimed) extend(headLimit + (wait ?? 0))
        const url = addresses.request("/sync/v1", parameters)
        const answer = await environment.fetch(url, { ...credentials(token), cache: "no-store", signal })
        if (isTimed) extend(bodyLimit)
        if (answer.status === 200) {
            const page = readPage(await answer.text())
            return page ? { page } : { lost: { how: "broken" } }
        }
        return readRefusal(answer, environment)
    }
    const asked = (signal, extend) => ask(signal, extend).catch(() => {
        // A browser gives no reason for a failed request. A request that was held for a while had reached a server.
        const isHeld = wait && !signal.aborted && environment.now() - begun >= 1_000
        return { lost: { how: isHeld ? "cut" : "unreachable" } }
    })
    const answer = await inTime(environment, asked, lateAnswer, outer).catch(() => ({ lost: { how: "unreachable" } }))
    if (answer.refused?.code !== "bad_cursor" || !since) return answer
    const fresh = await askSync(environment, addresses, { token, entities, signal: outer, isTimed })
    return fresh.page ? { resync: { why: "invalid", at: fresh.page.at } } : fresh
}

/** Buys a ticket: {ticket}, or why there is none. */
export async function buyTicket(environment, addresses, { token, signal }) {
    try {
        const url = addresses.request("/ticket/v1", {})
        const answer = await environment.fetch(url, { ...credentials(token), method: "POST", signal })
        if (answer.status !== 200) return readRefusal(answer, environment)
        const { ticket } = await answer.json()
        return typeof ticket === "string" ? { ticket } : { lost: { how: "broken" } }
    } catch {
        return { lost: { how: "unreachable" } }
    }
}

/** What streams ask for, beside the token. `beat` has the server send something so often, in seconds: silence is a loss. */
export function streamParameters({ since, entities, asksForEventIDs, beat = 25 }) {
    return { since, with: asksForEventIDs ? withEventIDs : "at,ts", beat, ent: entities?.join(",") }
}

function askForStream(environment, addresses, settings, signal) {
    const { headers, ...options } = credentials(settings.token)
    const all = { ...headers, Accept: "text/event-stream" }
    const url = addresses.request("/live/v1", streamParameters(settings))
    return environment.fetch(url, { ...options, headers: all, cache: "no-store", signal })
}

/**
 * Reads an event stream by fetch, which unlike EventSource sends the header `Authorization` and sees refusals.
 * `on` is called with {opened}, {alive}, {message} and at last one of {refused}, {lost}. Returns a way to end it.
 */
export function openEventStream(environment, addresses, settings, on) {
    const abort = new AbortController()
    let isOpen = false
    const report = event => {
        isOpen = true
        if (!abort.signal.aborted) on(event)
    }
    const read = async () => {
        const answer = await askForStream(environment, addresses, settings, abort.signal)
        if (answer.status !== 200) return readRefusal(answer, environment)
        // Another server between has answered.
        if (!/^text\/event-stream\b/.test(answer.headers.get("Content-Type") ?? "")) return { refused: { status: 200 } }
        return readBody(answer.body.getReader(), report)
    }
    const fault = error => error instanceof RangeError ? "broken" : isOpen ? "cut" : "unreachable"
    read().catch(error => ({ lost: { how: fault(error) } })).then(report).finally(() => abort.abort())
    return { close: () => abort.abort() }
}

/** A gateway answers the question for a stream within so long, in ms. Who gathers streams answers later, if at all. */
const streamLimit = 3_000

/**
 * Whether a server gives event streams: null where it begins one, which is ended at once, or says nothing in time; else
 * {refused} or {lost}.
 */
export async function askWhetherStreams(environment, addresses, { token, entities }, outer) {
    const ask = async (signal, extend) => {
        extend(streamLimit)
        const answer = await askForStream(environment, addresses, { token, entities }, signal)
        if (answer.status !== 200) return readRefusal(answer, environment)
        await answer.body?.cancel()
        return null
    }
    const asked = (signal, extend) => ask(signal, extend).catch(() => ({ lost: { how: "unknown" } }))
    return inTime(environment, asked, lateAnswer, outer).catch(() => null)
}

async function readBody(reader, on) {
    const decoder = new TextDecoder(), events = new EventStreamReader()
    for (let isFirst = true; ; isFirst = false) {
        const { done, value } = await reader.read()
        if (done) return { lost: { how: "cut" } }
        on(isFirst ? { opened: {} } : { alive: {} })
        for (const message of events.read(decoder.decode(value, { stream: true }))) on({ message })
    }
}
