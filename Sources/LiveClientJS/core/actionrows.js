// The rows of the action queue: what users want, and what is known of what the server has (ActionQueue+Rows.swift).
import { earliestOf } from "./retry.js"

const actionDefaults = {
    seed: 1,
    /** Random, made for each start of the page, so that no key is given twice. */
    keyPrefix: "key",
    coalescing: 3_000,
    maximumBatch: 50,
    maximumRows: 10_000,
    maximumAge: 180 * 86_400_000,
}

/** Of a row: there is one for each kind and id. */
export const actionName = (kind, id) => JSON.stringify([kind, id])
/** The least of the times that are not null. */
export function leastTime(...times) { return earliestOf(times) ?? null }

/** So long after an action was done, an answer that was asked for before does not hide it. */
const settledFor = 60_000

/**
 * A row: {name, action, order, isSent, isUncertain, isRead, isSuspect, triedUntil}; `isRead`: `before` was read from the server
 * or the store since the last attempt ended, which was at `triedUntil`. On its way: {name, action, wasUncertain, isBeforeKnown}.
 */
export class ActionRows {
    settings
    rows = new Map()
    isLoaded = false
    /** When the first row that nobody has sent is due; null: every row is on its way. */
    dueAt = null
    /** In the order of the batch. */
    flight = []
    keys = 0
    order = 0
    /** No row that is not on its way expires before it. */
    expiresAt = null
    settled = new Map()

    constructor(settings) { this.settings = { ...actionDefaults, ...settings } }

    /** The status that a pending action gives a thing; undefined: none, so what the server says is shown. */
    pending(kind, id) { return this.rows.get(actionName(kind, id))?.action.value }

    get inOrder() { return [...this.rows.values()].sort((a, b) => a.order - b.order) }

    load(actions, now, effects) {
        if (this.isLoaded) return
        this.isLoaded = true
        const sorted = [...actions].sort((a, b) => a.at - b.at)
        sorted.forEach((stored, index) => {
            // The clock was ahead, or the store is damaged: the action must still expire some day.
            const action = { ...stored, at: Math.min(stored.at, now) }
            const name = actionName(action.kind, action.id)
            const row = this.rows.get(name)
            if (row) {
                // It was set before the store was read. The newer value wins; the older row has what the server had.
                row.action = { ...row.action, before: action.before }
                Object.assign(row, { isUncertain: true, isRead: true, triedUntil: now })
                effects.push({ persist: { action: row.action } })
            } else {
                // The process that kept it may have sent it, and an earlier value too. No row records whether that was answered.
                // For what the server had, the row is trusted.
                const order = index - sorted.length
                this.rows.set(name, {
                    name, action, order, isSent: true, isUncertain: true, isRead: true, isSuspect: false, triedUntil: now,
                })
                this.note(action)
            }
        })
        if (this.rows.size > 0) this.dueAt = leastTime(this.dueAt, now)
    }

    set({ kind, id, value, before }, now, effects) {
        const name = actionName(kind, id)
        const row = this.rows.get(name)
        if (!row) return this.add(name, { kind, id, value, before }, now, effects)
        if (row.action.value === value) return
        if (this.isLoaded && value === row.action.before && !row.isSent && !row.isUncertain) {
            // It was undone before it was sent: the server still has this value.
            this.rows.delete(name)
            effects.push({ delete: { kind, id } }, { apply: { kind, id, value } })
            return
        }
        const sent = this.flight.find(sent => sent.name === name && sent.action.value === value)
        if (sent) {
            // Back to the value that is being sent: a retry is the same request with the same key.
            row.action = { ...row.action, value, key: sent.action.key, at: sent.action.at }
            row.isSent = true
            row.isUncertain = sent.wasUncertain
        } else {
            row.action = { ...row.action, value, key: this.nextKey(), at: now }
            row.isUncertain ||= row.isSent
            row.isSent = false
            this.dueAt ??= now + this.settings.coalescing
        }
        row.isSuspect = false
        row.order = ++this.order
        effects.push({ persist: { action: row.action } }, { apply: { kind, id, value } })
    }

    add(name, { kind, id, value, before }, now, effects) {
        if (value === before) return
        if (this.rows.size >= this.settings.maximumRows) {
            effects.push({ refused: { kind, id, value } })
            return
        }
        const action = { kind, id, value, before, key: this.nextKey(), at: now }
        const order = ++this.order
        this.rows.set(name, {
            name, action, order, isSent: false, isUncertain: false, isRead: false, isSuspect: false, triedUntil: null,
        })
        this.note(action)
        this.dueAt ??= now + this.settings.coalescing
        effects.push({ persist: { action } }, { apply: { kind, id, value } })
    }

    reloaded({ kind, id, value }, askedAt, effects) {
        const name = actionName(kind, id)
        const row = this.rows.get(name)
        // What was read before the server did an action is older than the action: its event fetches the thing again.
        const settled = this.settled.get(name)
        const known = settled && askedAt < settled.at ? settled.value : value
        if (row) {
            // What is being sent may be done after the read.
            const isTried = this.flight.some(sent => sent.name === name) || askedAt < (row.triedUntil ?? askedAt)
            row.isRead ||= !isTried
        }
        if (row && row.action.before !== known) {
            row.action = { ...row.action, before: known }
            effects.push({ persist: { action: row.action } })
        }
        const shown = row ? row.action.value : known
        if (shown !== value) effects.push({ apply: { kind, id, value: shown } })
    }

    /** Undoes what has been kept too long and is not on its way. */
    expire(now, effects) {
        if (this.expiresAt === null || this.expiresAt > now) return
        const sending = new Set(this.flight.map(sent => sent.name))
        for (const row of this.inOrder) {
            if (row.action.at + this.settings.maximumAge > now || sending.has(row.name)) continue
            this.remove(row, effects)
            this.undo(row, row.isRead || !(row.isSent || row.isUncertain), effects)
            effects.push({ expired: { action: row.action } })
        }
        this.findExpiry()
    }

    findExpiry() {
        const sending = new Set(this.flight.map(sent => sent.name))
        this.expiresAt = null
        for (const row of this.rows.values()) if (!sending.has(row.name)) this.note(row.action)
    }

    note(action) { this.expiresAt = leastTime(this.expiresAt, action.at + this.settings.maximumAge) }

    nextKey() { return `${this.settings.keyPrefix}-${++this.keys}` }

    remove({ name, action: { kind, id } }, effects) {
        this.rows.delete(name)
        effects.push({ delete: { kind, id } })
    }

    /** Without a known status it says that the thing has to be reloaded. */
    undo({ action: { kind, id, before } }, isKnown, effects) {
        effects.push({ undo: { kind, id, value: isKnown ? before : undefined } })
    }

    settle(sent, now, effects) {
        for (const [name, { at }] of this.settled) if (now - at >= settledFor) this.settled.delete(name)
        if (this.settled.size < this.settings.maximumRows) {
            this.settled.set(sent.name, { value: sent.action.value, at: now })
        }
        const row = this.rows.get(sent.name)
        if (!row) return
        if (row.action.key === sent.action.key) return this.remove(row, effects)
        row.action = { ...row.action, before: sent.action.value }
        row.isUncertain = false
        effects.push({ persist: { action: row.action } })
    }
}
