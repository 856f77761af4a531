// The past of a client's account: pages of events, the person's inbox, and read marks (LiveArchive.swift).
import { bindMethods } from "../core/bound.js"
import {
    afterArchivePage, afterInboxPage, archiveParameters, inboxParameters, markBody, readArchivePage, readInboxPage,
} from "../core/archive.js"
import { archiveErrorOf } from "./archiveerror.js"
import { ArchiveRequests } from "./archiverequests.js"
import { marked, sendReadMarks } from "./readmarks.js"

/** A request waits altogether so long because the server asks for it, in ms. What asks for more fails at once. */
const standardPatience = 30_000

/** See types/archive.d.ts. No stream is needed for it. */
export class LiveArchive {
    #requests

    constructor(client, { patience = standardPatience } = {}) {
        bindMethods(this)
        this.#requests = new ArchiveRequests(client, patience)
    }

    async page(request = {}, { signal } = {}) {
        const parameters = archiveParameters(request, this.#requests.entities)
        return this.#read({ path: "/archive/v1", parameters }, readArchivePage, signal)
    }

    pages(request = {}, options = {}) { return new ArchivePages(request, asked => this.page(asked, options), afterArchivePage) }

    async inbox(request = {}, { signal } = {}) {
        const parameters = inboxParameters(request, this.#requests.entities)
        return this.#read({ path: "/inbox/v1", parameters }, readInboxPage, signal)
    }

    inboxPages(request = {}, options = {}) { return new ArchivePages(request, asked => this.inbox(asked, options), afterInboxPage) }

    async markRead(mark, { signal } = {}) {
        const answer = await this.#requests.ask({ path: "/inbox/v1/read", body: markBody(mark) }, signal)
        if (answer.status !== marked) throw archiveErrorOf(answer)
    }

    sendReadMarks(actions, signal) { return sendReadMarks(this.#requests, actions, signal) }

    async #read(question, read, signal) {
        const answer = await this.#requests.ask(question, signal)
        const page = answer.status === 200 ? read(answer.body) : null
        if (!page) throw archiveErrorOf(answer)
        return page
    }
}

/** An async iterable of pages; each iteration begins again at the first. A page that failed is asked for again by the next call. */
export class ArchivePages {
    #request
    #ask
    #following

    /** @param ask gives the page of a request @param following gives the request behind a page; null: there is none */
    constructor(request, ask, following) {
        this.#request = request
        this.#ask = ask
        this.#following = following
    }

    [Symbol.asyncIterator]() {
        // Null after the last page, and once the reader has left.
        let request = this.#request, last = Promise.resolve()
        const end = { done: true, value: undefined }
        const step = async () => {
            const asked = request
            if (asked === null) return end
            const page = await this.#ask(asked)
            if (request === asked) request = this.#following(asked, page)
            return { done: false, value: page }
        }
        return {
            // A page that is asked for before the previous one has arrived waits for that one.
            next: () => last = last.then(step, step),
            return: async () => {
                request = null
                return end
            },
            [Symbol.asyncIterator]() { return this },
        }
    }
}
