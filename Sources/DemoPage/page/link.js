// What comes from the gateway, for as long as the page lives: /sync/v1 with a long poll, from a finger.
//
// Its updates are those of the module's client: { live }, { event }, { resync }, { disconnected }.

import { Retry } from "../../LiveClientJS/core/retry.js"

/** How long a poll may stay open, in seconds: a proxy that cuts after 30 does not cut it. */
const WAIT = 25

export class Link {
    /**
     * - enter(again): a promise of { gateway, token }.
     * - register(): fetches the app's snapshot; called with a fresh finger in hand.
     * - apply(events): reloads what the events name; the finger moves when it has succeeded.
     * - changed(): `state` is another.
     */
    constructor({ enter, register, apply, changed }) {
        Object.assign(this, { enter, register, apply, changed })
        this.retry = new Retry(crypto.getRandomValues(new Uint32Array(1))[0])
        this.finger = null
        /** "connecting", "connected" or "waiting", since when, and when it is tried again. */
        this.state = { is: "connecting", since: Date.now(), until: null }
        this.wake = () => {}
        this.asking = null
        this.isStopped = false
    }

    /** Follows until `stop`. Whatever fails is tried again. */
    async run() {
        while (!this.isStopped) {
            try {
                if (this.finger === null) await this.begin()
                await this.follow()
            } catch (error) {
                if (this.isStopped) return
                await this.pause(error)
            }
        }
    }

    stop() {
        this.isStopped = true
        this.asking?.abort()
        this.wake()
    }

    /** Something has changed that makes it worth while: the network, the foreground. */
    tryNow() {
        if (this.state.is === "waiting") this.wake()
    }

    /** The network is gone, or another one: what is on its way is not believed. */
    drop() { this.asking?.abort() }

    /** A fresh finger first, then the snapshot: it is never older than its finger. */
    async begin(finger) {
        const fresh = finger ?? (await this.sync("")).at
        await this.register()
        this.finger = fresh
        this.reached()
    }

    async follow() {
        // A first question without waiting tells whether anybody is there.
        const wait = this.state.is === "connected" ? WAIT : 0
        const page = await this.sync(`since=${encodeURIComponent(this.finger)}&wait=${wait}&ent=incident,note`)
        if (page.resync) {
            this.finger = null
            return this.begin(page.at)
        }
        if (page.events.length > 0) await this.apply(page.events)
        this.finger = page.at
        this.reached()
    }

    reached() {
        this.retry.reset()
        if (this.state.is !== "connected") this.become({ is: "connected", since: Date.now(), until: null })
    }

    async sync(words) {
        for (const again of [false, true]) {
            const { gateway, token } = await this.enter(again)
            this.asking = new AbortController()
            const deadline = setTimeout(() => this.asking.abort(), (WAIT + 15) * 1000)
            try {
                const answer = await fetch(`${gateway}/sync/v1?${words}`, {
                    headers: { Authorization: `Bearer ${token}` }, signal: this.asking.signal, cache: "no-store",
                })
                const body = await answer.json()
                if (answer.ok) return body
                if (answer.status === 410) return { resync: true, at: body.at }
                // A cursor that the server cannot read is as good as none.
                if (answer.status === 400 && body.code === "bad_cursor") this.finger = null
                if (answer.status !== 401 || again) {
                    const seconds = Number(answer.headers.get("Retry-After"))
                    throw Object.assign(new Error(body.detail), { retryAfter: seconds * 1000 })
                }
            } finally {
                clearTimeout(deadline)
            }
        }
    }

    async pause(error) {
        const wait = error.retryAfter > 0 ? this.retry.waitAfter(error.retryAfter) : this.retry.wait()
        const since = this.state.is === "connected" ? Date.now() : this.state.since
        this.become({ is: "waiting", since, until: Date.now() + wait })
        await new Promise(resolve => {
            const timer = setTimeout(resolve, wait)
            this.wake = () => {
                clearTimeout(timer)
                resolve()
            }
        })
        this.become({ is: "connecting", since, until: null })
    }

    become(state) {
        this.state = state
        this.changed()
    }
}
