// How far what is shown can be trusted (Freshness.swift): a pure function of facts and time.
import { earliestOf } from "./retry.js"

/** So long after it left `connected` people are shown a sign: a short gap shows none. */
const signDelay = 300
/** So many failed attempts in a row are no short gap any more. */
const failuresUntilCannotConnect = 2

/**
 * `{connected: {}}`, `{connecting: {since}}`, `{cannotConnect: {since}}`, `{sourceStalled: {since}}`, or for good
 * `{refused: {status, code}}`.
 *
 * @param facts `{isCaughtUp, hasNetwork, hasToken, isForeground, failures, unappliedSince, patience, hasFailedToApply,
 *     stalledSince, leftConnected}`; times in ms, undefined where there is none
 */
export function freshnessOf(facts, now) {
    const since = facts._leftConnected ?? now
    if (facts._refused) return { refused: facts._refused }
    if (!facts._hasNetwork || !facts._hasToken || facts._failures >= failuresUntilCannotConnect) {
        return { cannotConnect: { since } }
    }
    const isLate = facts._unappliedSince !== undefined && now >= facts._unappliedSince + facts._patience
    if (!facts._isCaughtUp || facts._hasFailedToApply || isLate) return { connecting: { since } }
    return facts._stalledSince === undefined ? { connected: {} } : { sourceStalled: { since: facts._stalledSince } }
}

/** What people are shown at this time: nothing in the background, nothing of a short gap. */
export function signOf(facts, now) {
    const { _isForeground: isForeground, _leftConnected: leftConnected } = facts
    if (!isForeground || leftConnected === undefined || now < leftConnected + signDelay) return undefined
    const freshness = freshnessOf(facts, now)
    return "connected" in freshness ? undefined : freshness
}

/** When either changes by itself after this time; undefined: only what happens changes it. */
export function nextFreshnessChange(facts, now) {
    const times = []
    if (facts._leftConnected !== undefined && facts._isForeground) times.push(facts._leftConnected + signDelay)
    if (facts._unappliedSince !== undefined) times.push(facts._unappliedSince + facts._patience)
    return earliestOf(times.filter(time => time > now))
}
