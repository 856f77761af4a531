// What an update machine knows, how it gives up what it cannot keep, and how state and cursor held move together
// (UpdateMachine.swift, UpdateMachine+Committing.swift).
import { freshnessOf, nextFreshnessChange, signOf } from "./freshness.js"
import { PendingEvents } from "./pending.js"
import { Jitter, Retry, earliestOf } from "./retry.js"

const updateDefaults = {
    entities: [], retention: 86_400_000, maximumPending: 1_000, patience: 5_000, seed: 1,
}

/** So many failures of the store in a row, reading or writing, and the app goes on in memory. */
const maximumStoreFailures = 3

/** The name of a state's, an input's or an effect's only member. */
export function caseOf(value) {
    return Object.keys(value)[0]
}

/** What a machine is made of; see `UpdateMachine`. */
export class UpdateCore {
    _state = { notLoaded: {} }
    _metadata = {}

    // The app and its device.
    _isForeground = true
    _hasNetwork = true
    _hasToken = true
    /** A new token was asked for since the last success: another 401 stops it. */
    _hasAskedForToken = false
    _isUnauthorized = false
    _tokenRetryAt
    /** Why nothing is asked any more: the connection has ended for good. */
    _end

    /** What registering waits for: the `{number}` of a finger or of a snapshot, or `{storing: true}`. */
    _phase
    /** The finger of the snapshot that is under way, or the one that came with a resync for the next: `{at, came}`. */
    _fresh

    // The stream.
    _followNumber
    /** When everything missed had been given. */
    _caughtUpAt
    _stalledSince
    /** Since when what screens show is not as the server has it; and whether that could not be fetched. */
    _incompleteSince
    _hasFailedToShow = false
    /** When a snapshot became the state. */
    _snapshotAt
    _pollNumber
    /** Failed attempts since the last success. */
    _failures = 0
    /** Resyncs in a row, and when what they ask for is begun; undefined: at once. */
    _resyncs = 0
    _registerAt

    // What is not in the state yet.
    /** The transaction that the store was asked for: `{number, metadata, batches, isSnapshot, _hasChanges, _isVoid}`. */
    _commit
    /** The store has a finger that the machine has given up. */
    _mustForgetFinger = false
    _commitRetryAt
    /** Of the store, in a row, reading or writing. */
    _storeFailures = 0
    /** The store takes or gives nothing: commits are shown, and not written. */
    _isInMemory = false

    _leftConnected
    _now = 0
    _effects = []
    _lastNumber = 0
    /** What was asked before the newest token came says nothing of it. */
    _lastNumberBeforeToken = 0

    constructor(settings) {
        this._settings = { ...updateDefaults, ...settings }
        const { seed } = this._settings
        this._retry = new Retry(seed)
        this._commitRetry = new Retry(seed + 1)
        this._pending = new PendingEvents(seed + 2)
        /** Of snapshots that more events came after than may wait. */
        this._overflowRetry = new Retry(seed + 3)
        /** Of attempts to get another token that got no answer. */
        this._tokenRetry = new Retry(seed + 4)
        /** Spreads the polls of clients. */
        this._pollJitter = new Jitter(seed + 5)
        /** Spreads those who are told of a resync together. */
        this._resyncJitter = new Jitter(seed + 6)
    }

    get view() {
        const [facts, now] = [this._facts, this._now]
        return {
            state: this._state, freshness: freshnessOf(facts, now), sign: signOf(facts, now),
            metadata: { ...this._metadata },
            pending: this._pending._count, isUnauthorized: this._isUnauthorized, end: this._end,
            isInMemory: this._isInMemory,
        }
    }

    /** When the input `wake` is due at the latest; null: only something that happens changes anything. */
    get wakeAt() {
        const canTry = this._isForeground && this._canAsk
        return earliestOf([
            nextFreshnessChange(this._facts, this._now), this._commit ? undefined : this._commitRetryAt, this._expiresAt,
            this._isForeground && this._hasNetwork ? this._tokenRetryAt : undefined,
            canTry ? this._attemptAt : undefined, canTry && this._mayReload ? this._pending._retryAt : undefined,
            this._pollNumber === undefined ? this._state.idle?.nextPoll : undefined,
        ]) ?? null
    }

    _is(name) { return name in this._state }

    _emit(name, values = {}) { this._effects.push({ [name]: values }) }

    /** Asks for something that is answered with the number that this returns. */
    _ask(name, values) {
        const number = this._lastNumber += 1
        this._emit(name, { number, ...values })
        return number
    }

    _cancel(number) { if (number !== undefined) this._emit("cancel", { number }) }

    _cancelPoll() {
        this._cancel(this._pollNumber)
        this._pollNumber = undefined
    }

    _dropPending() { if (this._pending._removeAll()) this._emit("dropReloads") }

    /** Whether a request has a chance. */
    get _canAsk() { return this._hasNetwork && this._hasToken && !this._end }

    /** Reloads begin when the snapshot that they follow is in the state. */
    get _mayReload() { return this._metadata.finger !== undefined && this._canAsk }

    /** When the server has let go of what follows the finger. */
    get _expiresAt() {
        const { finger, lastSuccess } = this._metadata
        return finger === undefined || lastSuccess === undefined ? undefined : lastSuccess + this._settings.retention
    }

    /** The cursor behind all that has come. */
    get _cursor() { return this._pending._lastCursor ?? this._metadata.finger }

    /** What has failed and is tried again. */
    get _waiting() { return this._state.registerFailed ?? this._state.pollFailed }
    /** When there is another attempt; undefined: none is waited for. */
    get _attemptAt() { return this._waiting?.retryAt ?? (this._is("stale") ? this._registerAt : undefined) }

    /** Another attempt follows after a wait. */
    _failUntil(name, wait, cause) {
        this._state = { [name]: { retryAt: this._now + wait, failures: this._failures, cause } }
    }

    get _facts() {
        return {
            _isCaughtUp: this._is("live") && this._caughtUpAt !== undefined, _hasNetwork: this._hasNetwork && !this._end,
            _refused: this._end?.refused ?? this._end?.revoked,
            _hasToken: this._hasToken, _isForeground: this._isForeground, _failures: this._failures,
            _unappliedSince: earliestOf([this._pending._unappliedSince, this._incompleteSince]), _patience: this._settings.patience,
            _hasFailedToApply: this._pending._hasFailed || this._commitRetry.failures > 0 || this._hasFailedToShow,
            _stalledSince: this._stalledSince, _leftConnected: this._leftConnected,
        }
    }

    // MARK: Giving up

    /** The finger of the next registering is to be asked for. */
    _forgetFresh() {
        this._fresh = undefined
        this._dropPending()
        this._unfollow()
    }

    _unfollow() {
        if (this._followNumber === undefined) return
        this._emit("unfollow")
        this._closed()
    }

    _closed() {
        this._followNumber = undefined
        this._caughtUpAt = undefined
        this._stalledSince = undefined
    }

    /** Gives up the finger, and keeps the state. `resync`: the cursor that came with one, behind which the stream goes on. */
    _becomeStale(resync) {
        this._cancel(this._phase?.number)
        this._phase = undefined
        this._cancelPoll()
        this._dropPending()
        if (this._commit?.metadata.finger !== undefined) this._commit._isVoid = true
        this._mustForgetFinger ||= this._metadata.finger !== undefined || this._commit?._isVoid === true
        this._metadata.finger = undefined
        this._metadata.knownStale = undefined
        this._commitRetryAt = undefined
        this._caughtUpAt = this._registerAt = undefined
        this._fresh = resync === undefined ? undefined : { at: resync, came: this._now }
        if (resync === undefined) this._unfollow()
        this._state = { stale: {} }
    }

    /** Hopelessly old: decided before a request is made, not after it failed. */
    _expire() {
        const expiresAt = this._expiresAt
        if (expiresAt !== undefined && expiresAt <= this._now) this._becomeStale()
    }

    /** 401: one new token, and only one, until something has succeeded. */
    _unauthorized() {
        if (!this._hasToken || this._end) return
        this._hasToken = false
        if (this._hasAskedForToken) {
            this._isUnauthorized = true
        } else {
            this._hasAskedForToken = true
            this._emit("requestToken")
        }
    }

    // MARK: Committing: one at a time, in the order in which they were decided

    _beginCommit() {
        if (this._commit) return
        if (this._phase?.storing && this._fresh) {
            // It needs nothing from the store.
            this._isInMemory = false
            return this._beginSnapshot()
        }
        if (this._commitRetryAt !== undefined && this._commitRetryAt > this._now) return
        if (this._mustForgetFinger) {
            this._begin({ lastSuccess: this._metadata.lastSuccess })
        } else if (this._metadata.finger !== undefined) {
            const moved = this._pending._take()
            if (!moved) return
            const { batches, changes, at = this._metadata.finger, came = this._metadata.lastSuccess } = moved
            this._begin({ finger: at, lastSuccess: came, knownStale: this._pending._knownStale }, { batches, changes })
        }
    }

    _beginSnapshot() { this._begin({ finger: this._fresh.at, lastSuccess: this._fresh.came }, { isSnapshot: true }) }

    _begin(metadata, { isSnapshot = false, batches, changes = [] } = {}) {
        metadata.lastAttempt = this._metadata.lastAttempt
        this._commitRetryAt = undefined
        const number = this._ask("commit", { metadata, isSnapshot, changes })
        const _hasChanges = changes.some(({ outcome }) => outcome !== "knownStale")
        this._commit = { number, metadata, batches, isSnapshot, _hasChanges, _isVoid: false }
    }

    _committed(number) {
        const done = this._commit
        if (done?.number !== number) return
        this._commit = undefined
        this._commitRetry.reset()
        if (!this._isInMemory) this._storeFailures = 0
        // Another commit has to delete the cursor that this one stored.
        if (done._isVoid) return
        this._mustForgetFinger = false
        if (done.isSnapshot || done._hasChanges) this._hasAskedForToken = false
        if (done.metadata.finger === undefined) return
        this._metadata = { ...done.metadata, lastAttempt: this._metadata.lastAttempt }
        if (done.batches !== undefined) this._pending._stored(done.batches)
        if (done.isSnapshot) {
            this._phase = undefined
            this._fresh = undefined
            this._snapshotAt = this._now
            this._open()
        }
    }

    _commitFailed(number) {
        const failed = this._commit
        if (failed?.number !== number) return
        this._commit = undefined
        this._storeFailed()
        if (failed._isVoid) return
        if (failed.isSnapshot) return this._isInMemory ? this._beginSnapshot() : this._registerFailed({ store: {} })
        if (failed.batches !== undefined) this._pending._giveBack()
        this._commitRetryAt = this._now + (this._isInMemory ? 0 : this._commitRetry.wait())
    }

    /** Counts a failure of the store. Whoever waits for it for ever shows nothing. */
    _storeFailed() {
        this._storeFailures += 1
        this._isInMemory = this._storeFailures >= maximumStoreFailures
    }

    _loadFailed() {
        if (!this._is("notLoaded")) return
        this._storeFailed()
        if (this._isInMemory) this._loaded()
        else this._commitRetryAt = this._now + this._commitRetry.wait()
    }

    /** The store has begun anew, with nothing of this area: only a snapshot is whole without what was there. */
    _storeLost() {
        this._commit = undefined
        this._storeFailed()
        if (this._phase?.storing) {
            if (this._isInMemory) this._beginSnapshot()
        } else if (this._is("live")) this._fetchAgain()
        else if (this._metadata.finger !== undefined) this._becomeStale()
        this._mustForgetFinger = false
    }
}
