// The messages between tabs over a channel. Other code of the origin may use the channel too, and so may another version
// of this module: anything that is not exactly one of these messages is ignored.

import { isObject } from "./messages.js"

/** Raised with each change of what a word means: tabs of different versions share no connection, and each version has its own. */
export const tabVersion = 1

const isText = value => typeof value === "string"
const isFlag = value => typeof value === "boolean"
/** One of `{name: {…}}`, as states and updates are. */
const isCase = value => isObject(value) && Object.keys(value).length === 1 && isObject(Object.values(value)[0])

const wordsOfMachine = { ask: ({ isVisible }) => isFlag(isVisible), answer: isObject, lead: isObject, leave: isObject }

/** By its name, what each part of a word has to be. Of objects, only what is read without a look. */
const wordsOfConnection = {
    ...wordsOfMachine,
    view: ({ state, way }) => isCase(state) && isText(way), isLive: isFlag, update: isCase, count: Number.isInteger, recall: isObject,
    recalled: ({ to, recent }) => isText(to) && isObject(recent) && Array.isArray(recent.entries),
    claim: isObject, ceded: ({ to }) => isText(to),
}

/** In an envelope of its own: what the tab's queue is to be handed, or has changed. */
const wordsOfActions = {
    ...wordsOfMachine,
    message: message => Object.entries(message).every(([name, value]) => (
        ["token", "flush", "changed"].includes(name) ? isObject(value)
            : name === "news" && isCase(value) && ["rejected", "expired", "unauthorized"].includes(Object.keys(value)[0]))),
}

function isWord(data, words) {
    if (!isObject(data) || !isText(data.from)) return false
    return Object.entries(data).every(([name, part]) => name === "from" || Object.hasOwn(words, name)
        && (isObject(part) || ["isLive", "count"].includes(name)) && words[name](part))
}

export const isConnectionWord = data => isWord(data, wordsOfConnection)
export const isActionWord = data => isWord(data, wordsOfActions)
