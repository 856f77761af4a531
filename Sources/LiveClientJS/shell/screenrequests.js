// Requests of screens to the app's API, each of which can be given up.

/** A failure of the app's API as the machines know it: an error with `kind`, `retryAfter` in ms, `status`. */
export function screenFailure(error) {
    if (error?.kind === "unauthorized") return { unauthorized: {} }
    if (error?.kind === "rejected") return { rejected: { status: error.status } }
    return { retry: error?.retryAfter === undefined ? {} : { after: error.retryAfter } }
}

/** What is on its way, by name. An answer to what was given up is dropped. */
export class ScreenRequests {
    #controllers = new Map()

    begin(name, work, receive, fail) {
        const controller = new AbortController()
        this.#controllers.set(name, controller)
        const isWanted = () => {
            if (this.#controllers.get(name) !== controller) return false
            this.#controllers.delete(name)
            return true
        }
        // In two steps, so that an error in `receive` is not taken for one of the API.
        Promise.resolve().then(() => work(controller.signal)).then(
            found => { if (isWanted()) receive(found) },
            error => { if (isWanted()) fail(error) })
    }

    abort(name) {
        const controller = this.#controllers.get(name)
        this.#controllers.delete(name)
        controller?.abort()
    }

    close() { for (const name of [...this.#controllers.keys()]) this.abort(name) }
}
