// States, updates and the like have one member, named for what is so.

/** The member of such a value, `[name, facts]`: for a `switch` on the name. */
export function entryOf(value) { return Object.entries(value)[0] }
