// Which of the tabs that share a store of actions sends them: the lock and the channel around a TabMachine.
import { TabMachine } from "../core/tabs.js"
import { isActionWord } from "../core/tabwords.js"
import { holdLock, randomName, setDue, watchPage } from "./environment.js"

/** One tab of those that share a store of actions. */
export class ActionTabs {
    #environment
    #name
    #on
    #id
    #machine = new TabMachine()
    #channel
    #timer = null
    /** Ends our lock, or our wish for it. */
    #lock = null
    #unwatch
    #isLeader = false
    #isClosed = false

    /**
     * @param name of the store, for the lock and the channel
     * @param on `lead()`, `yield()`, `received(message)`, which others have posted; and of who leads `asked()`, each few
     *     seconds while another tab is looked at: a hidden one's own timers come once a minute
     */
    constructor(environment, name, on) {
        const { BroadcastChannel, page } = environment
        this.#environment = environment
        this.#name = `livegate actions ${name}`
        this.#on = on
        this.#id = randomName(environment)
        this.#channel = new BroadcastChannel(this.#name)
        this.#channel.onmessage = ({ data }) => { if (isActionWord(data)) this.#receive(data) }
        const isVisible = () => page?.document ? page.document.visibilityState !== "hidden" : true
        this.#step({ start: { isVisible: isVisible() } })
        this.#unwatch = watchPage(page, {
            visible: isVisible => this.#step({ visible: { isVisible } }), frozen: () => this.#step({ freeze: {} }),
            resumed: isVisible => this.#step({ resume: { isVisible } }), path: () => {},
        })
    }

    /** Whether this one sends, as far as it knows: one that was frozen learns late that it does not any more. */
    get isLeader() { return this.#isLeader }

    /** Tells the other tabs; none, once it is closed: a channel throws then. */
    post(message) { if (!this.#isClosed) this.#channel.postMessage({ from: this.#id, message }) }

    close() {
        this.#unwatch()
        this.#step({ stop: {} })
        this.#isClosed = true
        this.#environment.clearTimer(this.#timer)
        this.#channel.close()
    }

    /** What has no `message` is a word of one TabMachine to the others. */
    #receive({ from, message, ...word }) {
        if (message) return this.#on.received(message)
        this.#step({ received: { from, ...word } })
        if (word.ask && this.#isLeader) this.#on.asked()
    }

    #step(input) {
        for (const effect of this.#machine.handle(input, this.#environment.now())) this.#carryOut(effect)
        this.#timer = setDue(this.#environment, this.#timer, this.#machine.wakeAt, () => this.#step({ wake: {} }))
    }

    #carryOut(effect) {
        const [[name, values]] = Object.entries(effect)
        switch (name) {
        case "requestLock": return this.#request(false)
        case "stealLock": return this.#request(true)
        case "releaseLock": return this.#release()
        case "post": return this.#channel.postMessage({ from: this.#id, ...values })
        case "lead":
            this.#isLeader = true
            return this.#on.lead()
        case "yield":
            this.#isLeader = false
            return this.#on.yield()
        }
    }

    #release() {
        this.#lock?.()
        this.#lock = null
    }

    #request(steal) {
        this.#release()
        // Another tab has the lock; or this page gets no locks, and sends for itself.
        const lost = () => this.#step(this.#isLeader ? { lost: {} } : { granted: {} })
        this.#lock = holdLock(this.#environment, this.#name, steal, () => this.#step({ granted: {} }), lost)
    }
}
