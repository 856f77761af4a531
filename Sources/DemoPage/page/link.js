// What comes from the gateway, by the module's client, in the order in which it comes: a snapshot behind a finger, then
// what follows it. An update is dealt with when what it names has been fetched; what fails is tried again.

import { Retry } from "../../LiveClientJS/core/retry.js"
import { connect } from "../../LiveClientJS/shell/client.js"

/** So many events that wait say no more than that everything is to be fetched. */
const MAXIMUM_WAITING = 1_000

export class Link {
    /**
     * - enter(again): a promise of { gateway, token, account }.
     * - register(): fetches the app's snapshot. apply(events): fetches what the events name.
     * - changed(): `state` is another.
     */
    constructor({ enter, register, apply, changed }) {
        Object.assign(this, { enter, register, apply, changed })
        this.retry = new Retry(crypto.getRandomValues(new Uint32Array(1))[0])
        /** "connected", or not, since when. */
        this.state = { is: "connecting", since: Date.now() }
        this.isOpen = false
        this.isFailing = false
        /** Nothing is known yet, or what is known is not what the events lead on from. */
        this.isStale = true
        this.events = []
        this.isWorking = false
        this.wake = () => {}
    }

    /** Begins to follow; tried again until the gateway's address is known. */
    async run() {
        const session = await this.untilDone(() => this.enter(false))
        this.client = connect({
            url: `${session.gateway}/live/v1`, entities: ["incident"], account: session.account, share: true,
            token: async ({ fresh }) => (await this.enter(fresh)).token,
        })
        this.client.subscribe(update => this.take(update))
        this.client.watch(state => {
            if (!state.connected) this.isOpen = false
            this.settle()
        })
    }

    take(update) {
        if (update.event) this.events.push(update.event)
        if (update.resync || this.events.length > MAXIMUM_WAITING) {
            // What follows is behind the snapshot that is begun now.
            this.isStale = true
            this.events = []
        }
        if (update.live) this.isOpen = true
        if (update.disconnected) this.isOpen = false
        this.settle()
        this.work()
    }

    /** One after the other. Nothing is fetched before the stream runs: so the snapshot is never older than it. */
    async work() {
        if (this.isWorking) return
        this.isWorking = true
        while (this.isOpen && (this.isStale || this.events.length > 0)) {
            if (this.isStale) {
                this.isStale = false
                // A resync meanwhile makes it stale again.
                await this.untilDone(() => this.register())
            } else {
                const events = this.events
                this.events = []
                await this.untilDone(() => this.apply(events))
            }
        }
        this.isWorking = false
    }

    async untilDone(ask) {
        for (;;) {
            try {
                const answer = await ask()
                this.retry.reset()
                this.isFailing = false
                this.settle()
                return answer
            } catch (error) {
                this.isFailing = true
                this.settle()
                await this.pause(error.retryAfter ? this.retry.waitAfter(error.retryAfter) : this.retry.wait())
            }
        }
    }

    pause(milliseconds) {
        return new Promise(resolve => {
            const timer = setTimeout(resolve, milliseconds)
            this.wake = () => {
                clearTimeout(timer)
                resolve()
            }
        })
    }

    /** Something has changed that makes it worth while: the network, the foreground. */
    tryNow() { this.wake() }

    settle() {
        const is = this.isOpen && !this.isFailing ? "connected" : "connecting"
        if (is === this.state.is) return
        this.state = { is, since: Date.now() }
        this.changed()
    }
}
