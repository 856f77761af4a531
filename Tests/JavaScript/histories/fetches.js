// Histories of the queue of fetches.
import { FetchQueue } from "../../../Sources/LiveClientJS/core/fetches.js"

export const Machine = FetchQueue

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(2)) settings.maximumAtOnce = draw.int(1, 3)
    if (draw.once(3)) settings.maximumWaiting = draw.int(1, 4)
    if (draw.once(3)) settings.maximumThings = draw.int(1, 6)
    if (draw.once(3)) settings.maximumPages = draw.int(1, 3)
    return settings
}

const thing = draw => ({ entity: draw.one(["incident", "note"]), id: draw.one(["A", "B", "C", "D"]) })
const things = draw => {
    const drawn = Array.from({ length: draw.int(0, 4) }, () => thing(draw))
    return drawn.filter(({ entity, id }, at) => drawn.findIndex(other => other.entity === entity && other.id === id) === at)
}

const failure = draw => draw.weighted([
    [4, { retry: {} }], [2, { retry: { after: draw.int(0, 5_000) } }], [1, { unauthorized: {} }],
    [1, { rejected: { status: draw.one([400, 409]) } }], [1, { unreadable: {} }]])

export function input(draw, { effects, step }) {
    const fetches = effects.filter(({ fetch }) => fetch)
    const { fetch = 1 } = (draw.once(5) ? fetches.at(0) : fetches.at(-draw.int(1, 4)))?.fetch ?? {}
    return draw.weighted([
        [3, { show: { things: things(draw), listed: things(draw), takesNew: draw.once(2) ? ["incident"] : [] } }],
        [6, { reload: { number: step, thing: thing(draw) } }], [2, { pass: { number: step, thing: thing(draw) } }],
        [2, { refresh: { thing: thing(draw) } }], [1, { dropReloads: {} }], [2, { finger: { isHeld: !draw.once(4) } }],
        [8, { fetched: { fetch, outcome: draw.one(["value", "value", "gone", "notOurs"]) } }],
        [4, { failed: { fetch, failure: failure(draw) } }], [2, { asked: { page: draw.int(1, 4) } }],
        [2, { answered: { page: draw.int(1, 4), things: things(draw), ...draw.once(2) ? { isWhole: true } : {} } }],
        [1, { put: { thing: thing(draw), isWhole: draw.once(2) } }]])
}
