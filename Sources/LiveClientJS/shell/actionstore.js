// Where actions are kept, beside the local state that shows them: in memory, and in the object store that is made with
// the others of IndexedDB. Its key path is [kind, id], so that opposite statuses cannot stand together.
//
// A change is {persist: {action}}, {delete: {kind, id}} or {show: {kind, id, value}}; no value: reload the thing.
import { actionsName } from "./indexeddb.js"

/** Keeps actions for as long as the page lives. Those that share a `shelf` are starts of one app, for tests. */
export class MemoryActionStore {
    #shelf
    #show
    /** Called before a commit takes effect; what it throws makes the commit fail. For tests. */
    beforeCommit = () => {}

    constructor({ show, shelf = new Map() }) {
        this.#show = show
        this.#shelf = shelf
    }

    async load() { return structuredClone([...this.#shelf.values()]) }

    async commit(changes) {
        await this.beforeCommit(changes)
        for (const change of changes) {
            if (change.persist) {
                const { action } = structuredClone(change.persist)
                this.#shelf.set(JSON.stringify([action.kind, action.id]), action)
            } else if (change.delete) this.#shelf.delete(JSON.stringify([change.delete.kind, change.delete.id]))
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
        this.#store = store
        this.#tables = tables
        this.#show = show
    }

    load() {
        return this.#store.transaction([actionsName], "readonly", transaction => new Promise((resolve, reject) => {
            const read = transaction.objectStore(actionsName).getAll()
            read.onsuccess = () => resolve(read.result)
            read.onerror = () => reject(read.error)
        }))
    }

    commit(changes) {
        return this.#store.transaction([actionsName, ...this.#tables], "readwrite", transaction => {
            const rows = transaction.objectStore(actionsName)
            for (const change of changes) {
                if (change.persist) rows.put(change.persist.action)
                else if (change.delete) rows.delete([change.delete.kind, change.delete.id])
                else this.#show(change.show.kind, change.show.id, change.show.value, transaction)
            }
        })
    }
}
