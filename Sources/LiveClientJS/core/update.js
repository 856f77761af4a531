// Keeps an area of state as the server has it, and knows how far it can be trusted (UpdateMachine.swift, CLIENT.md).
import { freshnessOf } from "./freshness.js"
import { Retry } from "./retry.js"
import { UpdateCore, caseOf } from "./updatecore.js"

/** So long, at most, what a resync asks for is put off where many are told of it together, in ms. */
const maximumSpread = 3_000

/** Whether what a refresh has asked for is there; false: it cannot be had now; undefined: it is on its way. */
export function refreshEnded({ state, freshness, isUnauthorized, end }) {
    const isPutOff = state.registerFailed ?? state.pollFailed ?? state.idle
    if (isUnauthorized || end || isPutOff || ("stale" in state && "cannotConnect" in freshness)) return false
    return "connected" in freshness || "sourceStalled" in freshness || undefined
}

/**
 * Registers (a fresh finger, then the app's snapshot, then everything since the finger), collects events in batches,
 * has each thing that they name reloaded, and moves state and finger together. What cannot be given makes it stale.
 */
export class UpdateMachine extends UpdateCore {
    /** Handles one input, `{name: {…}}`, and returns what is to be done, in order. */
    handle(input, now) {
        this._now = now
        const name = caseOf(input)
        this._take(name, input[name])
        if (!this._is("notLoaded")) this._advance()
        else if (this._commitRetryAt <= now) {
            this._commitRetryAt = undefined
            this._emit("load")
        }
        const isConnected = "connected" in freshnessOf(this._facts, now)
        this._leftConnected = isConnected ? undefined : this._leftConnected ?? now
        const effects = this._effects
        this._effects = []
        return effects
    }

    _take(name, { number, at, failure, events, ...input }) {
        const isNow = asked => number !== undefined && number === asked
        const isFollowed = isNow(this._followNumber), isPolled = isNow(this._pollNumber), isRegistering = isNow(this._phase?.number)
        switch (name) {
        case "start": if (this._is("notLoaded")) this._emit("load"); break
        case "loaded": this._loaded(input.stored); break
        case "shown": this._shown(input); break
        case "loadFailed": this._loadFailed(); break
        case "storeLost": this._storeLost(); break
        case "wake": break
        case "foreground": this._foreground(); break
        case "background": this._background(); break
        case "network": this._network(input.isSatisfied); break
        case "token": this._token(input.isValid); break
        case "tokenFailed": this._tokenFailed(); break
        case "ended": this._ended(input.error); break
        case "refresh": this._refresh(); break
        case "check": this._pending._check(input.thing, this._now); break
        case "finger": if (isRegistering) this._finger(at); break
        case "snapshot": if (isRegistering) this._phase = { storing: true }; break
        case "fingerFailed":
        case "snapshotFailed": if (isRegistering) this._registerFailed({ request: { failure } }); break
        case "events": if (isFollowed) this._collect(events, at); break
        case "live": if (isFollowed) this._caughtUp(at); break
        case "resync": if (isFollowed) this._resync(at, input.isEpoch); break
        case "source": if (isFollowed) this._stalledSince = input.stalledSince; break
        case "lost": if (isFollowed) this._lost(input.after); break
        case "page": if (isPolled) this._page(events, at, input.more); break
        case "pageResync": if (isPolled) this._resync(at, input.isEpoch); break
        case "pageFailed": if (isPolled) this._pageFailed(number, failure); break
        case "reloaded": this._pending._reloaded(number, input.outcome); break
        case "reloadFailed": this._reloadFailed(number, failure); break
        case "committed": this._committed(number); break
        case "commitFailed": this._commitFailed(number); break
        default: throw new TypeError(`no such input: ${name}`)
        }
    }

    /** Whether what screens show is as the server has it, and whether some of it could not be fetched. */
    _shown({ isComplete, hasFailed }) {
        this._incompleteSince = isComplete ? undefined : this._incompleteSince ?? this._now
        this._hasFailedToShow = hasFailed
    }

    _loaded(stored) {
        if (!this._is("notLoaded")) return
        this._commitRetryAt = undefined
        this._commitRetry.reset()
        if (!this._isInMemory) this._storeFailures = 0
        this._metadata = { ...stored }
        const { lastSuccess } = this._metadata
        // The clock was set back since then: only the server knows how old the state is.
        if (lastSuccess !== undefined) this._metadata.lastSuccess = Math.min(lastSuccess, this._now)
        else delete this._metadata.finger
        this._state = { stale: {} }
        this._expire()
        if (this._metadata.finger === undefined) delete this._metadata.knownStale
        else {
            this._pending._restore(this._metadata.knownStale ?? [], this._now)
            this._open()
        }
    }

    /** Does whatever is due. */
    _advance() {
        this._expire()
        if (this._tokenRetryAt <= this._now && this._isForeground && this._hasNetwork) {
            this._tokenRetryAt = undefined
            this._emit("requestToken")
        }
        const now = this._now, mayTry = this._isForeground && this._canAsk && !(this._attemptAt > now)
        if (mayTry && (this._is("stale") || this._is("registerFailed"))) this._register()
        else if (mayTry && this._is("pollFailed")) this._open()
        else if (this._state.idle?.nextPoll <= now && this._pollNumber === undefined) this._poll()
        if (this._mayReload) {
            const mayRetry = this._isForeground || this._pollNumber !== undefined
            this._effects.push(...this._pending._begin(now, mayRetry, () => this._lastNumber += 1))
        }
        this._beginCommit()
    }

    _register() {
        this._metadata.lastAttempt = this._now
        this._state = { registering: {} }
        if (this._fresh && this._now < this._fresh.came + this._settings.retention) return this._requestSnapshot()
        this._forgetFresh()
        this._phase = { number: this._ask("requestFinger") }
    }

    _requestSnapshot() { this._phase = { number: this._ask("requestSnapshot") } }

    _finger(at) {
        this._fresh = { at, came: this._now }
        this._requestSnapshot()
    }

    /** What fails throws the finger away, and what was collected since. */
    _registerFailed(cause) {
        this._phase = undefined
        this._forgetFresh()
        const failure = cause.request?.failure ?? {}
        if ("unauthorized" in failure) {
            this._state = { stale: {} }
            this._unauthorized()
        } else {
            this._failures += 1
            this._failUntil("registerFailed", this._retry.waitAfter(failure.retry?.after), cause)
        }
    }

    // MARK: The app and its device, and the stream that it follows

    _foreground() {
        if (this._isForeground) return
        this._isForeground = true
        // A person who returns is not shown a gap from the time away.
        this._leftConnected = undefined
        this._expire()
        this._retryNow()
        if (!this._is("idle")) return
        this._cancelPoll()
        this._open()
    }

    _background() {
        if (!this._isForeground) return
        this._isForeground = false
        if (this._is("registering") && !this._phase?.storing) return this._becomeStale()
        this._unfollow()
        if (this._is("live") || this._is("pollFailed")) this._rest()
    }

    _network(isSatisfied) {
        if (isSatisfied && !this._hasNetwork) this._retryNow()
        this._hasNetwork = isSatisfied
    }

    _token(isValid) {
        this._tokenRetryAt = undefined
        if (!isValid) {
            this._hasToken = false
            this._isUnauthorized = true
            return
        }
        if (this._isUnauthorized) this._hasAskedForToken = false
        this._isUnauthorized = false
        this._hasToken = true
        this._tokenRetry.reset()
        this._lastNumberBeforeToken = this._lastNumber
        this._retryNow()
    }

    /** No answer: nobody knows whether somebody is signed in. It is asked for again, in the foreground and with a network. */
    _tokenFailed() {
        if (this._hasToken || this._isUnauthorized || this._end) return
        this._tokenRetryAt = this._now + this._tokenRetry.wait()
    }

    /** For good: what is known stays, and what was asked for the connection is given up. */
    _ended(error) {
        if (this._end) return
        this._end = error
        this._tokenRetryAt = undefined
        if (this._is("registering") && !this._phase?.storing) return this._becomeStale()
        this._unfollow()
        if (this._is("live")) this._open()
        if (!this._is("idle")) return
        this._cancelPoll()
        this._rest()
    }

    _refresh() {
        if (this._tokenRetryAt !== undefined) this._tokenRetryAt = this._now
        if (!this._isForeground || !this._canAsk) return
        this._retryNow()
        if (this._is("live")) this._fetchAgain()
    }

    /**
     * Has everything fetched again. The stream goes on: what it has brought so far is in a snapshot that begins now, and what
     * it brings from now on follows that.
     */
    _fetchAgain() {
        const cursor = this._cursor
        if (this._followNumber === undefined || cursor === undefined) return this._becomeStale()
        const { _caughtUpAt: caughtUpAt } = this, came = this._metadata.lastSuccess ?? this._now
        this._becomeStale(cursor)
        this._caughtUpAt = caughtUpAt
        // While something is still missing, the cursor is as old as the state.
        if (caughtUpAt === undefined) this._fresh.came = came
    }

    /** Makes whatever waits for a time due. */
    _retryNow() {
        const waiting = this._waiting
        if (waiting) this._state = { [caseOf(this._state)]: { ...waiting, retryAt: this._now } }
        this._pending._retryNow(this._now)
        this._registerAt = undefined
        if (this._commitRetryAt !== undefined) this._commitRetryAt = this._now
        if (this._tokenRetryAt !== undefined) this._tokenRetryAt = this._now
    }

    /** Goes on from the finger: with a stream in the foreground, by polls or not at all in the background. */
    _open() {
        if (!this._isForeground) return this._rest()
        if (!this._canAsk) return this._failUntil("pollFailed", 0, { notAsked: {} })
        this._state = { live: {} }
        const since = this._cursor
        if (this._followNumber !== undefined || since === undefined) return
        this._followNumber = this._ask("follow", { since })
        this._metadata.lastAttempt = this._now
    }

    /** Up to a tenth later than the interval says: clients that went to the background together do not ask together for ever. */
    _rest(asked = 0) {
        const { pollInterval } = this._settings
        this._state = { idle: { nextPoll: undefined } }
        if (pollInterval === undefined || this._end) return
        const spread = this._pollJitter.milliseconds(0, Math.floor(pollInterval / 10))
        this._state = { idle: { nextPoll: this._now + Math.max(pollInterval + spread, asked) } }
    }

    /** Whether the stream is open and a snapshot is to be begun: what comes meanwhile is in that. */
    get _awaitsSnapshot() { return this._followNumber !== undefined && (this._is("stale") || this._is("registerFailed")) }

    _collect(events, at) {
        // A snapshot that has not begun will contain all of it.
        if (this._awaitsSnapshot) {
            this._fresh = { at, came: this._now }
            return
        }
        const { entities, maximumPending } = this._settings
        const ours = entities.length === 0 ? events : events.filter(event => entities.includes(event.thing.entity))
        this._pending._add(ours, at, this._now, this._commit?.batches ?? 0)
        if (this._pending._count > maximumPending) this._overflow()
    }

    /**
     * One snapshot costs less than so many reloads. But snapshots one after the other, by all clients of a busy account, come
     * when the API is slow already: only the first is taken at once.
     */
    _overflow() {
        if (this._isCalm) this._overflowRetry.reset()
        const isFirst = this._overflowRetry.failures === 0
        const wait = this._overflowRetry.wait()
        this._fetchAgain()
        if (!isFirst) this._failUntil("registerFailed", wait, { overflow: {} })
    }

    /** Whether there was nothing to be fetched as a whole for long. */
    get _isCalm() {
        const since = Math.max(this._caughtUpAt ?? NaN, this._snapshotAt ?? -Infinity)
        return this._is("live") && this._now - since >= Retry.calm
    }

    _caughtUp(at) {
        this._caughtUpAt ??= this._now
        this._failures = 0
        this._collect([], at)
    }

    /** All are told of a new epoch at once; and a server that sends one resync after the other is asked for less. */
    _resync(at, isEpoch) {
        this._pollNumber = undefined
        this._resyncs = this._isCalm ? 1 : this._resyncs + 1
        this._becomeStale(at)
        if (isEpoch || this._resyncs % 2 === 0) this._registerAt = this._now + this._resyncJitter.milliseconds(0, maximumSpread)
    }

    _lost(after) {
        if (this._caughtUpAt !== undefined && this._now - this._caughtUpAt >= Retry.calm) this._retry.reset()
        this._closed()
        // A machine that registers continues where the stream ended, once the snapshot has arrived.
        if (!this._is("live")) return
        this._failures += 1
        this._failUntil("pollFailed", this._retry.wait(after), { lost: {} })
    }

    _poll() {
        this._rest()
        const since = this._cursor
        if (!this._canAsk || since === undefined) return
        this._metadata.lastAttempt = this._now
        this._pending._retryNow(this._now)
        this._pollNumber = this._ask("poll", { since })
    }

    _page(events, at, more) {
        this._pollNumber = undefined
        this._collect(events, at)
        if (more && this._metadata.finger !== undefined) this._poll()
    }

    _pageFailed(number, failure) {
        this._pollNumber = undefined
        this._noteRefusal(number, failure)
        // The cursor is invalid: asking again would change nothing.
        if (failure.rejected?.status === 400) this._becomeStale()
        const after = failure.retry?.after
        if (after !== undefined) this._rest(new Retry(this._pollJitter.next()).waitAfter(after))
    }

    _reloadFailed(number, failure) {
        if (this._pending._failed(number, failure, this._now)) this._noteRefusal(number, failure)
    }

    /** What was asked before the newest token came says nothing of it. */
    _noteRefusal(number, failure) {
        if ("unauthorized" in failure && number > this._lastNumberBeforeToken) this._unauthorized()
    }
}
