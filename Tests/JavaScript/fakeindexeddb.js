// As much of IndexedDB as opening and deleting databases takes, and reading and writing one row.

/** A request that is answered behind this turn. */
function answered(work) {
    const request = {}
    queueMicrotask(() => {
        try {
            request.result = work()
            request.onsuccess?.()
        } catch (error) {
            request.error = error
            request.onerror?.()
        }
    })
    return request
}

class Connection {
    constructor(stored) {
        this.name = stored.name
        this.stored = stored
        this.isOpen = true
        stored.connections.add(this)
        const { tables } = stored
        this.objectStoreNames = { contains: name => tables.has(name) }
    }
    createObjectStore(name) { this.stored.tables.set(name, new Map()) }
    transaction() {
        const transaction = {
            abort: () => { transaction.isOver = true },
            objectStore: name => {
                const table = this.stored.tables.get(name)
                return {
                    get: key => answered(() => table.get(key)), getAll: () => answered(() => [...table.values()]),
                    put: (value, key) => table.set(key ?? JSON.stringify([value.kind, value.id]), value),
                }
            },
        }
        setImmediate(() => { if (!transaction.isOver) transaction.oncomplete?.() })
        return transaction
    }
    close() {
        this.isOpen = false
        this.stored.connections.delete(this)
    }
}

/** One browser's databases, by name; `faults` are thrown by the next openings of one, in their order. */
export class FakeIndexedDB {
    all = new Map()
    faults = new Map()
    opened = []

    databases = async () => [...this.all.keys()].map(name => ({ name }))

    open = (name, version = 1) => {
        this.opened.push(name)
        const request = {}
        queueMicrotask(() => {
            const fault = this.faults.get(name)?.shift()
            if (fault) {
                request.error = new DOMException("Internal error", fault)
                return request.onerror()
            }
            const isNew = !this.all.has(name)
            if (isNew) this.all.set(name, { name, version, tables: new Map(), connections: new Set() })
            request.result = new Connection(this.all.get(name))
            if (!isNew) return request.onsuccess()
            request.transaction = request.result.transaction()
            request.onupgradeneeded({ oldVersion: 0 })
            if (!request.transaction.isOver) return request.onsuccess()
            request.result.close()
            this.all.delete(name)
            request.error = new DOMException("aborted", "AbortError")
            request.onerror()
        })
        return request
    }

    deleteDatabase = name => {
        const request = {}
        queueMicrotask(() => {
            const connections = this.all.get(name)?.connections ?? []
            for (const connection of connections) connection.onversionchange?.({ newVersion: null })
            // It waits for those who keep it open.
            if ([...connections].length > 0) return
            this.all.delete(name)
            request.onsuccess()
        })
        return request
    }
}
