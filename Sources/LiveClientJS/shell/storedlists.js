// What lists know, kept beside the state of their machine, so that the next visit shows them at once.

import { given } from "../core/messages.js"
import { ofStore } from "./environment.js"

/** Lists that have changed are written so much later, in ms: pages and events come in groups. */
const keepPause = 1_000

/**
 * The lists of a machine's screens in its store, in an area of their own. They are written with the finger that the machine
 * has stored: only lists whose finger is that of the stored state are as good as that, and all others are old.
 */
export class StoredLists {
    #environment
    #store
    #name
    #screens
    #finger
    #found = null
    #isLoaded = false
    #isClosed = false
    #closing = new AbortController()
    /** The lists are others than those that are written, and not only the finger: what was kept is not this visit's. */
    #isDirty = true
    #timer = null
    /** The writing before: one at a time, so that no finger stands beside lists whose writing has failed. */
    #writing = Promise.resolve()

    /** @param store `()`, the store, if there is one; @param finger `()`, what is stored of it, while it is held */
    constructor({ environment, store, area, screens, finger }) {
        this.#environment = environment
        this.#store = store
        this.#name = `${area} lists`
        this.#screens = screens
        this.#finger = finger
        screens.onChange = () => {
            this.#isDirty = true
            this._keepLater()
        }
    }

    /** Reads them; what is old is shown as old at once. @param finger of the stored state */
    async load(finger) {
        let stored
        // A list that fails to load is not shown.
        try { stored = await ofStore(this.#environment, () => this.#store()?.load(this.#name), this.#closing.signal) } catch { }
        this.#isLoaded = true
        if (!stored || this.#isClosed) return
        this.#found = [...stored.entries].map(([name, list]) => ({ ...list, name }))
        if (stored.metadata.finger === undefined || stored.metadata.finger !== finger) this.restore()
    }

    /** Gives the screens what was read: as good as the finger, if that is held now; else as old. */
    restore() {
        const lists = this.#found
        this.#found = null
        if (lists) this.#screens.restore(lists)
    }

    /** The finger has moved, or lists have changed. */
    _keepLater() {
        if (!this.#isLoaded || this.#isClosed || this.#timer !== null) return
        this.#timer = this.#environment.setTimer(() => {
            this.#timer = null
            this.keep()
        }, keepPause)
    }

    /** Writes them. What the store does not take now is written with what changes next. */
    keep() { this.#writing = this.#writing.then(() => this.#write()) }

    async #write() {
        if (!this.#isLoaded || this.#isClosed || !this.#store()) return
        const finger = this.#finger(), lists = () => this.#screens.toStore().map(({ name, ...list }) => [name, list])
        const isWhole = this.#isDirty
        this.#isDirty = false
        const put = isWhole ? lists() : []
        const written = { metadata: given({ finger }), put, isWhole, whole: isWhole ? () => put : lists }
        const write = () => this.#store().commit(this.#name, written)
        const place = await ofStore(this.#environment, write, this.#closing.signal).catch(() => "leave")
        if (place === "leave") this.#isDirty = true
    }

    /** Nothing is written any more. */
    close() {
        this.#isClosed = true
        this.#closing.abort()
        this.#environment.clearTimer(this.#timer)
    }
}
