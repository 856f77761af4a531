// An action queue whose store several tabs write to: one of them sends, and all of them add actions.
import { LivegateError } from "./errors.js"
import { actionName, leastTime } from "./actionrows.js"
import { ActionQueue } from "./actions.js"

/**
 * An action queue with one more input, `taken {actions, mayBeSent}`: all rows that are stored, whoever wrote them. The rows
 * of the queue become those. `mayBeSent`: another tab sends them, so none of them is undone as if nobody had seen it.
 */
export class SharedActionQueue extends ActionQueue {
    handle(input, now) {
        if (!input.taken) return super.handle(input, now)
        if (this.isLoaded) this.#take(input.taken, now)
        return super.handle({ wake: {} }, now)
    }

    #take({ actions, mayBeSent = false }, now) {
        const stored = new Map(actions.map(action => [actionName(action.kind, action.id), action]))
        for (const name of [...this.rows.keys()]) if (!stored.has(name)) this.rows.delete(name)
        for (const [name, action] of [...stored].sort(([, a], [, b]) => a.at - b.at)) {
            const row = this.rows.get(name)
            if (row?.action.key === action.key) row.action = action
            else this.#replace(name, action, now)
        }
        // For what the server had, a row of the store is trusted.
        const believed = { isSent: true, isUncertain: true, isRead: true }
        if (mayBeSent) for (const row of this.rows.values()) Object.assign(row, believed)
        this.findExpiry()
    }

    /** Another tab has set it, and may have led until a moment ago: an earlier value may be there already. */
    #replace(name, action, now) {
        const order = ++this.order
        this.rows.set(name, {
            name, action, order, isSent: true, isUncertain: true, isRead: true, isSuspect: false, triedUntil: null,
        })
        this.dueAt = leastTime(this.dueAt, now + this.settings.coalescing)
    }
}

/** Which rows a commit expects to find, by their keys; null: no row. Only the first change of a row says so. */
export function expectedRows(changes) {
    const expected = new Map()
    for (const { persist, delete: removal } of changes) {
        const [row, key] = persist ? [persist.action, persist.over] : [removal, removal?.key]
        if (!row) continue
        const name = actionName(row.kind, row.id)
        if (!expected.has(name)) expected.set(name, { kind: row.kind, id: row.id, key })
    }
    // With an undefined key, the store may have any row.
    return [...expected.values()].filter(({ key }) => key !== undefined)
}

/** Another tab has changed a row since this one has read it. Nothing of the commit was written. */
export class ActionConflict extends LivegateError {
    constructor({ kind, id }) {
        super("conflict", `the action ${JSON.stringify(kind)} of ${JSON.stringify(id)} was changed by another tab`)
        this.name = "ActionConflict"
    }
}

/** Throws where a row is not the expected one. `found`: the row, or nothing. */
export function expectRow(expected, found) {
    if ((found?.key ?? null) !== expected.key) throw new ActionConflict(expected)
}

/** The keys of the rows that are stored, as far as a tab knows, and what a store is asked to write over them. */
export class StoredKeys {
    #keys

    constructor(actions = []) { this.#keys = new Map(actions.map(({ kind, id, key }) => [actionName(kind, id), key])) }

    /** The changes that a queue's effects ask for, each with the row that is meant; and the keys behind them. */
    after(effects) {
        const next = new StoredKeys()
        next.#keys = new Map(this.#keys)
        const changes = effects.map(effect => next.#change(effect)).filter(change => change !== null)
        return { changes, next }
    }

    #change({ persist, delete: removal, apply, undo }) {
        const row = persist?.action ?? removal
        if (!row) return apply || undo ? { show: apply ?? undo } : null
        const name = actionName(row.kind, row.id), key = this.#keys.get(name) ?? null
        if (persist) this.#keys.set(name, row.key)
        else this.#keys.delete(name)
        return persist ? { persist: { action: row, over: key } } : { delete: { ...removal, key } }
    }
}
