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

const isPlain = value => Array.isArray(value) || value?.constructor === Object

/**
 * The old value, or parts of it, where the new one says the same: who compares by identity sees what has changed. What stands as
 * `value` is the app's, and the same only if it is the same object. Items with an `id` are found again wherever they stand.
 */
export function reuse(old, next) {
    if (!isPlain(old) || !isPlain(next) || Array.isArray(old) !== Array.isArray(next)) return next
    const names = Object.keys(next), parts = Array.isArray(next) ? [] : {}
    const hasItems = Array.isArray(next) && next[0]?.id !== undefined, items = hasItems && new Map(old.map(item => [item?.id, item]))
    let isSame = names.length === Object.keys(old).length
    for (const name of names) {
        const part = next[name], isThere = !items || old[name]?.id === part?.id
        parts[name] = name === "value" ? part : reuse(isThere ? old[name] : items.get(part.id), part)
        isSame &&= Object.hasOwn(old, name) && Object.is(parts[name], old[name])
    }
    return isSame ? old : parts
}
