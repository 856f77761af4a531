// Histories of a connection.
import { ConnectionMachine } from "../../../Sources/LiveClientJS/core/connection.js"

export const Machine = ConnectionMachine

const losses = ["unreachable", "cut", "silent", "blocked", "broken", "unknown"]
const ways = ["webSocket", "eventStream", "longPoll", "polling"]

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(3)) settings.ways = ways.filter(way => way === "polling" || draw.once(2))
    if (draw.once(3)) settings.pollInterval = draw.int(1_000, 20_000)
    if (draw.once(3)) settings.silenceLimit = draw.int(1_000, 40_000)
    if (draw.once(3)) settings.openLimit = draw.int(100, 12_000)
    if (draw.once(3)) {
        settings.known = [{ network: "home", way: draw.one(ways), wait: draw.int(10_000, 50_000), upAt: draw.int(0, 100_000) }]
    }
    return settings
}

const optional = (draw, name, value) => draw.once(2) ? { [name]: value } : {}

const code = draw => draw.one([1000, 1001, 1002, 1006, 1008, 1011, 1012, 1013, 4401, 4403, 4408, 4409, 4429])

const status = draw => draw.weighted([
    [3, 200], [3, 401], [1, 400], [1, 403], [1, 404], [1, 407], [1, 426], [2, 429], [3, 503], [1, 502]])

export function input(draw, { effects, step }) {
    if (step === 0) return { start: {} }
    const requests = effects.filter(({ fetchToken }) => fetchToken).map(({ fetchToken }) => fetchToken.request)
    const ids = effects.filter(({ open, poll }) => open ?? poll).map(({ open, poll }) => (open ?? poll).id)
    const last = list => list.at(draw.once(8) ? -2 : -1) ?? 1
    const [request, id] = [last(requests), last(ids)]
    return draw.weighted([
        [10, { token: { request, isSame: draw.once(3) } }], [1, { tokenFailed: { request, isUnauthorized: draw.once(3) } }],
        [8, { opened: { id } }], [4, { alive: { id } }], [4, { polled: { id, more: draw.once(3) } }], [1, { expiring: { id } }],
        [3, { refused: { id, status: status(draw), ...optional(draw, "code", draw.one(["invalid_token", "too_many"])),
            ...optional(draw, "retryAfter", draw.int(0, 20_000)) } }],
        [3, { closed: { id, code: code(draw), ...optional(draw, "retry", draw.int(0, 20_000)) } }],
        [6, { lost: { id, how: draw.one(losses) } }], [2, { background: {} }], [3, { foreground: {} }], [1, { start: {} }], [2, { refresh: {} }],
        [2, { path: { isSatisfied: !draw.once(3), ...optional(draw, "network", draw.one(["home", "train"])) } }],
        ...draw.once(20) ? [[3, { stop: {} }]] : []])
}
