// What the module uses of the browser or of Node, in one object, so that a test or another platform can replace it.
import { LivegateError } from "../core/errors.js"


/** The local storage; null where there is none, or the page may not use it. */
function pageStorage() {
    try {
        return globalThis.localStorage ?? null
    } catch {
        return null
    }
}

/** By so much the time of day runs ahead between two looks when the device has slept, in ms; less is a clock being set right. */
const shortestSleep = 5_000
/** A timer that waits for longer looks at the clock so often, in ms: timers stand still in a sleep too. */
export const sleepLook = 5_000

/**
 * A clock that never goes back and counts sleep. `steady` never goes back; it stands still in a sleep in Chrome and Safari on
 * macOS, and in all browsers on Linux (w3c/hr-time issue 115). `wall` is the time of day, which somebody may set: forward by
 * much, it looks like a sleep, and a stream too many is opened.
 */
export function wakefulClock(steady, wall) {
    let slept = 0, lastSteady = steady(), lastWall = wall()
    return () => {
        const nowSteady = steady(), nowWall = wall()
        const ahead = (nowWall - lastWall) - (nowSteady - lastSteady)
        if (ahead >= shortestSleep) slept += ahead
        lastSteady = nowSteady
        lastWall = nowWall
        return Math.floor(nowSteady + slept)
    }
}

/** Milliseconds since 1970. Not every platform has `performance`, or says when it began. */
export function steadyClock(performance, wall) {
    const began = performance?.timeOrigin ?? wall() - (performance?.now() ?? 0)
    return wakefulClock(performance ? () => began + performance.now() : wall, wall)
}

/** The same for all that the page has of this module. */
const pageClock = steadyClock(globalThis.performance, () => Date.now())

/** The environment that this page or process has. */
export function systemEnvironment() {
    return {
        now: pageClock,
        setTimer: (callback, milliseconds) => setTimeout(callback, milliseconds),
        clearTimer: timer => clearTimeout(timer),
        random: () => globalThis.crypto
            ? globalThis.crypto.getRandomValues(new Uint32Array(1))[0]
            : Math.floor(Math.random() * 2 ** 32),
        fetch: (url, options) => globalThis.fetch(url, options),
        WebSocket: globalThis.WebSocket,
        storage: pageStorage(),
        locks: globalThis.navigator?.locks,
        BroadcastChannel: globalThis.BroadcastChannel,
        page: globalThis.addEventListener ? globalThis : null,
    }
}

/** A name that nobody else has: `crypto.randomUUID` is missing in pages of plain http. */
export function randomName({ random }, parts = 2) {
    return Array.from({ length: parts }, () => random().toString(36)).join("-")
}

/** A function that makes something for a client, once for each. */
export function oneFor(make) {
    const made = new WeakMap()
    return client => {
        if (!made.has(client)) made.set(client, make(client))
        return made.get(client)
    }
}

/** The longest time that a timer can be set to, in ms: over it browsers fire at once. */
export const maximumTimer = 2_000_000_000

/** An app's token that takes longer than this is none, in ms, as in Swift's LiveTokens: it is asked for again. */
export const tokenLimit = 30_000

/**
 * What `work(signal, extend)` gives. Its signal aborts with the first of the outer ones, and with the error of `late()` where
 * `extend(milliseconds)` was not called again in time. Then this fails with the same error, and what comes after that is dropped.
 */
export async function inTime({ setTimer, clearTimer }, work, late, ...signals) {
    const abort = new AbortController(), outer = signals.filter(Boolean), { signal } = abort
    let timer = null
    const give = () => {
        clearTimer(timer)
        const aborted = outer.find(one => one.aborted)
        abort.abort(aborted ? aborted.reason : late())
    }
    const extend = milliseconds => {
        clearTimer(timer)
        if (!signal.aborted) timer = setTimer(give, milliseconds)
    }
    for (const one of outer) one.addEventListener("abort", give)
    try {
        if (outer.some(one => one.aborted)) give()
        if (signal.aborted) throw signal.reason
        const ended = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
        return await Promise.race([work(signal, extend), ended])
    } finally {
        clearTimer(timer)
        for (const one of outer) one.removeEventListener("abort", give)
    }
}

/** What `work()` gives in so many ms; see `inTime`. */
export function within(environment, milliseconds, work, late, signal) {
    return inTime(environment, (_, extend) => {
        extend(milliseconds)
        return work()
    }, late, signal)
}

/** Fulfilled after so many ms, or at once where the signal aborts. */
export function pause(environment, milliseconds, signal) {
    return within(environment, milliseconds, () => new Promise(() => {}), () => {}, signal).catch(() => {})
}

/** A store that takes longer than this, in ms, is given up and asked again later: browsers have left IndexedDB hanging. */
const storeLimit = 10_000

/** What a store gives; throws a `StoreError` "late" where it does not answer, or the signal's reason. */
export function ofStore(environment, work, signal) {
    return within(environment, storeLimit, work, () => new LivegateError("late", "the store did not answer within 10 s"), signal)
}

/**
 * Asks for a lock, or takes it from whoever has it. `granted()`: it is held; `lost()`: another has taken it, or it cannot be had.
 * Returns what gives it up, or the wish for it; neither is called then.
 */
export function holdLock({ locks }, name, steal, granted, lost) {
    const abort = new AbortController(), { signal } = abort
    const hold = () => new Promise(resolve => {
        if (signal.aborted) return resolve()
        signal.addEventListener("abort", resolve)
        granted()
    })
    Promise.resolve().then(() => locks.request(name, steal ? { steal } : { signal }, hold)).catch(() => {
        if (!signal.aborted) lost()
    })
    return () => abort.abort()
}

/** Sets a timer anew, for this time, or for `longest` ms if that is sooner; null: for none. Returns the timer, or null. */
export function setDue({ now, setTimer, clearTimer }, timer, due, work, longest = maximumTimer) {
    clearTimer(timer)
    return due === null ? null : setTimer(work, Math.min(Math.max(0, due - now()), longest))
}

/**
 * Tells what becomes of the page: `on.visible(isVisible)`, `on.frozen()`, `on.resumed(isVisible)`, `on.path(isSatisfied,
 * network)`.
 * `page` has what a window has; null: nothing happens. Returns what ends it.
 */
export function watchPage(page, on, nameNetwork) {
    if (!page) return () => {}
    const { document, navigator } = page
    const isVisible = () => document?.visibilityState !== "hidden"
    const network = () => nameNetwork?.() ?? navigator?.connection?.type ?? ""
    let last = network()
    const listeners = []
    const listen = (target, name, listener) => {
        if (!target?.addEventListener) return
        target.addEventListener(name, listener)
        listeners.push(() => target.removeEventListener(name, listener))
    }
    const tellPath = isSatisfied => {
        last = network()
        on.path(isSatisfied, last)
    }
    listen(document, "visibilitychange", () => on.visible(isVisible()))
    listen(document, "freeze", () => on.frozen())
    listen(document, "resume", () => on.resumed(isVisible()))
    listen(page, "pagehide", () => on.frozen())
    listen(page, "pageshow", event => { if (event.persisted) on.resumed(isVisible()) })
    listen(page, "online", () => tellPath(true))
    listen(page, "offline", () => tellPath(false))
    // It also changes with every measurement of the speed, which is not another path.
    listen(navigator?.connection, "change", () => { if (network() !== last) tellPath(navigator.onLine !== false) })
    on.visible(isVisible())
    tellPath(navigator?.onLine !== false)
    return () => listeners.forEach(remove => remove())
}

const knownKey = "livegate.ways"

/** What was found out about networks in earlier runs; nothing where there is no storage, or what it holds cannot be read. */
export function recallWays(storage) {
    try {
        return JSON.parse(storage?.getItem(knownKey) ?? "[]").filter(({ network, way, wait, upAt }) => (
            typeof network === "string" && typeof way === "string" && Number.isFinite(wait) && Number.isFinite(upAt)))
    } catch {
        return []
    }
}

/** Keeps it for the next run, if there is room. */
export function keepWays(storage, known) {
    try {
        storage?.setItem(knownKey, JSON.stringify(known))
    } catch {
        // The storage is full or forbidden: the next run finds out again.
    }
}
