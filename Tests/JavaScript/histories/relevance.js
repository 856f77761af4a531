// Histories of what screens show, and of what happens to it.
import { Relevance } from "../../../Sources/LiveClientJS/core/relevance.js"

export const Machine = Relevance

const entities = ["incident", "note"]
const types = ["created", "updated", "deleted", "acknowledged"]
const actions = ["ignore", "fetchIfThere", "fetchUnlessThere", "fetch", "remove"]

const optional = (draw, name, value) => draw.once(2) ? { [name]: value } : {}

export function settings(draw) {
    const settings = {}
    if (draw.once(3)) settings.maximumScreens = draw.int(1, 3)
    if (draw.once(4)) settings.maximumIDs = draw.int(0, 2)
    if (draw.once(3)) settings.maximumSeen = draw.int(1, 2)
    if (draw.once(3)) settings.seenFor = draw.int(0, 5_000)
    if (draw.once(2)) {
        settings.rules = Array.from({ length: draw.int(1, 3) }, () => ({
            ...optional(draw, "entity", draw.one(entities)), ...optional(draw, "type", draw.one(types)),
            screen: draw.one(["details", "list"]), action: draw.one(actions),
        }))
    }
    return settings
}

export function input(draw, { step }) {
    const thing = { entity: draw.weighted([[4, "incident"], [1, "note"]]), id: draw.one(["A", "B", "C", "D"]) }
    const screen = draw.one(["1", "2", "3", "4"])
    const ids = ["A", "B", "C", "D"].filter(() => draw.once(2))
    const visible = optional(draw, "visible", ["A", "B", "C"].filter(() => draw.once(2)))
    const happened = Array.from({ length: draw.int(0, 3) }, () => draw.one(types))
    return draw.weighted([
        [3, { show: { screen, interest: { details: { thing } } } }],
        [4, { show: { screen, interest: { list: { entity: thing.entity, ids, takesNew: !draw.once(3) } }, ...visible } }],
        [2, { hide: { screen } }], [10, { changed: { number: step, thing, types: happened } }],
        [6, { displayed: { thing } }], [1, { visible: { isVisible: !draw.once(3) } }],
        [2, { live: { isLive: !draw.once(4) } }]])
}
