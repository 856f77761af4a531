// What arrives over the wire, in the SDK's words: messages of a WebSocket, of an event stream, and the pages of `/sync/v1`.
// Each is an object with one member, its kind: {event: {entity, id, type, at, ts, aid}}, {live: {at}}, {beat: {at}},
// {resync: {why, at}}, {source: {state, ts}}, {bye: {code, why, retry}}, {expiring: {exp}}, {token: {exp}}, {read: {thing, upTo}}.

export const isText = value => typeof value === "string" && value !== ""

const textOf = value => isText(value) ? value : undefined

/** Members that have a value: one that is absent is left out, as in JSON. */
export function given(members) {
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))
}

const number = value => typeof value === "number" && Number.isFinite(value) ? value : undefined

/** {event}; null: it lacks one of its three names. */
export function readEvent({ ent, id, type, at, ts, aid }) {
    if (!isText(ent) || !isText(id) || !isText(type)) return null
    return { event: given({ entity: ent, id, type, at: textOf(at), ts: number(ts), aid: textOf(aid) }) }
}

/** What stands inside of each control message that a client has to do with. */
const readControl = {
    live: ({ at }) => isText(at) ? { at } : null,
    beat: ({ at }) => isText(at) ? { at } : null,
    resync: ({ why, at }) => isText(at) ? { why: String(why ?? ""), at } : null,
    source: ({ state, ts }) => isText(state) ? given({ state, ts: number(ts) }) : null,
    bye: ({ code, why, retry_ms }) => given({ code: number(code), why, retry: number(retry_ms) }),
    expiring: ({ exp }) => given({ exp: number(exp) }),
    token: ({ exp }) => given({ exp: number(exp) }),
    read: readMark,
}

/** How far a person has read: a thing, or without both of its names everything. One with half of them is of a later version. */
function readMark({ ent, id, aid }) {
    if (!isText(aid)) return null
    if (ent === undefined && id === undefined) return { upTo: aid }
    return isText(ent) && isText(id) ? { thing: { entity: ent, id }, upTo: aid } : null
}

export function isObject(value) { return typeof value === "object" && value !== null && !Array.isArray(value) }

/** A control message by its name and what stands inside; null where it is not known, which is to be ignored. */
function control(name, inside) {
    const read = Object.hasOwn(readControl, name) && isObject(inside) ? readControl[name](inside) : null
    return read && { [name]: read }
}

export function parse(text) {
    try {
        return JSON.parse(text)
    } catch {
        return null
    }
}

/** One message of a WebSocket; null: not for this version of the client, which ignores it. */
export function readMessage(text) {
    const message = parse(text)
    if (!isObject(message)) return null
    if ("ent" in message) return readEvent(message)
    const names = Object.keys(message)
    return names.length > 0 ? control(names[0], message[names[0]]) : null
}

/** An answer of `/sync/v1` with status 200; null: not one. */
export function readPage(text) {
    const page = parse(text)
    if (!isObject(page) || !Array.isArray(page.events) || !isText(page.at)) return null
    const events = page.events.flatMap(event => isObject(event) ? readEvent(event)?.event ?? [] : [])
    return { events, at: page.at, more: page.more === true }
}

/** A refusal's body: RFC 9457, of which what a client decides by, and `detail` for a log. `resync` where it is one. */
export function readProblem(text) {
    const problem = parse(text)
    if (!isObject(problem)) return {}
    const resync = problem.code === "resync" && isText(problem.at) ? { why: String(problem.why ?? ""), at: problem.at } : null
    return given({ code: textOf(problem.code), detail: textOf(problem.detail), resync })
}

/** `Retry-After` in milliseconds: seconds, or a date; undefined: none that can be read. */
export function readRetryAfter(text, wallClock) {
    if (!text) return undefined
    if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1000
    const date = Date.parse(text)
    return Number.isNaN(date) ? undefined : Math.max(date - wallClock, 0)
}

/** Server-sent events, piece by piece (HTML standard §9.2.6): lines that end with LF, CR or CRLF, at any split. */
export class EventStreamReader {
    /** The longest message, in characters: what is longer is no stream of ours, and would fill the memory. */
    static get maximumMessage() { return 65_536 }

    #rest = ""
    #afterReturn = false
    #name = ""
    #lines = []
    #id = ""

    /** The messages that a piece completes. A comment gives none, and is still a sign of life. Throws RangeError. */
    read(piece) {
        if (piece === "") return []
        const text = this.#afterReturn && piece.startsWith("\n") ? piece.slice(1) : piece
        this.#afterReturn = piece.endsWith("\r")
        const lines = (this.#rest + text).split(/\r\n|\r|\n/)
        this.#rest = lines.pop()
        const messages = lines.flatMap(line => this.#take(line) ?? [])
        const held = this.#lines.reduce((sum, line) => sum + line.length, this.#rest.length)
        if (held > EventStreamReader.maximumMessage) {
            throw new RangeError(`message too long: ${held} characters, over ${EventStreamReader.maximumMessage}`)
        }
        return messages
    }

    #take(line) {
        if (line === "") return this.#dispatch()
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)
        if (name === "event") this.#name = value
        if (name === "data") this.#lines.push(value)
        if (name === "id") this.#id = value
        return null
    }

    /** A blank line: what was read since the last one is a message. */
    #dispatch() {
        const name = this.#name, inside = parse(this.#lines.join("\n")), id = this.#id
        this.#name = ""
        this.#lines = []
        if (!isObject(inside)) return null
        if (name !== "" && name !== "message") return control(name, inside)
        return readEvent({ at: id, ...inside })
    }
}
