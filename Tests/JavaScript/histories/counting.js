// Histories of the counts of refreshes.
import { RefreshCounts } from "../../../Sources/LiveClientJS/core/counting.js"

export const Machine = RefreshCounts

export function settings(draw) {
    const settings = {}
    if (draw.once(2)) settings.maximumDays = draw.int(1, 3)
    if (draw.once(2)) settings.maximumScreens = draw.int(1, 3)
    // Histories take minutes: the days change in them where midnight is near.
    if (draw.once(2)) settings.dayOffset = draw.int(-100_000, 86_399_000)
    return settings
}

export function input(draw, { machine, step }) {
    const screen = draw.one(["list", "details", "a", "b", "c", "é".repeat(50), "é".repeat(51)])
    const { counts } = machine.view
    return draw.weighted([
        [6, { refreshed: { screen, isManual: draw.once(2) } }], [6, { shown: { screen, ts: draw.int(-100_000, 200_000) } }],
        [3, { fetches: { screen, made: draw.int(-1, 5), merged: draw.int(0, 5), avoided: draw.int(0, 5) } }],
        [2, { sent: { through: draw.one(["1969-12-31", "1970-01-01", "1970-01-02"]) } }],
        [1, { loaded: { counts: JSON.parse(JSON.stringify(counts)) } }],
        [1, { loaded: { counts: counts.slice(0, 1).map(count => ({ ...count, day: `19${70 + step % 5}-01-0${1 + step % 9}` })) } }],
    ])
}
