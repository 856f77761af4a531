// Several tabs of a browser share one connection: the lock and the channel around TabMachine.

import { RecentUpdates, placeAmong } from "../core/recent.js"
import { TabMachine } from "../core/tabs.js"
import { isConnectionWord, tabVersion } from "../core/tabwords.js"
import { holdLock, randomName, setDue } from "./environment.js"
import { MissedUpdates, maximumMissed } from "./missed.js"
import { Link } from "./link.js"

/** A leader whose stream has ended for good keeps the lock so long, in ms, that the others have heard of it. */
const endingPause = 1_000

/** A leader that nobody lets in gives its lead to one tab, and to another no sooner than so much later, in ms. */
const cedingPause = 5_000

/** For `share` of `connect`: all tabs of a browser have one connection. */
export function allTabs(...given) { return new SharedLink(...given) }

/** In the place of a Link: leads, with a Link of its own, or follows what the leader broadcasts. */
class SharedLink {
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
    /** Of a leader: what tabs have to know that join, and how many updates it has told. */
    #recent = new RecentUpdates()
    #told = 0
    /** Of a follower: the view that its leader told last; null: none yet. */
    #said = null
    /** Of a follower: whether it has all that its leader has told, and what came since it began to catch up. */
    #hasJoined = false
    /** Of a follower that joins or has joined: how many updates its leader has told it. */
    #heard = 0
    #held = null
    #joining = null
    /** Takes what the leader tells a tab that joins. */
    #recalled = null
    /** Nobody lets this tab in with its token, whatever its leader's does. */
    #isRefused = false
    /** Of a leader that nobody lets in: when it gave its lead away. */
    #cededAt = -Infinity
    #missed

    constructor(environment, addresses, options, owner) {
        this.#environment = environment
        this.#addresses = addresses
        this.#options = options
        this.#owner = owner
        this.#id = randomName(environment)
        const shared = [addresses.text, options.account, options.entities, ...options.asksForEventIDs ? ["aid"] : []]
        this.#name = `livegate ${tabVersion} ${JSON.stringify(shared)}`
        this.#missed = new MissedUpdates(environment, addresses, options)
        this.#machine = new TabMachine(options.tabs ?? {})
        this.cursor = options.since ?? null
        this.#view = { state: { connecting: { since: environment.now(), attempt: 1 } }, way: "webSocket", isTested: false }
    }

    get view() { return this.#view }
    get isLeader() { return this.#link !== null }

    /** The inputs of a connection: those of the page go to the tabs' machine, the others to whoever leads. */
    handle(input) {
        if (input.stop) return this.#stop()
        if (this.#view.state.ended) return
        if (input.start && !this.#channel) return this.#begin()
        if (input.background || input.foreground) {
            this.#isVisible = input.foreground !== undefined
            // A person is back, who may have signed in.
            if (this.#isVisible && this.#isRefused) this.#forgive()
            return this.#step({ visible: { isVisible: this.#isVisible } })
        }
        if (input.path) this.#path = input.path
        if (this.#link) this.#link.handle(input)
        else if (input.start || input.refresh) this.#forgive()
    }

    /** This tab tries again: with its leader, or in its place where nobody lets that in. */
    #forgive() {
        this.#isRefused = false
        this.#ask()
    }

    /** A tab that is frozen holds no lock, nor keeps one until the others have heard of the end: its timers stand still. */
    freeze() {
        if (this.#view.state.ended) this.#close()
        else this.#step({ freeze: {} })
    }

    resume(isVisible = true) { this.#step({ resume: { isVisible } }) }

    restart(cursor) {
        this.cursor = cursor
        if (!this.#link) {
            this.#leave()
            return this.#ask()
        }
        this.#recent.begin(cursor, this.#environment.now())
        this.#link.restart(cursor)
        // The part between the two cursors was not sent: the other tabs catch up, each from its own cursor.
        this.#post({ lead: {}, ...this.#news() })
    }

    #ask() { this.#post({ ask: { isVisible: this.#isVisible } }) }

    #begin() {
        this.#channel = new this.#environment.BroadcastChannel(this.#name)
        this.#channel.onmessage = ({ data }) => { if (isConnectionWord(data)) this.#receive(data) }
        this.#step({ start: { isVisible: this.#isVisible } })
    }

    #stop() {
        const { ended } = this.#view.state
        this.#close()
        if (!ended) this.#show({ ...this.#view, state: { ended: { error: { stopped: {} } } } })
    }

    #close() {
        this.#said = null
        this.#step({ stop: {} })
        this.#leave()
        this.#channel?.close()
        this.#channel = null
        this.#owner.closed()
    }

    #post(message) { this.#channel?.postMessage({ from: this.#id, ...message }) }

    #step(input) {
        for (const effect of this.#machine.handle(input, this.#environment.now())) this.#carryOut(effect)
        // Nobody leads: what the last leader reported no longer counts.
        if (this.#said && this.#machine.view.leader === undefined) {
            this.#leave()
            this.#said = null
        }
        this.#timer = setDue(this.#environment, this.#timer, this.#machine.wakeAt, () => this.#step({ wake: {} }))
    }

    #carryOut(effect) {
        const [[name, values]] = Object.entries(effect)
        switch (name) {
        case "requestLock": return this.#request(false)
        case "stealLock": return this.#request(true)
        case "releaseLock": return this.#release()
        case "post": return this.#post(values.answer || values.lead ? { ...values, ...this.#news() } : values)
        case "lead": return this.#lead()
        case "yield": return this.#yield()
        case "follow":
            this.#said = null
            return this.#leave()
        case "audience": return this.#link?.handle(values.isVisible ? { foreground: {} } : { background: {} })
        }
    }

    // The lock

    #release() {
        this.#lock?.()
        this.#lock = null
    }

    #request(steal) {
        this.#release()
        // Another tab has the lock; or this page gets no locks, and then leads for itself.
        const lost = () => this.#step(this.#link ? { lost: {} } : { granted: {} })
        this.#lock = holdLock(this.#environment, this.#name, steal, () => this.#step({ granted: {} }), lost)
    }

    // The leader

    #news() { return { view: this.#view, isLive: this.#recent.isLive, count: this.#told } }

    #lead() {
        this.#leave()
        const owner = {
            deliver: update => {
                if (this.#link !== link) return
                this.#recent.keep(update, this.#environment.now())
                this.#told += 1
                this.#post({ update, count: this.#told })
                this.#deliver(update)
            },
            changed: view => {
                if (this.#link !== link) return
                this.#show(view)
                this.#post({ view, count: this.#told })
                if (view.state.ended) this.#environment.setTimer(() => this.#close(), endingPause)
            },
        }
        this.#isRefused = false
        this.#recent.begin(this.cursor, this.#environment.now())
        const link = new Link(this.#environment, this.#addresses, { ...this.#options, since: this.cursor }, owner)
        this.#link = link
        link.handle({ path: this.#path })
        link.handle({ start: {} })
    }

    #recall(to) {
        const recent = this.#recent.told(this.#environment.now())
        this.#post({ recalled: { to, at: this.#link.cursor, recent, count: this.#told } })
    }

    #yield() {
        const link = this.#link
        this.#link = null
        link?.handle({ stop: {} })
        this.#leave()
        if (this.#view.state.ended) return
        // Another tab leads, with a token of its own; no server has let this one in.
        this.#isRefused = this.#view.state.unauthorized !== undefined
        if (!this.#isRefused) this.#show({ ...this.#view, state: this.#connecting() })
    }

    #connecting() {
        const { state } = this.#view
        return state.connecting ? state : { connecting: { since: this.#environment.now(), attempt: 1 } }
    }

    #deliver(update) {
        const [inside] = Object.values(update), before = this.cursor
        if (update.connected) this.#isConnected = true
        if (update.disconnected) this.#isConnected = false
        this.#owner.deliver(update)
        if (inside.at && this.cursor === before) this.cursor = inside.at
    }

    #show(view) {
        if (JSON.stringify(view) === JSON.stringify(this.#view)) return
        this.#view = view
        this.#owner.changed(view)
    }

    // The follower

    #receive({ from, view, isLive, update, count, recall, recalled, claim, ceded, ...message }) {
        // However slow its leader is, this tab could do no better.
        if (this.#isRefused && message.answer) message.answer = {}
        if (Object.keys(message).length > 0) this.#step({ received: { from, ...message } })
        if (this.#link) {
            if (recall) this.#recall(from)
            if (claim) this.#cede(from)
            return
        }
        if (this.#machine.view.leader !== from) return
        // Its stream begins again, maybe before what this tab has.
        if (message.lead) this.#leave()
        // Messages are lost where a browser has suspended a page without notice.
        if (view && this.#isJoining && count !== this.#heard) this.#leave()
        // It ended with its own token, before this tab joined: the lock is free in a moment.
        if (view?.state.ended && !this.#said) return
        if (view) this.#said = view
        this.#showSaid()
        if (view?.state.unauthorized && !this.#isRefused) this.#post({ claim: {} })
        if (ceded?.to === this.#id && !this.#isRefused) return this.#step({ ceded: {} })
        if (view?.state.ended) return this.#close()
        if (recalled?.to === this.#id) this.#recalled?.(recalled)
        if (update) this.#follow(update, count)
        // Its answer may have been lost as well.
        if (isLive && this.#recalled) this.#post({ recall: {} })
        else if (isLive && !this.#hasJoined) this.#join()
    }

    /** Gives the lead to a tab that may be let in, where this one is not. */
    #cede(to) {
        const now = this.#environment.now()
        if (!this.#view.state.unauthorized || now - this.#cededAt < cedingPause) return
        this.#cededAt = now
        this.#post({ ceded: { to } })
    }

    /** What the leader shows too, but `connected` only with all that it has told. */
    #showSaid() {
        if (this.#link || this.#isRefused || !this.#said) return
        const isAsGood = this.#hasJoined || !this.#said.state.connected
        this.#show(isAsGood ? this.#said : { ...this.#said, state: this.#connecting() })
    }

    /** No more of what the last leader said. */
    #leave() {
        this.#hasJoined = false
        this.#held = this.#recalled = null
        this.#joining?.abort()
        this.#joining = null
        if (this.#isConnected) this.#deliver({ disconnected: {} })
        this.#showSaid()
    }

    /** Whether no word of the leader may be missing. */
    get #isJoining() { return this.#hasJoined || this.#held !== null }

    #follow(update, count) {
        const isNext = count === this.#heard + 1
        this.#heard = count
        if (this.#hasJoined && isNext) return this.#deliver(update)
        if (update.disconnected) return this.#leave()
        if (this.#isJoining && !isNext) {
            this.#leave()
            return this.#join()
        }
        if (this.#held) {
            this.#held.push(update)
            if (this.#held.length > maximumMissed) this.#leave()
        }
        if (update.live) this.#join()
    }

    /** The leader is live: what happened since our own cursor comes first, then what the leader says. */
    async #join() {
        if (this.#joining || this.#isRefused) return
        const joining = this.#joining = new AbortController()
        const recalled = await new Promise(resolve => {
            this.#recalled = recalled => {
                // It contains everything that was sent before; the same for a second answer.
                this.#recalled = null
                this.#held = []
                this.#heard = recalled.count
                resolve(recalled)
            }
            this.#post({ recall: {} })
        })
        if (joining.signal.aborted) return
        if (!recalled.recent.isLive) return this.#leave()
        const first = await this.#missing(recalled, joining.signal)
        if (joining.signal.aborted) return
        if (!first) return this.#leave()
        const held = this.#held
        this.#held = this.#joining = null
        this.#hasJoined = true
        const { stalled } = recalled.recent
        const all = [{ connected: { way: this.#view.way } }, ...first, { live: {} }, ...stalled ? [stalled] : [], ...held]
        for (const update of all) {
            this.#deliver(update.live && !update.live.at ? { live: { at: this.cursor } } : update)
            // A listener continued from another cursor, or closed the client.
            if (!this.#hasJoined) return
        }
        this.#showSaid()
    }

    /** What this tab is to be given before its leader's next word; null: it cannot be had now. */
    async #missing({ at, recent }, signal) {
        if (this.cursor === null) return [{ resync: { why: "start", at } }]
        if (this.cursor === at) return []
        const { updates, missed } = placeAmong(recent, this.cursor)
        if (updates) return updates
        // Sending all of it costs more than fetching what is shown.
        const anew = [{ resync: { why: "slow", at } }]
        if (!missed) return anew
        const { page, refused } = await this.#missed.since(this.cursor, missed.wait, signal)
        if (refused && !signal.aborted) this.#refuse(refused)
        if (!page) return null
        return page.length > maximumMissed ? anew : [...page, ...missed.updates]
    }

    /** The server lets this tab in no more, whatever it does for its leader. */
    #refuse(state) {
        this.#isRefused = true
        this.#leave()
        this.#show({ ...this.#view, state })
        if (state.ended) this.#close()
    }
}
