// Histories of the update machine.
import { UpdateMachine } from "../../../Sources/LiveClientJS/core/update.js"

export const Machine = UpdateMachine

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(3)) settings.retention = draw.int(1_000, 100_000)
    if (draw.once(2)) settings.pollInterval = draw.int(100, 30_000)
    if (draw.once(3)) settings.maximumPending = draw.int(1, 6)
    if (draw.once(3)) settings.patience = draw.int(0, 3_000)
    if (draw.once(4)) settings.entities = ["incident"]
    return settings
}

const failure = draw => draw.weighted([
    [4, { retry: {} }], [2, { retry: { after: draw.int(0, 5_000) } }], [2, { unauthorized: {} }],
    [1, { rejected: { status: draw.one([400, 409, 422]) } }], [1, { unreadable: {} }]])

const thing = draw => ({ entity: draw.one(["incident", "incident", "note"]), id: draw.one(["A", "B", "C", "D"]) })

const events = draw => Array.from({ length: draw.int(0, 3) },
    () => ({
        thing: thing(draw), type: draw.one(["created", "updated", "deleted"]),
        ...(draw.once(4) ? {} : { ts: draw.int(0, 9_000) }),
    }))

const stale = draw => draw.once(2) ? {} : {
    knownStale: [{ thing: { entity: "incident", id: "A" }, types: ["updated"], failure: failure(draw) }, { thing: { entity: "incident", id: "E" }, types: [], failure: { retry: {} } }],
}

/** Answers to an effect, by its name; each with a weight. */
const answers = {
    load: (_, draw, now) => [
        [4, { loaded: { stored: { finger: "K", lastSuccess: Math.max(0, now - draw.int(-500, 120_000)), lastAttempt: now, ...stale(draw) } } }],
        [1, { loaded: { stored: { lastSuccess: now } } }], [1, { loaded: { stored: { finger: "K" } } }], [3, { loaded: {} }], [2, { loadFailed: {} }]],
    requestFinger: ({ number }, draw, _, cursor) => [
        [6, { finger: { number, at: cursor } }], [1, { fingerFailed: { number, failure: failure(draw) } }]],
    requestSnapshot: ({ number }, draw) => [
        [6, { snapshot: { number } }], [1, { snapshotFailed: { number, failure: failure(draw) } }]],
    follow: ({ number }, draw, now, cursor) => [
        [10, { events: { number, events: events(draw), at: cursor } }], [6, { live: { number, at: cursor } }],
        [2, { resync: { number, at: cursor, ...draw.once(3) ? { isEpoch: true } : {} } }], [1, { source: { number, stalledSince: now } }], [2, { source: { number } }],
        [2, { lost: { number } }], [1, { lost: { number, after: draw.int(0, 20_000) } }]],
    poll: ({ number }, draw, _, cursor) => [
        [5, { page: { number, events: events(draw), at: cursor, more: draw.once(3) } }],
        [1, { pageResync: { number, at: cursor } }], [1, { pageFailed: { number, failure: failure(draw) } }]],
    reload: ({ number }, draw) => [
        [4, { reloaded: { number, outcome: "value" } }], [1, { reloaded: { number, outcome: "gone" } }],
        [1, { reloaded: { number, outcome: "notOurs" } }], [2, { reloadFailed: { number, failure: failure(draw) } }]],
    commit: ({ number }) => [[6, { committed: { number } }], [2, { commitFailed: { number } }], [1, { storeLost: {} }]],
    requestToken: (_, draw) => [[2, { token: { isValid: !draw.once(4) } }], [1, { tokenFailed: {} }]],
}

export function input(draw, { machine, effects, step }) {
    if (effects.length === 0) return { start: {} }
    if (draw.once(150)) return { ended: { error: draw.one([{ stopped: {} }, { revoked: {} }, { refused: { status: 404 } }]) } }
    if (draw.once(6)) {
        return draw.weighted([
            [3, { foreground: {} }], [3, { background: {} }], [2, { network: { isSatisfied: true } }],
            [2, { shown: { isComplete: draw.once(2), hasFailed: draw.once(3) } }],
            [1, { network: { isSatisfied: false } }], [1, { token: { isValid: true } }], [1, { refresh: {} }],
            [2, { check: { thing: thing(draw) } }], [1, { start: {} }]])
    }
    // Mostly the newest of its kind; sometimes one of the last, or one that was answered long ago.
    const asked = effects.filter(effect => Object.keys(effect)[0] in answers)
    const kind = draw.weighted([
        [5, "follow"], [5, "reload"], [5, "commit"], [4, "requestSnapshot"], [4, "requestFinger"], [2, "poll"], [1, "load"],
        [2, "requestToken"]])
    const effect = draw.weighted([
        [12, asked.filter(effect => kind in effect).at(-1)], [4, asked.at(-draw.int(1, 4))], [1, draw.one(asked)]])
        ?? asked.at(-1)
    const name = Object.keys(effect)[0]
    const now = machine.view.metadata.lastAttempt ?? 0
    return draw.weighted(answers[name](effect[name], draw, now, `c${step}`))
}
