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
