// States, updates and the like have one member, named for what is so.

/** One of these, each with one member, named for what is so: `if (state.waiting)` and `({ event }) => …` tell them apart. */
export type OneOf<Union, Names extends PropertyKey = Union extends unknown ? keyof Union : never> =
    Union extends unknown ? Union & { readonly [Name in Exclude<Names, keyof Union>]?: undefined } : never

/** The members that such a value may have: `[name, facts]`. */
export type EntryOf<Union> =
    Union extends unknown ? { [Name in keyof Union]-?: undefined extends Union[Name] ? never : [Name, Union[Name]] }[keyof Union] : never

/** The member of a state, an update and the like. A `switch` on the name says what the facts are. */
export function entryOf<Union extends object>(value: Union): EntryOf<Union>
