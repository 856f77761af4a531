// Histories of a list of which stretches are known.
import { PartialList } from "../../../Sources/LiveClientJS/core/partial.js"

export const Machine = PartialList

export function settings(draw) {
    const settings = { seed: draw.int(0, 2 ** 32 - 1) }
    if (draw.once(3)) settings.pageLimit = draw.int(1, 4)
    if (draw.once(3)) settings.maximumItems = draw.int(2, 12)
    if (draw.once(3)) settings.maximumIntervals = draw.int(1, 3)
    if (draw.once(3)) settings.maximumChanges = draw.int(1, 3)
    return settings
}

/** No two things stand in the same place of a list. */
const key = (draw, id) => ({ rank: draw.int(0, 8), text: draw.one(["", "a", "é", "😀"]) + id })
const end = draw => draw.weighted([[2, { beginning: {} }], [3, { at: { key: key(draw, "D") } }], [2, { end: {} }]])

/** The things of a page, each once. */
const items = draw => [..."ABCDEFGH"].filter(() => draw.once(3)).map(id => ({ id, key: key(draw, id) }))

export function input(draw, { machine, effects }) {
    const pages = effects.filter(({ loadPage }) => loadPage)
    const { number = 1 } = pages.at(draw.once(6) ? -2 : -1)?.loadPage ?? {}
    const id = draw.one([..."ABCDEFGH"])
    const { complete, items: known } = machine.view
    return draw.weighted([
        [5, { show: { from: end(draw), direction: draw.one(["forward", "backward"]), count: draw.int(0, 8) } }], [1, { hide: {} }],
        [3, { finger: { isHeld: !draw.once(4) } }], [10, { pageLoaded: { number, items: items(draw), isLast: draw.once(3) } }],
        [2, { pageFailed: draw.once(2) ? { number } : { number, retryAfter: draw.int(0, 5_000) } }],
        [1, { pageFailed: { number, isRefused: true } }],
        [3, { changed: { id } }], [5, { placed: { id, key: key(draw, id) } }], [2, { removed: { id } }],
        [1, { stored: { intervals: JSON.parse(JSON.stringify(complete)), items: JSON.parse(JSON.stringify(known)) } }]])
}
