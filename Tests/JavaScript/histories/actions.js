// Histories of deferrable actions.
import { ActionQueue } from "../../../Sources/LiveClientJS/core/actions.js"

export const Machine = ActionQueue

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(3)) settings.coalescing = draw.int(0, 10_000)
    if (draw.once(2)) settings.maximumBatch = draw.int(1, 3)
    if (draw.once(3)) settings.maximumRows = draw.int(1, 3)
    if (draw.once(4)) settings.maximumAge = draw.int(1_000, 50_000)
    return settings
}

const status = draw => draw.weighted([[6, 200], [1, 401], [1, 404], [1, 408], [1, 409], [1, 429], [2, 503]])

const optional = (draw, name, value) => draw.once(2) ? { [name]: value } : {}

const result = draw => ({ key }) => ({ key, status: status(draw), ...optional(draw, "retryAfter", draw.int(0, 5_000)) })

export function input(draw, { machine, effects, step }) {
    const kind = draw.one(["read", "starred"]), id = draw.one(["A", "B", "C"]), value = draw.one(["true", "false"])
    const { send } = effects.filter(({ send }) => send).at(draw.once(6) ? 0 : -1) ?? {}
    const batch = send?.batch ?? 1
    const actions = (send?.actions ?? []).filter(() => !draw.once(8))
    const stored = machine.view.pending.map(action => ({ ...action }))
    if (step < 2 && draw.once(2)) return { loaded: { actions: [] } }
    return draw.weighted([
        [8, { set: { kind, id, value, ...optional(draw, "before", draw.one(["true", "false"])) } }],
        [3, { reloaded: { kind, id, value, ...optional(draw, "askedAt", draw.int(0, 60_000)) } }],
        [2, { network: { isReachable: !draw.once(3) } }], [2, { flush: {} }], [2, { token: {} }], [1, { tokenFailed: {} }],
        [1, { tokenFailed: { isUnauthorized: draw.once(2) } }],
        [6, { answered: { batch, results: actions.map(result(draw)) } }],
        [2, { failed: { batch, status: status(draw), ...optional(draw, "retryAfter", draw.int(0, 5_000)) } }],
        [2, { failed: { batch } }], [2, { loaded: { actions: stored } }],
        [1, { loaded: { actions: [{ kind, id, value, key: `old${step}`, at: draw.int(0, 5_000) }] } }]])
}
