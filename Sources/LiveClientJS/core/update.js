// Keeps an area of state as the server has it, and knows how far it can be trusted (UpdateMachine.swift, CLIENT.md).
import { freshnessOf } from "./freshness.js"
import { waitFor } from "./pending.js"
import { Retry } from "./retry.js"
import { UpdateCore, caseOf } from "./updatecore.js"

/**
 * Registers (a fresh finger, then the app's snapshot, then everything since the finger), collects events in batches,
 * has each thing that they name reloaded, and moves state and finger together. What cannot be given makes it stale.
 */
export class UpdateMachine extends UpdateCore {
    /** Handles one input, `{name: {…}}`, and returns what is to be done, in order. */
    handle(input, now) {
        this.now = now
        const name = caseOf(input)
        this.take(name, input[name])
        if (!this.is("notLoaded")) this.advance()
        const isConnected = "connected" in freshnessOf(this.facts, now)
        this.leftConnected = isConnected ? undefined : this.leftConnected ?? now
        const effects = this.effects
        this.effects = []
        return effects
    }

    take(name, { number, at, failure, events, ...input }) {
        const isFollowed = number !== undefined && number === this.followNumber
        switch (name) {
        case "start": if (this.is("notLoaded")) this.effects.push({ load: {} }); break
        case "loaded": this.loaded(input.stored); break
        case "wake": break
        case "foreground": this.foreground(); break
        case "background": this.background(); break
        case "network": this.network(input.isSatisfied); break
        case "token": this.token(input.isValid); break
        case "tokenFailed": this.tokenFailed(); break
        case "ended": this.ended(input.error); break
        case "refresh": this.refresh(); break
        case "finger": this.finger(number, at); break
        case "fingerFailed": if (this.phase?.finger === number) this.registerFailed({ request: { failure } }); break
        case "snapshot": if (this.phase?.snapshot === number) this.phase = { storing: true }; break
        case "snapshotFailed": if (this.phase?.snapshot === number) this.registerFailed({ request: { failure } }); break
        case "events": if (isFollowed) this.collect(events, at); break
        case "live": if (isFollowed) this.caughtUp(at); break
        case "resync": if (isFollowed) this.resync(at); break
        case "source": if (isFollowed) this.stalledSince = input.stalledSince; break
        case "lost": if (isFollowed) this.lost(input.after); break
        case "page": this.page(number, events, at, input.more); break
        case "pageResync": if (number === this.pollNumber) this.resync(at); break
        case "pageFailed": this.pageFailed(number, failure); break
        case "reloaded": this.pending.reloaded(number, input.outcome); break
        case "reloadFailed": this.reloadFailed(number, failure); break
        case "committed": this.committed(number); break
        case "commitFailed": this.commitFailed(number); break
        default: throw new Error(`no input of an update machine: ${name}`)
        }
    }

    loaded(stored) {
        if (!this.is("notLoaded")) return
        this.metadata = { ...stored }
        const { lastSuccess } = this.metadata
        // The clock was turned back since: how old it is, only the server knows.
        if (lastSuccess !== undefined) this.metadata.lastSuccess = Math.min(lastSuccess, this.now)
        else delete this.metadata.finger
        this.state = { stale: {} }
        this.expire()
        if (this.metadata.finger !== undefined) this.open()
    }

    /** Does whatever is due. */
    advance() {
        this.expire()
        if (this.tokenRetryAt <= this.now && this.isForeground && this.hasNetwork) {
            this.tokenRetryAt = undefined
            this.effects.push({ requestToken: {} })
        }
        const [mayTry, now] = [this.isForeground && this.canAsk, this.now]
        const name = caseOf(this.state)
        if (name === "stale" && mayTry) this.register()
        else if (name === "registerFailed" && mayTry && this.retryAt <= now) this.register()
        else if (name === "pollFailed" && mayTry && this.retryAt <= now) this.open()
        else if (name === "idle" && this.state.idle.nextPoll <= now && this.pollNumber === undefined) this.poll()
        if (this.mayReload) {
            const mayRetry = this.isForeground || this.pollNumber !== undefined
            this.effects.push(...this.pending.begin(now, mayRetry, () => this.number()))
        }
        this.beginCommit()
    }

    register() {
        this.metadata.lastAttempt = this.now
        this.state = { registering: {} }
        if (this.fresh && this.now < this.fresh.came + this.settings.retention) return this.requestSnapshot()
        this.forgetFresh()
        const number = this.number()
        this.phase = { finger: number }
        this.effects.push({ requestFinger: { number } })
    }

    requestSnapshot() {
        const number = this.number()
        this.phase = { snapshot: number }
        this.effects.push({ requestSnapshot: { number } })
    }

    finger(number, at) {
        if (this.phase?.finger !== number) return
        this.fresh = { at, came: this.now }
        this.requestSnapshot()
    }

    /** What fails throws the finger away, and what was collected since. */
    registerFailed(cause) {
        this.phase = undefined
        this.forgetFresh()
        const failure = cause.request?.failure ?? {}
        if ("unauthorized" in failure) {
            this.state = { stale: {} }
            this.unauthorized()
        } else {
            this.failures += 1
            const retryAt = this.now + waitFor(failure, this.retry)
            this.state = { registerFailed: { retryAt, failures: this.failures, cause } }
        }
    }

    // MARK: What is around it, and the stream that it follows

    foreground() {
        if (this.isForeground) return
        this.isForeground = true
        // People who come back are not shown what went on without them.
        this.leftConnected = undefined
        this.expire()
        this.retryNow()
        if (!this.is("idle")) return
        if (this.pollNumber !== undefined) this.effects.push({ cancel: { number: this.pollNumber } })
        this.pollNumber = undefined
        this.open()
    }

    background() {
        if (!this.isForeground) return
        this.isForeground = false
        if (this.is("registering") && !this.phase?.storing) return this.becomeStale()
        this.unfollow()
        if (this.is("live") || this.is("pollFailed")) this.rest()
    }

    network(isSatisfied) {
        if (isSatisfied && !this.hasNetwork) this.retryNow()
        this.hasNetwork = isSatisfied
    }

    token(isValid) {
        this.tokenRetryAt = undefined
        if (!isValid) {
            this.hasToken = false
            this.isUnauthorized = true
            return
        }
        if (this.isUnauthorized) this.hasAskedForToken = false
        this.isUnauthorized = false
        this.hasToken = true
        this.tokenRetry.reset()
        this.lastNumberBeforeToken = this.lastNumber
        this.retryNow()
    }

    /** No answer: nobody knows whether somebody is signed in. It is asked for again, in the foreground and with a network. */
    tokenFailed() {
        if (this.hasToken || this.isUnauthorized || this.end) return
        this.tokenRetryAt = this.now + this.tokenRetry.wait()
    }

    /** For good: what is known stays, and what was asked for the connection is given up. */
    ended(error) {
        if (this.end) return
        this.end = error
        this.tokenRetryAt = undefined
        if (this.is("registering") && !this.phase?.storing) return this.becomeStale()
        this.unfollow()
        if (this.is("live")) this.open()
        if (!this.is("idle")) return
        if (this.pollNumber !== undefined) this.effects.push({ cancel: { number: this.pollNumber } })
        this.pollNumber = undefined
        this.rest()
    }

    refresh() {
        if (this.tokenRetryAt !== undefined) this.tokenRetryAt = this.now
        if (!this.isForeground || !this.canAsk) return
        this.retryNow()
        if (this.is("live")) this.fetchAgain()
    }

    /**
     * Has everything fetched again. The stream goes on: what it has brought so far is in a snapshot that begins now, and what
     * it brings from now on follows that.
     */
    fetchAgain() {
        const cursor = this.pending.lastCursor ?? this.metadata.finger
        if (this.followNumber === undefined || cursor === undefined) return this.becomeStale()
        const { caughtUpAt } = this, came = this.metadata.lastSuccess ?? this.now
        this.becomeStale(cursor)
        this.caughtUpAt = caughtUpAt
        // While something is missed yet, the cursor is as old as the state.
        if (caughtUpAt === undefined) this.fresh.came = came
    }

    /** Makes whatever waits for a time due. */
    retryNow() {
        const waiting = this.state.registerFailed ?? this.state.pollFailed
        if (waiting) this.state = { [caseOf(this.state)]: { ...waiting, retryAt: this.now } }
        this.pending.retryNow(this.now)
        if (this.commitRetryAt !== undefined) this.commitRetryAt = this.now
        if (this.tokenRetryAt !== undefined) this.tokenRetryAt = this.now
    }

    /** Goes on from the finger: with a stream in the foreground, by polls or not at all in the background. */
    open() {
        if (!this.isForeground) return this.rest()
        if (!this.canAsk) {
            this.state = { pollFailed: { retryAt: this.now, failures: this.failures, cause: { notAsked: {} } } }
            return
        }
        this.state = { live: {} }
        const since = this.pending.lastCursor ?? this.metadata.finger
        if (this.followNumber !== undefined || since === undefined) return
        const number = this.number()
        this.followNumber = number
        this.metadata.lastAttempt = this.now
        this.effects.push({ follow: { number, since } })
    }

    /** Up to a tenth later than the interval says: clients that went to the background together do not ask together for ever. */
    rest(asked = 0) {
        const { pollInterval } = this.settings
        this.state = { idle: { nextPoll: undefined } }
        if (pollInterval === undefined || this.end) return
        const spread = this.pollJitter.milliseconds(0, Math.floor(pollInterval / 10))
        this.state = { idle: { nextPoll: this.now + Math.max(pollInterval + spread, asked) } }
    }

    /** Whether the stream is open and a snapshot is to be begun: what comes meanwhile is in that. */
    get awaitsSnapshot() { return this.followNumber !== undefined && (this.is("stale") || this.is("registerFailed")) }

    collect(events, at) {
        // A snapshot that has not begun will have all of it.
        if (this.awaitsSnapshot) {
            this.fresh = { at, came: this.now }
            return
        }
        const { entities, maximumPending } = this.settings
        const ours = entities.length === 0 ? events : events.filter(event => entities.includes(event.thing.entity))
        this.pending.add(ours, at, this.now, this.commit?.batches ?? 0)
        if (this.pending.count > maximumPending) this.overflow()
    }

    /**
     * One snapshot costs less than so many reloads. But snapshots one after the other, by all clients of a busy account, come
     * when the API is slow already: only the first is taken at once.
     */
    overflow() {
        if (this.is("live") && this.now - this.calmSince >= Retry.calm) this.overflowRetry.reset()
        const isFirst = this.overflowRetry.failures === 0
        const wait = this.overflowRetry.wait()
        this.fetchAgain()
        if (isFirst) return
        this.state = { registerFailed: { retryAt: this.now + wait, failures: this.failures, cause: { overflow: {} } } }
    }

    /** Since when there was nothing to be fetched as a whole; NaN: it is not caught up. */
    get calmSince() { return Math.max(this.caughtUpAt ?? NaN, this.snapshotAt ?? -Infinity) }

    caughtUp(at) {
        this.caughtUpAt ??= this.now
        this.failures = 0
        this.collect([], at)
    }

    resync(at) {
        this.pollNumber = undefined
        this.becomeStale(at)
    }

    lost(after) {
        if (this.caughtUpAt !== undefined && this.now - this.caughtUpAt >= Retry.calm) this.retry.reset()
        this.closed()
        // Whoever registers goes on where the stream ended, once the snapshot is there.
        if (!this.is("live")) return
        this.failures += 1
        const retryAt = this.now + this.retry.wait(after)
        this.state = { pollFailed: { retryAt, failures: this.failures, cause: { lost: {} } } }
    }

    poll() {
        this.rest()
        const since = this.pending.lastCursor ?? this.metadata.finger
        if (!this.canAsk || since === undefined) return
        const number = this.number()
        this.pollNumber = number
        this.metadata.lastAttempt = this.now
        this.pending.retryNow(this.now)
        this.effects.push({ poll: { number, since } })
    }

    page(number, events, at, more) {
        if (number !== this.pollNumber) return
        this.pollNumber = undefined
        this.collect(events, at)
        if (more && this.metadata.finger !== undefined) this.poll()
    }

    pageFailed(number, failure) {
        if (number !== this.pollNumber) return
        this.pollNumber = undefined
        const isRefused = "unauthorized" in failure && number > this.lastNumberBeforeToken
        if (isRefused) this.unauthorized()
        // The cursor cannot be read: asking again would change nothing.
        if (failure.rejected?.status === 400) this.becomeStale()
        const after = failure.retry?.after
        if (after !== undefined) this.rest(new Retry(this.pollJitter.next()).waitAfter(after))
    }

    reloadFailed(number, failure) {
        if (!this.pending.failed(number, failure, this.now)) return
        if ("unauthorized" in failure && number > this.lastNumberBeforeToken) this.unauthorized()
    }
}
