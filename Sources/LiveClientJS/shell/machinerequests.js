// What a machine asks the server and the app's API for, and the results that no commit has stored yet.
import { FoundThings } from "../core/found.js"
import { keyOf } from "../core/stored.js"
import { endOf, failureOf, isSignedOut, outcomeOf } from "./failures.js"
import { eventOf } from "./following.js"
import { PendingRequests } from "./pendingrequests.js"

/** Things that are reloaded at once; the others wait for their turn. Screens have a queue with the same limit. */
const maximumReloads = 4

/** The requests of one machine, by the names of its effects; `send` is given their results as the machine's inputs. */
export class MachineRequests extends PendingRequests {
    #client
    #options
    #following
    #send
    /** Reloads that wait for their turn, and the numbers of those that are under way. */
    #waiting = []
    #reloading = new Set()
    found = new FoundThings()
    /** What a snapshot has brought: `{number, entries}`. */
    snapshot = null

    constructor(client, options, following, gate, send) {
        super(client.environment, options.requestDeadline, gate, client._tokens)
        this.#client = client
        this.#options = options
        this.#following = following
        this.#send = send
    }

    requestFinger({ number }) {
        this.#ask(number, () => this.#following.finger(), at => ({ finger: { number, at } }), "fingerFailed")
    }

    requestSnapshot({ number }) {
        this.begin(number, async signal => new Map(await this.#options.snapshot({ signal })), entries => {
            this.snapshot = { number, entries }
            this.#send({ snapshot: { number } })
        }, error => this.#send({ snapshotFailed: { number, failure: failureOf(error) } }), this,
            { call: "snapshot", name: this.#options.area })
    }

    poll({ number, since }) {
        this.#ask(number, signal => this.#client.sync({ since, signal }), ({ page, resync }) => (
            resync ? { pageResync: { number, at: resync.at, isEpoch: resync.why === "epoch" } }
                : { page: { number, events: page.events.map(eventOf), at: page.at, more: page.more } }), "pageFailed")
    }

    reload(wanted) {
        this.#waiting.push(wanted)
        this.#beginReloads()
    }

    dropReloads() {
        this.#waiting = []
        for (const number of this.#reloading) this.abort(number)
        this.#reloading.clear()
        this.found.clear()
    }

    cancel({ number }) {
        this.abort(number)
        if (this.snapshot?.number === number) this.snapshot = null
    }

    /** Asks for a new token. Only who says that nobody is signed in is believed; anything else is tried again. */
    requestToken() {
        this.forgetToken()
        this.renewToken(undefined, () => this.#send({ token: { isValid: true } }),
            error => this.#send(isSignedOut(error) ? { token: { isValid: false } } : { tokenFailed: {} }))
    }

    /** Gives up all of it. */
    close() {
        this.dropReloads()
        super.close()
    }

    /** Asks the gateway. What it would refuse again is an end. */
    #ask(number, work, inputOf, failed) {
        this.begin(number, work, found => this.#send(inputOf(found)), error => {
            const end = endOf(error)
            this.#send(end ? { ended: { error: end } } : { [failed]: { number, failure: failureOf(error) } })
        })
    }

    #beginReloads() {
        while (this.#reloading.size < maximumReloads && this.#waiting.length > 0) this.#beginReload(this.#waiting.shift())
    }

    #beginReload({ number, thing, types }) {
        const end = input => {
            this.#reloading.delete(number)
            this.#send(input)
            this.#beginReloads()
        }
        this.#reloading.add(number)
        this.begin(number, signal => this.#read(thing, types, signal), ({ outcome, value }) => {
            this.found.keep(thing, value)
            end({ reloaded: { number, outcome } })
        }, error => end({ reloadFailed: { number, failure: failureOf(error) } }), keyOf(thing), { call: "reload", thing })
    }

    async #read(thing, types, signal) {
        try {
            return { outcome: "value", value: await this.#options.reload(thing, { types, signal }) }
        } catch (error) {
            const outcome = outcomeOf(error)
            if (!outcome) throw error
            return { outcome }
        }
    }
}
