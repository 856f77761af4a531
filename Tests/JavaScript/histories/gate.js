// Histories of the gate of an API.
import { ApiGate } from "../../../Sources/LiveClientJS/core/gate.js"

export const Machine = ApiGate

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(3)) settings.maximumWaiting = draw.int(1, 4)
    return settings
}

export function input(draw, { effects, step }) {
    const begun = effects.filter(({ begin }) => begin)
    const { number = 1 } = (draw.once(6) ? begun.at(0) : begun.at(-draw.int(1, 4)))?.begin ?? {}
    return draw.weighted([
        [10, { ask: { number: draw.once(10) ? draw.int(0, step) : step, ...(draw.once(3) ? {} : { subject: draw.one(["A", "A", "B"]) }) } }], [8, { answered: { number } }], [4, { failed: { number } }],
        [2, { failed: { number, after: draw.int(0, 9_000) } }], [2, { left: { number: draw.once(2) ? number : draw.int(0, step) } }],
        [1, { network: {} }], [1, { refresh: {} }]])
}
