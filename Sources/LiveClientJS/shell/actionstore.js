// Where actions are kept, beside the local state that shows them: in memory, and in an object store of IndexedDB that is
// made with the others. Its key path is [kind, id], so that it can never contain two opposite statuses.
//
// A change is {persist: {action, over}}, {delete: {kind, id, key}} or {show: {kind, id, value}}; no value: reload the thing.
// `over` and `key` name the expected row by its key; null: there is none. If another tab has written meanwhile,
// nothing is written.
import { bindMethods } from "../core/bound.js"
import { copyOf } from "../core/copy.js"
import { expectRow, expectedRows } from "../core/sharedactions.js"
import { actionsName, requestResult } from "./indexeddb.js"

/** Keeps actions for as long as the page lives. Those that share a `shelf` are starts of one app, or its tabs, for tests. */
export class MemoryActionStore {
    #shelf
    #show
    sharedName
    /** Called before a commit takes effect; what it throws makes the commit fail. For tests. */
    beforeCommit = () => {}

    constructor({ show, shelf = new Map(), sharedName }) {
        bindMethods(this)
        this.#shelf = shelf
        this.#show = show
        this.sharedName = sharedName
    }

    async load() { return copyOf([...this.#shelf.values()]) }

    async commit(changes) {
        await this.beforeCommit(changes)
        const nameOf = ({ kind, id }) => JSON.stringify([kind, id])
        for (const row of expectedRows(changes)) expectRow(row, this.#shelf.get(nameOf(row)))
        for (const change of changes) {
            if (change.persist) {
                const { action } = copyOf(change.persist)
                this.#shelf.set(nameOf(action), action)
            } else if (change.delete) this.#shelf.delete(nameOf(change.delete))
            else this.#show(change.show.kind, change.show.id, change.show.value)
        }
    }
}

/** Keeps actions in a store on IndexedDB, in the transaction that writes the app's own object stores. */
export class IndexedDBActionStore {
    #store
    #tables
    #show

    /**
     * @param options `{store, tables, show}`: `store` as `openStore` gave it; `tables` are the app's object stores that
     *     `show(kind, id, value, transaction)` writes to, at once, awaiting nothing but requests of this transaction
     */
    constructor({ store, tables = [], show }) {
        bindMethods(this)
        this.#store = store
        this.#tables = tables
        this.#show = show
    }

    /** Tabs whose stores have this name share one. */
    get sharedName() { return this.#store.name }

    load() {
        return this.#store.transaction([actionsName], "readonly", transaction => (
            requestResult(transaction.objectStore(actionsName).getAll())))
    }

    commit(changes) {
        return this.#store.transaction([actionsName, ...this.#tables], "readwrite", transaction => {
            const rows = transaction.objectStore(actionsName)
            const write = () => {
                for (const change of changes) {
                    if (change.persist) rows.put(change.persist.action)
                    else if (change.delete) rows.delete([change.delete.kind, change.delete.id])
                    else this.#show(change.show.kind, change.show.id, change.show.value, transaction)
                }
            }
            const expect = async row => expectRow(row, await requestResult(rows.get([row.kind, row.id])))
            // Directly after the last read: a transaction ends when nothing is asked of it.
            return Promise.all(expectedRows(changes).map(expect)).then(write)
        })
    }
}
