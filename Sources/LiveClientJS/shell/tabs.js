// Several tabs of a browser share one connection: the lock and the channel around TabMachine.

import { TabMachine } from "../core/tabs.js"
import { Retry } from "../core/retry.js"
import { Link } from "./link.js"
import { askSync } from "./requests.js"

/** What a follower keeps of the leader's updates while it catches up; over it, it begins again. */
const maximumHeld = 1024

/** In the place of a Link: leads, with a Link of its own, or follows what the leader broadcasts. */
export class SharedLink {
    #environment
    #addresses
    #options
    #owner
    #machine
    #id
    #name
    #channel = null
    #timer = null
    /** Ends our lock, or our wish for it. */
    #lock = null
    #link = null
    #isVisible = true
    #path = { isSatisfied: true, network: "" }
    #view
    #isConnected = false
    /** Of a leader: whether what was missed has been delivered. */
    #isLive = false
    /** Of a follower: whether it has all that its leader has, and what came since it began to catch up. */
    #hasJoined = false
    #held = null
    #joining = null
    #retry

    constructor(environment, addresses, options, owner) {
        this.#environment = environment
        this.#addresses = addresses
        this.#options = options
        this.#owner = owner
        this.#id = `${environment.random().toString(36)}-${environment.random().toString(36)}`
        this.#name = `livegate ${JSON.stringify([addresses.text, options.account, options.entities])}`
        this.#retry = new Retry(environment.random())
        this.#machine = new TabMachine(options.tabs ?? {})
        this.cursor = options.since ?? null
        this.#view = { state: { connecting: { since: environment.now(), attempt: 1 } }, way: "webSocket", isTested: false }
    }

    get view() { return this.#view }
    get isLeader() { return this.#link !== null }

    /** The inputs of a connection: those of the page go to the tabs' machine, the others to whoever leads. */
    handle(input) {
        if (input.start && !this.#channel) return this.#begin()
        if (input.stop) return this.#stop()
        if (input.background || input.foreground) {
            this.#isVisible = input.foreground !== undefined
            return this.#step({ visible: { isVisible: this.#isVisible } })
        }
        if (input.path) this.#path = input.path
        if (this.#link) this.#link.handle(input)
        else if (input.start) this.#post({ start: {} })
    }

    freeze() { this.#step({ freeze: {} }) }
    resume() { this.#step({ resume: { isVisible: true } }) }

    restart(cursor) {
        this.cursor = cursor
        if (this.#link) return this.#link.restart(cursor)
        this.#leave()
        this.#post({ ask: { isVisible: this.#isVisible } })
    }

    #begin() {
        this.#channel = new this.#environment.BroadcastChannel(this.#name)
        this.#channel.onmessage = ({ data }) => this.#receive(data)
        this.#step({ start: { isVisible: this.#isVisible } })
    }

    #stop() {
        this.#step({ stop: {} })
        this.#leave()
        this.#channel?.close()
        this.#channel = null
        this.#show({ ...this.#view, state: { ended: { error: { stopped: {} } } } })
    }

    #post(message) { this.#channel?.postMessage({ from: this.#id, ...message }) }

    #step(input) {
        for (const effect of this.#machine.handle(input, this.#environment.now())) this.#carryOut(effect)
        const { clearTimer, setTimer, now } = this.#environment
        if (this.#timer !== null) clearTimer(this.#timer)
        const at = this.#machine.wakeAt
        this.#timer = at === null ? null : setTimer(() => this.#step({ wake: {} }), Math.max(at - now(), 0))
    }

    #carryOut(effect) {
        const [[name, values]] = Object.entries(effect)
        switch (name) {
        case "requestLock": return this.#request({})
        case "stealLock": return this.#request({ steal: true })
        case "releaseLock": return this.#release()
        case "post": return this.#post(values.answer || values.lead ? { ...values, ...this.#told() } : values)
        case "lead": return this.#lead()
        case "yield": return this.#yield()
        case "follow": return this.#leave()
        case "audience": return this.#link?.handle(values.isVisible ? { foreground: {} } : { background: {} })
        }
    }

    // The lock

    #release() {
        this.#lock?.abort()
        this.#lock = null
    }

    async #request({ steal = false }) {
        this.#release()
        const lock = this.#lock = new AbortController(), { signal } = lock
        const hold = () => new Promise(resolve => {
            if (signal.aborted) return resolve()
            signal.addEventListener("abort", resolve)
            this.#step({ granted: {} })
        })
        try {
            await this.#environment.locks.request(this.#name, steal ? { steal } : { signal }, hold)
        } catch {
            // Given up by ourselves; taken by somebody else; or there are no locks for this page, which then leads for itself.
            if (this.#lock === lock) this.#step(this.#link ? { lost: {} } : { granted: {} })
        }
    }

    // The leader

    #told() { return { view: this.#view, at: this.#link?.cursor ?? null, isLive: this.#isLive } }

    #lead() {
        this.#leave()
        const owner = {
            deliver: update => {
                if (this.#link !== link) return
                if (update.live) this.#isLive = true
                if (update.resync || update.disconnected) this.#isLive = false
                this.#post({ update })
                this.#deliver(update)
            },
            changed: view => {
                if (this.#link !== link) return
                this.#show(view)
                this.#post({ view })
            },
        }
        const link = new Link(this.#environment, this.#addresses, { ...this.#options, since: this.cursor }, owner)
        this.#link = link
        this.#isLive = false
        link.handle({ path: this.#path })
        link.handle({ start: {} })
    }

    #yield() {
        const link = this.#link
        this.#link = null
        this.#isLive = false
        link?.handle({ stop: {} })
        this.#leave()
        this.#show({ ...this.#view, state: { connecting: { since: this.#environment.now(), attempt: 1 } } })
    }

    #deliver(update) {
        if (update.connected) this.#isConnected = true
        if (update.disconnected) this.#isConnected = false
        this.#owner.deliver(update)
        const [inside] = Object.values(update)
        if (inside.at) this.cursor = inside.at
    }

    #show(view) {
        if (JSON.stringify(view) === JSON.stringify(this.#view)) return
        this.#view = view
        this.#owner.changed(view)
    }

    // The follower

    #receive({ from, view, at, isLive, update, start, ...message }) {
        if (Object.keys(message).length > 0) this.#step({ received: { from, ...message } })
        if (this.#link) {
            if (start) this.#link.handle({ start: {} })
            return
        }
        if (this.#machine.view.leader !== from) return
        if (view) this.#show(view)
        if (update) this.#follow(update)
        if (isLive && !this.#hasJoined) this.#join(at)
    }

    /** No more of what the last leader said. */
    #leave() {
        this.#hasJoined = false
        this.#held = null
        this.#joining?.abort()
        this.#joining = null
        if (this.#isConnected) this.#deliver({ disconnected: {} })
    }

    #follow(update) {
        if (this.#hasJoined) return this.#deliver(update)
        if (this.#held) {
            this.#held.push(update)
            if (this.#held.length > maximumHeld) this.#leave()
        }
        if (update.live) this.#join(update.live.at)
    }

    /** The leader is live: what happened since our own cursor comes first, by `/sync/v1`, then what the leader says. */
    async #join(at) {
        if (this.#joining) return
        const joining = this.#joining = new AbortController()
        this.#held = []
        const isMissed = this.cursor !== null && this.cursor !== at
        const missed = isMissed ? await this.#catchUp(joining.signal) : [{ resync: { why: "start", at } }]
        if (joining.signal.aborted) return
        if (!missed) return this.#leave()
        const held = this.#held
        this.#held = this.#joining = null
        this.#hasJoined = true
        this.#deliver({ connected: { way: this.#view.way } })
        const isNew = this.cursor === null
        if (isMissed || isNew) for (const update of missed) this.#deliver(update)
        this.#deliver({ live: { at: this.cursor } })
        for (const update of held) this.#deliver(update)
    }

    /** The updates since our cursor; null where there is no end of failing, and the leader's next word begins again. */
    async #catchUp(signal) {
        const { token, entities } = this.#options, updates = []
        let since = this.cursor, bearer = null, fresh = false
        for (let tries = 0; tries < 8 && updates.length <= maximumHeld && !signal.aborted;) {
            try {
                bearer = token === null ? null : await token({ fresh })
            } catch {
                bearer = undefined
            }
            const answer = bearer === undefined ? {} : await askSync(
                this.#environment, this.#addresses, { token: bearer, since, entities, signal })
            if (answer.resync) return [...updates, answer]
            if (answer.page) {
                updates.push(...answer.page.events.map(event => ({ event })), { beat: { at: answer.page.at } })
                since = answer.page.at
                if (!answer.page.more) return updates
            } else {
                tries += 1
                fresh = answer.refused?.status === 401
                await new Promise(resolve => this.#environment.setTimer(resolve, this.#retry.wait(answer.refused?.retryAfter)))
            }
        }
        return null
    }
}
