// The store on IndexedDB: metadata, entries and the app's own object stores in one transaction.
import { LivegateError } from "../core/errors.js"
import { bindMethods } from "../core/bound.js"
import { differences, otherStore, placeOfCommit, storeFormat } from "../core/stored.js"
import { ofStore, randomName, systemEnvironment } from "./environment.js"

const identityName = "livegate.identity"
const areasName = "livegate.areas"
const entriesName = "livegate.entries"
/** A row for each (kind, id): two statuses that exclude one another cannot stand together. */
export const actionsName = "livegate.actions"

/** A request of IndexedDB as a promise. */
export function requestResult(request) {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
    })
}

/** Why a transaction failed. A full disk does not get emptier by asking again: such a store is none. */
function faultOf(error) {
    if (!error) return new LivegateError("unavailable", "transaction ended")
    if (error.name !== "QuotaExceededError") return error
    return new LivegateError("unavailable", `there is no room in the store: ${error.message}`, { cause: error })
}

/** The end of a transaction: fulfilled when it is complete, so either all of it is there or nothing. */
function transactionEnd(transaction) {
    return new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve()
        transaction.onabort = () => reject(faultOf(transaction.error))
    })
}

/**
 * What `work` gave, when the transaction is complete. Where it fails, nothing of the transaction is written; nor where it takes
 * too long.
 */
async function completed(transaction, end, work) {
    try {
        const result = await ofStore(systemEnvironment(), () => Promise.all([work, end]))
        return result[0]
    } catch (error) {
        // It may have ended by itself: then there is nothing to abort.
        try { transaction.abort() } catch { }
        // If the transaction hangs, its end may not arrive either.
        if (error.kind !== "late") await end.catch(() => {})
        throw faultOf(error)
    }
}

/** All entries of an area: an array sorts behind every text. */
function rangeOfArea(area) {
    return IDBKeyRange.bound([area], [area, []])
}

/** Creates what is missing in a versionchange transaction, or ends it where the database is another one's. */
function upgradeStore(request, event, wanted, { tables, isAgain }, refuse) {
    const [database, transaction] = [request.result, request.transaction]
    const step = identity => {
        // It was deleted meanwhile: a tab that had it open does not create it again.
        if (isAgain && event.oldVersion === 0) {
            refuse(deletedStore(database.name))
            return transaction.abort()
        }
        // Only one difference is allowed: a later schema of the same store, if the app updates its tables.
        const differs = differences(identity, { ...wanted, schema: identity?.schema })
        if (event.oldVersion > 0 && (differs.length > 0 || !tables)) {
            refuse(otherStore(database.name, identity, wanted))
            transaction.abort()
            return
        }
        if (event.oldVersion === 0) {
            database.createObjectStore(identityName)
            database.createObjectStore(areasName)
            database.createObjectStore(entriesName)
            database.createObjectStore(actionsName, { keyPath: ["kind", "id"] })
        }
        transaction.objectStore(identityName).put(wanted, "identity")
        tables?.(database, transaction, event.oldVersion)
    }
    if (event.oldVersion === 0 || !database.objectStoreNames.contains(identityName)) return step(undefined)
    const read = transaction.objectStore(identityName).get("identity")
    read.onsuccess = () => step(read.result)
}

function deletedStore(name) { return new LivegateError("deleted", `store ${JSON.stringify(name)} was deleted, maybe by another tab`) }

/**
 * Opens a database, or says why not; it is closed by itself when another tab brings a later schema, or deletes it. One that comes
 * when `attempt.isOver` is closed.
 */
function openDatabase(name, wanted, how, attempt) {
    return new Promise((resolve, reject) => {
        let refused = null
        const fail = error => { attempt.isOver = true; reject(error) }
        const request = indexedDB.open(name, wanted.schema)
        request.onupgradeneeded = event => upgradeStore(request, event, wanted, how, error => { refused = error })
        const quoted = JSON.stringify(name)
        request.onblocked = () => fail(new LivegateError("blocked",
            `store ${quoted}: another tab holds it open with an older schema; close it, then open again`))
        request.onerror = () => {
            if (request.error?.name !== "VersionError") {
                const text = `store ${quoted} cannot be opened: ${request.error}`
                const _isCorrupt = request.error?.name === "UnknownError"
                return fail(refused ?? new LivegateError("unavailable", text, { _isCorrupt }))
            }
            laterIdentity(name).then(found => fail(otherStore(name, found, wanted)))
        }
        request.onsuccess = () => {
            const database = request.result
            if (attempt.isOver) return database.close()
            database.onversionchange = event => {
                database.close()
                how.onClosed(event?.newVersion === null)
            }
            database.onclose = () => how.onClosed(false)
            resolve(database)
        }
    })
}

/** The same, where the database is the wanted one's. */
async function openOurs(name, wanted, how) {
    const attempt = { isOver: false }
    let database
    try {
        return await ofStore(systemEnvironment(), async () => {
            database = await openDatabase(name, wanted, how, attempt)
            const identity = await identityOfDatabase(database)
            if (differences(identity, wanted).length > 0) throw otherStore(name, identity, wanted)
            return database
        })
    } catch (error) {
        attempt.isOver = true
        database?.close()
        throw error
    }
}

/** The identity of a database that this module did not necessarily make. */
async function identityOfDatabase(database) {
    const names = database.objectStoreNames
    if (![identityName, areasName, entriesName, actionsName].every(name => names.contains(name))) return undefined
    return requestResult(database.transaction(identityName).objectStore(identityName).get("identity"))
}

/** The identity of a database whose schema is later than ours, as far as it can be read; it is not changed. */
async function laterIdentity(name) {
    const request = indexedDB.open(name)
    // It was deleted meanwhile: it is not created again.
    request.onupgradeneeded = () => request.transaction.abort()
    try {
        const database = await requestResult(request)
        try { return await identityOfDatabase(database) } finally { database.close() }
    } catch {
        return undefined
    }
}

/** The databases that stand for a store: the last one is used, and those before it could not be read and were set aside. */
async function placesOf(name) {
    const known = await ofStore(systemEnvironment(), () => indexedDB.databases()).catch(() => [])
    const names = new Set(known.map(database => database.name)), places = [name]
    while (names.has(placeBehind(name, places))) places.push(placeBehind(name, places))
    return places
}

function placeBehind(name, places) { return `${name} ${places.length + 1}` }

/**
 * Deletes a database with all that is in it, and those that were set aside. An app calls it, when its user agreed. Throws a
 * `StoreError` "late" where another tab keeps it open for 10 s: then it goes when that does.
 *
 * @param store its name, or `{name, account, server}` as `openStore` has them
 */
export async function discardStore(store) {
    const places = await placesOf(typeof store === "string" ? store : nameOfDatabase(store))
    for (const place of places) await ofStore(systemEnvironment(), () => requestResult(indexedDB.deleteDatabase(place)))
}

/** Entries of areas in a database of the browser. See `openStore`. */
export class IndexedDBStore {
    #database
    /** Of the database; tabs whose stores have the same name share one. */
    name
    #writer
    #reopen
    #opening = null
    #isClosed = false
    #isDeleted = false
    /** The database that could not be read when this one was opened in its place; null: there was none. */
    setAside

    constructor(database, writer, reopen, name = database.name, setAside = null) {
        bindMethods(this)
        this.#database = database
        this.name = name
        this.setAside = setAside
        this.#writer = writer
        this.#reopen = reopen
    }

    /**
     * The database; opened again when the browser closed it (Safari does in the background, others when site data is
     * deleted), which goes through the same check of its identity.
     */
    async #current() {
        if (this.#isDeleted) throw deletedStore(this.name)
        if (this.#isClosed) throw new LivegateError("unavailable", "the store is closed")
        this.#opening ??= this.#database ? null : this.#reopen().finally(() => { this.#opening = null })
        if (!this.#opening) return this.#database
        const database = await this.#opening
        if (this.#isClosed) {
            database.close()
            throw new LivegateError("unavailable", "the store is closed")
        }
        return this.#database = database
    }

    /** The browser closed it; or another tab has deleted it, and it is not made again. */
    lost(isDeleted) {
        this.#database = null
        this.#isDeleted ||= isDeleted
    }

    /**
     * Its account signs out here: closes the store, whose machines and actions were closed before. What it has stays for the next
     * time, or is deleted, in all tabs.
     *
     * @returns `{isKept, pending}`: the actions that the server is not known to have, and whether they are still in it
     */
    async signOut({ keep = true } = {}) {
        const read = this.transaction([actionsName], "readonly", transaction => requestResult(transaction.objectStore(actionsName).getAll()))
        const pending = await ofStore(systemEnvironment(), () => read).catch(error => {
            if (keep) throw error
            return []
        })
        this.close()
        if (!keep) await discardStore(this.name)
        return { isKept: keep, pending }
    }

    /** What was committed of an area last, `{metadata, entries}`, a Map; null: nothing ever was. */
    async load(area) {
        const transaction = (await this.#current()).transaction([areasName, entriesName])
        const [row, keys, values] = await ofStore(systemEnvironment(), () => Promise.all([
            requestResult(transaction.objectStore(areasName).get(area)),
            requestResult(transaction.objectStore(entriesName).getAllKeys(rangeOfArea(area))),
            requestResult(transaction.objectStore(entriesName).getAll(rangeOfArea(area)))]))
        if (!row) return null
        return { metadata: row.metadata, entries: new Map(keys.map((key, index) => [key[1], values[index]])) }
    }

    /**
     * Writes an area's metadata and what changed of its entries, and calls `also` with the same transaction: all of it
     * or nothing.
     *
     * @param commit `{metadata, put, remove, isWhole, whole, tables, also}`: `put` lists `[key, value]`, `remove` keys,
     *     `whole()` gives all entries, for a snapshot (`isWhole`) and a tab that takes over from another; `tables`
     *     are the app's own object stores
     *     that `also(transaction, isWhole)` writes to, at once, awaiting nothing but requests of this transaction
     * @returns "changes", "whole" or "leave" (another tab writes this area: nothing was written)
     */
    async commit(area, { metadata, put = [], remove = [], isWhole = false, whole = () => put, tables = [], also }) {
        const transaction = (await this.#current()).transaction([areasName, entriesName, ...tables], "readwrite")
        const end = transactionEnd(transaction)
        const [areas, entries] = [transaction.objectStore(areasName), transaction.objectStore(entriesName)]
        const now = Date.now()
        const write = row => {
            const place = placeOfCommit(row, this.#writer, now, isWhole)
            if (place === "leave") return place
            areas.put({ metadata, writer: this.#writer, at: now }, area)
            if (place === "whole") entries.delete(rangeOfArea(area))
            else for (const key of remove) entries.delete([area, key])
            for (const [key, value] of place === "whole" ? whole() : put) entries.put(value, [area, key])
            also?.(transaction, place === "whole")
            return place
        }
        return completed(transaction, end, requestResult(areas.get(area)).then(write))
    }

    /** The app's own transaction on its own object stores; fulfilled with what `body` returned, when it is complete. */
    async transaction(tables, mode, body) {
        // This is how actions are kept: what is shown as done must not be lost in a power failure.
        const transaction = (await this.#current()).transaction(tables, mode, { durability: "strict" })
        const end = transactionEnd(transaction)
        return completed(transaction, end, new Promise(resolve => resolve(body(transaction))))
    }

    close() {
        this.#isClosed = true
        this.#database?.close()
        this.#database = null
    }
}

/** The name of a store's database: another account's, or another server's, is another one. */
function nameOfDatabase({ name = "livegate", account, server }) { return `${name} ${JSON.stringify([server, account])}` }

/**
 * Opens the store of an account at a server, or creates it where there is none. One that the browser cannot read is set aside:
 * it stays as it is, and another one takes its place.
 *
 * @param options `{name, schema, account, server, tables, database}`: the database's name is made of `name`, server and account,
 *     or is `database`, where an earlier release has made it; `schema` is the app's own number from 1, to be raised with
 *     each change of what it keeps; `tables(database, transaction, oldVersion)` creates the app's object stores and
 *     brings older ones up to date; without it a store of an older schema is another one's
 * @throws StoreError "other", with what was found: it is neither used nor deleted; "blocked"; "unavailable"; "late"
 */
export async function openStore({ name, schema = 1, account, server, tables, database: whole }) {
    if (typeof indexedDB === "undefined") throw new LivegateError("unavailable", "there is no IndexedDB here")
    const wanted = { format: storeFormat, schema, account, server }
    const full = whole ?? nameOfDatabase({ name, account, server })
    const places = indexedDB.databases ? await placesOf(full) : [full]
    const held = { current: null }
    const open = async (place, isAgain) => {
        let isOpen = true
        const onClosed = isDeleted => { isOpen = false; held.current?.lost(isDeleted) }
        const database = await openOurs(place, wanted, { tables, isAgain, onClosed })
        if (!isOpen) throw new LivegateError("unavailable", `store ${JSON.stringify(place)} was closed while it was opened`)
        return database
    }
    let place = places.at(-1), setAside = null
    // A browser may report this for a temporary fault. A fault that stays means that it is corrupt.
    const database = await open(place).catch(error => error._isCorrupt ? open(place) : Promise.reject(error)).catch(error => {
        if (!error._isCorrupt) throw error
        setAside = place
        place = placeBehind(full, places)
        return open(place)
    })
    held.current = new IndexedDBStore(database, randomName(systemEnvironment(), 3), () => open(place, true), full, setAside)
    return held.current
}
