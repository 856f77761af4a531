// What an update machine knows, how it gives up what it cannot keep, and how state and finger move together
// (UpdateMachine.swift, UpdateMachine+Committing.swift).
import { earliestOf, freshnessOf, nextFreshnessChange, signOf } from "./freshness.js"
import { PendingEvents } from "./pending.js"
import { Jitter, Retry } from "./retry.js"

const updateDefaults = {
    entities: [], retention: 86_400_000, pollInterval: undefined, maximumPending: 1_000, patience: 5_000, seed: 1,
}

/** The name of a state's, an input's or an effect's only member. */
export function caseOf(value) {
    return Object.keys(value)[0]
}

/** What a machine is made of; see `UpdateMachine`. */
export class UpdateCore {
    settings
    state = { notLoaded: {} }
    metadata = {}

    // What is around it.
    isForeground = true
    hasNetwork = true
    hasToken = true
    /** A new token was asked for since the last success: another 401 stops it. */
    hasAskedForToken = false
    isUnauthorized = false
    /** Of attempts to get another token that got no answer. */
    tokenRetry
    tokenRetryAt
    /** Why nothing is asked any more: the connection has ended for good. */
    end

    /** What registering waits for: `{finger: number}`, `{snapshot: number}` or `{storing: true}`. */
    phase
    /** The finger of the snapshot that is under way, or the one that came with a resync for the next: `{at, came}`. */
    fresh

    // The stream.
    followNumber
    /** When everything missed had been given. */
    caughtUpAt
    stalledSince
    /** When a snapshot became the state. */
    snapshotAt
    pollNumber
    /** Spreads the polls of clients. */
    pollJitter
    /** Failed attempts since the last success. */
    failures = 0
    retry

    // What is not in the state yet.
    pending
    /** The transaction that the store was asked for: `{number, metadata, batches, isSnapshot, hasChanges, isVoid}`. */
    commit
    /** The store has a finger that the machine has given up. */
    mustForgetFinger = false
    commitRetry
    commitRetryAt
    /** Of snapshots that more events came after than may wait. */
    overflowRetry

    leftConnected
    now = 0
    effects = []
    lastNumber = 0
    /** What was asked before the newest token came says nothing of it. */
    lastNumberBeforeToken = 0

    constructor(settings = {}) {
        this.settings = { ...updateDefaults, ...settings }
        const { seed } = this.settings
        this.retry = new Retry(seed)
        this.commitRetry = new Retry(seed + 1)
        this.pending = new PendingEvents(seed + 2)
        this.overflowRetry = new Retry(seed + 3)
        this.tokenRetry = new Retry(seed + 4)
        this.pollJitter = new Jitter(seed + 5)
    }

    get view() {
        const [facts, now] = [this.facts, this.now]
        return {
            state: this.state, freshness: freshnessOf(facts, now), sign: signOf(facts, now),
            metadata: { ...this.metadata },
            pending: this.pending.count, isUnauthorized: this.isUnauthorized, end: this.end,
        }
    }

    /** When the input `wake` is due at the latest; null: only something that happens changes anything. */
    get wakeAt() {
        const canTry = this.isForeground && this.canAsk
        return earliestOf([
            nextFreshnessChange(this.facts, this.now), this.commit ? undefined : this.commitRetryAt, this.expiresAt,
            this.isForeground && this.hasNetwork ? this.tokenRetryAt : undefined,
            canTry ? this.retryAt : undefined, canTry && this.mayReload ? this.pending.retryAt : undefined,
            this.pollNumber === undefined ? this.state.idle?.nextPoll : undefined,
        ]) ?? null
    }

    is(name) { return name in this.state }

    number() { return this.lastNumber += 1 }

    /** Whether a request has a chance. */
    get canAsk() { return this.hasNetwork && this.hasToken && !this.end }

    /** Reloads begin when the snapshot that they follow is in the state. */
    get mayReload() { return this.metadata.finger !== undefined && this.canAsk }

    /** When the server has let go of what follows the finger. */
    get expiresAt() {
        const { finger, lastSuccess } = this.metadata
        return finger === undefined || lastSuccess === undefined ? undefined : lastSuccess + this.settings.retention
    }

    get retryAt() { return this.state.registerFailed?.retryAt ?? this.state.pollFailed?.retryAt }

    get facts() {
        return {
            isCaughtUp: this.is("live") && this.caughtUpAt !== undefined, hasNetwork: this.hasNetwork && !this.end,
            hasToken: this.hasToken, isForeground: this.isForeground, failures: this.failures,
            unappliedSince: this.pending.unappliedSince, patience: this.settings.patience,
            hasFailedToApply: this.pending.hasFailed || this.commitRetry.failures > 0,
            stalledSince: this.stalledSince, leftConnected: this.leftConnected,
        }
    }

    // MARK: Giving up

    /** The finger of the next registering is to be asked for. */
    forgetFresh() {
        this.fresh = undefined
        if (this.pending.removeAll()) this.effects.push({ dropReloads: {} })
        this.unfollow()
    }

    unfollow() {
        if (this.followNumber === undefined) return
        this.effects.push({ unfollow: {} })
        this.closed()
    }

    closed() {
        this.followNumber = undefined
        this.caughtUpAt = undefined
        this.stalledSince = undefined
    }

    /** Gives up the finger, and keeps the state. `resync`: the cursor that came with one, behind which the stream goes on. */
    becomeStale(resync) {
        const number = this.phase?.finger ?? this.phase?.snapshot
        if (number !== undefined) this.effects.push({ cancel: { number } })
        this.phase = undefined
        if (this.pollNumber !== undefined) this.effects.push({ cancel: { number: this.pollNumber } })
        this.pollNumber = undefined
        if (this.pending.removeAll()) this.effects.push({ dropReloads: {} })
        if (this.commit?.metadata.finger !== undefined) this.commit.isVoid = true
        this.mustForgetFinger ||= this.metadata.finger !== undefined || this.commit?.isVoid === true
        this.metadata.finger = undefined
        this.commitRetryAt = undefined
        this.caughtUpAt = undefined
        this.fresh = resync === undefined ? undefined : { at: resync, came: this.now }
        if (resync === undefined) this.unfollow()
        this.state = { stale: {} }
    }

    /** Hopelessly old: decided before a request is made, not after it failed. */
    expire() {
        const { expiresAt } = this
        if (expiresAt !== undefined && expiresAt <= this.now) this.becomeStale()
    }

    /** 401: one new token, and only one, until something has succeeded. */
    unauthorized() {
        if (!this.hasToken || this.end) return
        this.hasToken = false
        if (this.hasAskedForToken) {
            this.isUnauthorized = true
        } else {
            this.hasAskedForToken = true
            this.effects.push({ requestToken: {} })
        }
    }

    // MARK: Committing: one at a time, in the order in which they were decided

    beginCommit() {
        if (this.commit) return
        if (this.phase?.storing && this.fresh) {
            this.begin({ finger: this.fresh.at, lastSuccess: this.fresh.came }, { isSnapshot: true })
            return
        }
        if (this.commitRetryAt !== undefined && this.commitRetryAt > this.now) return
        if (this.mustForgetFinger) {
            this.begin({ lastSuccess: this.metadata.lastSuccess })
        } else if (this.metadata.finger !== undefined) {
            const batches = this.pending.ready
            const moved = this.pending.changes(batches)
            if (!moved) return
            this.begin({ finger: moved.at, lastSuccess: moved.came }, { batches, changes: moved.changes })
        }
    }

    begin(metadata, { isSnapshot = false, batches, changes = [] } = {}) {
        metadata.lastAttempt = this.metadata.lastAttempt
        const number = this.number()
        this.commitRetryAt = undefined
        this.commit = { number, metadata, batches, isSnapshot, hasChanges: changes.length > 0, isVoid: false }
        this.effects.push({ commit: { number, metadata, isSnapshot, changes } })
    }

    committed(number) {
        const done = this.commit
        if (done?.number !== number) return
        this.commit = undefined
        this.commitRetry.reset()
        // The finger that it stored is to be forgotten by another commit.
        if (done.isVoid) return
        this.mustForgetFinger = false
        if (done.isSnapshot || done.hasChanges) this.hasAskedForToken = false
        if (done.metadata.finger === undefined) return
        this.metadata.finger = done.metadata.finger
        this.metadata.lastSuccess = done.metadata.lastSuccess
        if (done.batches !== undefined) this.pending.removeFirst(done.batches)
        if (done.isSnapshot) {
            this.phase = undefined
            this.fresh = undefined
            this.snapshotAt = this.now
            this.open()
        }
    }

    commitFailed(number) {
        const failed = this.commit
        if (failed?.number !== number) return
        this.commit = undefined
        if (failed.isVoid) return
        if (failed.isSnapshot) this.registerFailed({ store: {} })
        else this.commitRetryAt = this.now + this.commitRetry.wait()
    }
}
