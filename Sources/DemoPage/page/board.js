// What the page knows: incidents by id, how much of the list, and what is waiting to be sent. No DOM, no network.

export class Board {
    constructor() {
        /** By id; each as the API gave it last. */
        this.incidents = new Map()
        /** The list is complete from its beginning down to this number; null: nothing is known of it. */
        this.completeTo = null
        /** Whether there is more behind that. */
        this.more = false
        /** Known, but nobody says that it is still so. */
        this.isOld = false
    }

    get(id) { return this.incidents.get(id) ?? null }

    /** Whether the list shows this one. */
    lists(id) { return this.completeTo !== null && (this.get(id)?.number ?? -1) >= this.completeTo }

    /** The beginning of the list, fetched anew. What else was known is given up, but for the one that is shown. */
    reset(page, shown) {
        const kept = this.get(shown)
        this.incidents = new Map(page.incidents.map(incident => [incident.id, incident]))
        if (kept && !this.incidents.has(shown)) this.incidents.set(shown, kept)
        this.completeTo = page.more ? page.incidents.at(-1)?.number ?? 0 : 0
        this.more = page.more
        this.isOld = false
    }

    /** What stands behind the last of the list. */
    append(page) {
        for (const incident of page.incidents) this.put(incident)
        this.completeTo = page.more ? page.incidents.at(-1)?.number ?? this.completeTo : 0
        this.more = page.more
    }

    /** One that was fetched. An answer that is older than what is known changes nothing. */
    put(incident) {
        const known = this.get(incident.id)
        if (known && known.updated_at > incident.updated_at) return
        // A list's answer has no notes: those that are known stay until the details come.
        this.incidents.set(incident.id, { ...known, ...incident })
    }

    remove(id) { this.incidents.delete(id) }

    /** The list's last one, from which the next page is asked for. */
    get last() { return this.rows().at(-1)?.id ?? null }

    rows() {
        const listed = [...this.incidents.values()].filter(incident => this.lists(incident.id))
        return listed.sort((a, b) => b.number - a.number)
    }
}
