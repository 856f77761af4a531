// Which of a browser's tabs holds the connection that all of them share.
//
// Inputs: start {isVisible}, granted (the lock is ours), lost (another tab stole it), visible {isVisible}, freeze, resume
// {isVisible}, received {from, ask | answer | lead | leave}, stop, wake, ceded (the leader, which
// no server lets in, gives its lead to us).
// An answer has {isSlow: true} where its tab has been hidden for long.
// Effects: requestLock, stealLock, releaseLock, post {ask | answer | lead | leave}, lead (open the connection), yield (drop it),
// follow {leader}, audience {isVisible}: whether a person sees one of the tabs.

import { earliestOf } from "./retry.js"

const tabDefaults = {
    /** A follower that is looked at asks its leader so often, in ms, whether it is there. */
    askPause: 5_000,
    /** An answer takes at most so long: a tab that is hidden still answers at once, one that is frozen does not. */
    answerLimit: 2_500,
    /** Questions without an answer, after which the lead is taken. */
    maximumUnanswered: 2,
    /** A tab that was not heard of for so long is not looked at. */
    presence: 15_000,
    /** A leader that has been hidden for so long gives way to a tab that is looked at: browsers slow its timers down. */
    hiddenLimit: 60_000,
}

/** Tabs that a leader counts as looked at; further ones change nothing. */
const maximumMembers = 64

/**
 * The lock decides who leads: it is free again when its tab is closed. A tab that is frozen keeps its lock, so those that are
 * looked at ask, and take the lock of one that does not answer. So they do with one that is slow: within five minutes a browser
 * lets a hidden page run its timers once a minute only, and a stream that was lost would come back no sooner.
 */
export class TabMachine {
    #settings
    /** stopped, frozen, waiting (for the lock or for a leader's word), follower, leader. */
    #role = "stopped"
    #isVisible = false
    #hiddenAt = null
    #leader = null
    /** When to ask next, or when the answer is late. */
    #askAt = null
    #answerAt = null
    #unanswered = 0
    /** Of a leader: the tabs that are looked at, each with when that ends. */
    #members = new Map()
    #hasAudience = false
    #effects = []
    #now = 0

    constructor(settings) { this.#settings = { ...tabDefaults, ...settings } }

    get view() {
        const view = { role: this.#role, hasAudience: this.#role === "leader" && this.#hasAudience }
        if (this.#role === "follower") view.leader = this.#leader
        return view
    }

    get wakeAt() { return earliestOf([this.#askAt, this.#answerAt, ...this.#members.values()]) ?? null }

    handle(input, now) {
        const [[name, values]] = Object.entries(input)
        this.#now = now
        this.#effects = []
        const isRunning = !["stopped", "frozen"].includes(this.#role)
        if (name === "start" && this.#role === "stopped") this.#begin(values.isVisible)
        if (name === "resume" && this.#role === "frozen") this.#begin(values.isVisible)
        if (name === "stop") this.#leave("stopped")
        if (isRunning) this.#take(name, values)
        const effects = this.#effects
        this.#effects = []
        return effects
    }

    #take(name, values) {
        switch (name) {
        case "freeze": return this.#leave("frozen")
        case "granted": return this.#lead()
        case "lost": return this.#lose()
        case "ceded": return this.#role === "follower" ? this.#replace() : undefined
        case "visible": return this.#see(values.isVisible)
        case "received": return this.#receive(values)
        case "wake": return this.#wake()
        }
    }

    #emit(name, values = {}) { this.#effects.push({ [name]: values }) }

    #begin(isVisible) {
        this.#show(isVisible)
        this.#wait()
        this.#emit("requestLock")
        this.#ask()
    }

    #show(isVisible) {
        this.#isVisible = isVisible
        this.#hiddenAt = isVisible ? null : this.#now
    }

    #wait() {
        this.#role = "waiting"
        this.#leader = null
        this.#unanswered = 0
    }

    /** Says that we are here, and whether anybody looks. Only who is looked at insists on an answer. */
    #ask() {
        this.#askAt = null
        this.#answerAt = this.#isVisible ? this.#now + this.#settings.answerLimit : null
        this.#emit("post", { ask: { isVisible: this.#isVisible } })
    }

    #lead() {
        if (this.#role === "leader") return
        this.#role = "leader"
        this.#leader = this.#askAt = this.#answerAt = null
        this.#hasAudience = this.#isVisible
        this.#emit("lead")
        this.#emit("audience", { isVisible: this.#hasAudience })
        this.#emit("post", { lead: {} })
    }

    #yield() {
        if (this.#role !== "leader") return
        this.#members.clear()
        this.#emit("yield")
    }

    #lose() {
        if (this.#role !== "leader") return
        this.#yield()
        this.#wait()
        this.#emit("requestLock")
        this.#ask()
    }

    #leave(role) {
        if (["stopped", "frozen"].includes(this.#role)) {
            if (role === "stopped") this.#role = role
            return
        }
        this.#yield()
        this.#emit("releaseLock")
        this.#emit("post", { leave: {} })
        this.#role = role
        this.#leader = this.#askAt = this.#answerAt = null
    }

    #see(isVisible) {
        if (isVisible === this.#isVisible) return
        this.#show(isVisible)
        this.#unanswered = 0
        if (this.#role === "leader") this.#count()
        else this.#ask()
    }

    #receive({ from, ask, answer, lead, leave }) {
        if (this.#role === "leader") {
            if (ask) this.#admit(from, ask.isVisible)
            if (leave && this.#members.delete(from)) this.#count()
        } else if (answer?.isSlow && this.#isVisible && this.#role === "follower") {
            this.#replace()
        } else if (answer || lead) {
            this.#follow(from, lead !== undefined)
        } else if (leave && from === this.#leader) {
            this.#wait()
            this.#ask()
        }
    }

    #admit(from, isVisible) {
        const isKnown = this.#members.has(from)
        if (!isVisible) this.#members.delete(from)
        else if (isKnown || this.#members.size < maximumMembers) this.#members.set(from, this.#now + this.#settings.presence)
        const isSlow = this.#hiddenAt !== null && this.#now - this.#hiddenAt >= this.#settings.hiddenLimit
        this.#emit("post", { answer: isSlow ? { isSlow } : {} })
        this.#count()
    }

    /** Takes the lead. Until the lock comes nobody is asked: an answer of who has it still would count as its word. */
    #replace() {
        this.#wait()
        this.#askAt = null
        this.#answerAt = this.#now + this.#settings.answerLimit
        this.#emit("stealLock")
    }

    #follow(leader, isNew) {
        if (this.#role !== "follower" || this.#leader !== leader) {
            this.#role = "follower"
            this.#leader = leader
            this.#emit("follow", { leader })
        }
        this.#unanswered = 0
        // A new leader does not know yet which tabs are visible.
        if (isNew) return this.#ask()
        this.#answerAt = null
        this.#askAt = this.#isVisible ? this.#now + this.#settings.askPause : null
    }

    /** Notifies of the audience where it has changed. */
    #count() {
        const hasAudience = this.#isVisible || this.#members.size > 0
        if (hasAudience === this.#hasAudience) return
        this.#hasAudience = hasAudience
        this.#emit("audience", { isVisible: hasAudience })
    }

    #wake() {
        if (this.#role === "leader") {
            for (const [member, until] of this.#members) if (until <= this.#now) this.#members.delete(member)
            return this.#count()
        }
        if (this.#answerAt !== null && this.#answerAt <= this.#now) {
            this.#unanswered += 1
            if (this.#unanswered >= this.#settings.maximumUnanswered) {
                this.#wait()
                this.#emit("stealLock")
            }
            return this.#ask()
        }
        if (this.#askAt !== null && this.#askAt <= this.#now) this.#ask()
    }
}
