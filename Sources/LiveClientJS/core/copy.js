// A copy that nothing else shares. Not every platform has structuredClone.

/** What JSON holds, and maps, copied as deep as it goes; anything else is given as it is. */
function copyPlain(value) {
    if (Array.isArray(value)) return value.map(copyPlain)
    if (value instanceof Map) return new Map([...value].map(copyPlain))
    if (value?.constructor !== Object) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyPlain(member)]))
}

/** A value, and all that is in it. */
export function copyOf(value) { return globalThis.structuredClone ? structuredClone(value) : copyPlain(value) }

/**
 * The old value, or parts of it, where the new one is equal: a comparison by identity shows what has changed. A member `value` is
 * the app's, and is compared by identity alone. Items with an `id` are found again at any index.
 */
export function reuse(old, next) {
    if (Array.isArray(next)) return Array.isArray(old) ? reuseItems(old, next) : next
    return next?.constructor === Object && old?.constructor === Object ? reuseMembers(old, next) : next
}

function reuseItems(old, next) {
    let byID = null, isSame = old.length === next.length
    const items = next.map((item, index) => {
        let before = old[index]
        if (item?.id !== before?.id) {
            byID ??= new Map(old.map(one => [one?.id, one]))
            before = byID.get(item?.id)
        }
        const kept = reuse(before, item)
        isSame &&= Object.is(kept, old[index])
        return kept
    })
    return isSame ? old : items
}

function reuseMembers(old, next) {
    const names = Object.keys(next), parts = {}
    let isSame = names.length === Object.keys(old).length
    for (const name of names) {
        const part = parts[name] = name === "value" ? next[name] : reuse(old[name], next[name])
        isSame &&= Object.is(part, old[name]) && (part !== undefined || Object.hasOwn(old, name))
    }
    return isSame ? old : parts
}
