/// A thing that a commit changes, and how.
public struct ThingChange: Codable, Equatable, Sendable {
    /// Which thing.
    public var thing: Thing
    /// What its reload has found.
    public var outcome: Reloaded
    /// That of the oldest of the events that it answers (``ThingEvent/ts``); nil: none has one.
    public var ts: Milliseconds?

    /// What a reload of a thing has found.
    public init(thing: Thing, outcome: Reloaded, ts: Milliseconds? = nil) {
        self.thing = thing
        self.outcome = outcome
        self.ts = ts
    }
}

/// Why an attempt of an ``UpdateMachine`` has failed.
public enum UpdateFailure: Codable, Equatable, Sendable {
    /// The request for a finger has failed, or the app's snapshot.
    case request(failure: RequestFailure)
    /// The store did not take the snapshot.
    case store
    /// More events came behind a snapshot than may wait (``UpdateMachine/Settings/maximumPending``).
    case overflow
    /// The stream has ended, or could not be opened.
    case lost
    /// Nothing was asked: there is no network, no token, or no connection any more.
    case notAsked
}

extension UpdateMachine {
    /// What its owner does, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Read the store; `loaded` is the answer.
        case load
        /// Ask `/sync/v1` without `since`.
        case requestFinger(number: Int)
        /// Begin the app's snapshot: now, not before.
        case requestSnapshot(number: Int)
        /// This request's answer is no longer wanted, nor a snapshot that it has brought.
        case cancel(number: Int)
        /// Hand in everything after this cursor, in order, then `live`, then what comes; and nothing more of an earlier number.
        case follow(number: Int, since: String)
        /// Hand in nothing more of the stream.
        case unfollow
        /// Ask `/sync/v1` once.
        case poll(number: Int, since: String)
        /// Fetch the thing, if the screens need it, and keep what came until a commit names it.
        case reload(number: Int, thing: Thing, types: [String])
        /// Give up all reloads, and forget what they have brought.
        case dropReloads
        /// In one transaction: the metadata, and the snapshot or these changes. What screens show moves with it.
        case commit(number: Int, metadata: UpdateMetadata, isSnapshot: Bool, changes: [ThingChange])
        /// The token is not taken: get another one.
        case requestToken
    }

    /// Where it stands (CLIENT.md's table).
    public enum State: Codable, Equatable, Sendable {
        /// The store is being read: nothing is known yet, which is neither empty nor stale.
        case notLoaded
        /// The last state, if any; no finger.
        case stale
        /// The same, and a request is under way.
        case registering
        /// The same, until the next attempt.
        case registerFailed(retryAt: Milliseconds, failures: Int, cause: UpdateFailure)
        /// State and finger; a stream is open, or being opened.
        case live
        /// State and finger, until the next attempt.
        case pollFailed(retryAt: Milliseconds, failures: Int, cause: UpdateFailure)
        /// In the background, with state and finger; the next poll, if there is one.
        case idle(nextPoll: Milliseconds?)
    }

    /// What can be seen of it.
    public struct View: Codable, Equatable, Sendable {
        /// Where it stands.
        public var state: State
        /// How far what is known can be trusted.
        public var freshness: Freshness
        /// What people are shown of it; nil: nothing.
        public var sign: Freshness?
        /// What it goes by; the store follows with each commit.
        public var metadata: UpdateMetadata
        /// How much waits for a commit (``Settings/maximumPending``).
        public var pending: Int
        /// Neither the token nor the one after it was taken: whoever uses the app has to sign in.
        public var isUnauthorized: Bool
        /// Why nothing is asked any more: the connection has ended for good. What is known stays, and is old. Nil: it has not.
        public var end: ConnectionEnd?
        /// The store takes or gives nothing: commits but snapshots are shown, and not written. A snapshot tries it again.
        public var isInMemory: Bool

        /// Whether what a refresh has asked for is there; false: it cannot be had now; nil: it is on its way.
        package var refreshEnded: Bool? {
            let isRefused = isUnauthorized || end != nil
            switch (state, freshness) {
            case _ where isRefused: return false
            case (.registerFailed, _), (.pollFailed, _), (.idle, _), (.stale, .cannotConnect): return false
            case (_, .connected), (_, .sourceStalled): return true
            case (.notLoaded, _), (.stale, _), (.registering, _), (.live, _): return nil
            }
        }
    }
}
