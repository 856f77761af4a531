/// A thing that a commit changes, and how.
public struct ThingChange: Codable, Equatable, Sendable {
    /// Which thing.
    public var thing: Thing
    /// The outcome of its reload.
    public var outcome: Reloaded
    /// The time of the oldest event that it answers (``ThingEvent/ts``); nil: none of them has a time.
    public var ts: Milliseconds?

    /// The outcome of a thing's reload.
    public init(thing: Thing, outcome: Reloaded, ts: Milliseconds? = nil) {
        self.thing = thing
        self.outcome = outcome
        self.ts = ts
    }
}

/// Why an attempt of an ``UpdateMachine`` has failed.
public enum UpdateFailure: Codable, Equatable, Sendable {
    /// The request for a cursor or the app's snapshot has failed.
    case request(failure: RequestFailure)
    /// The store could not write the snapshot.
    case store
    /// More events came after a snapshot than may wait (``UpdateMachine/Settings/maximumPending``).
    case overflow
    /// The stream has ended, or could not be opened.
    case lost
    /// Nothing was requested: there is no network or no token, or the connection has ended.
    case notAsked
}

extension UpdateMachine {
    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Read the store; `loaded` is the answer.
        case load
        /// Ask `/sync/v1` without `since`.
        case requestFinger(number: Int)
        /// Begin the app's snapshot now, not earlier.
        case requestSnapshot(number: Int)
        /// The answer to this request is no longer wanted, nor is a snapshot that it has brought.
        case cancel(number: Int)
        /// Pass in all after this cursor in order, then `live`, then what comes new; and nothing more of an earlier number.
        case follow(number: Int, since: String)
        /// Pass in nothing more of the stream.
        case unfollow
        /// Ask `/sync/v1` once.
        case poll(number: Int, since: String)
        /// Fetch the thing if the screens need it. Keep the result until a commit names the thing.
        case reload(number: Int, thing: Thing, types: [String])
        /// Give up all reloads, and forget their results.
        case dropReloads
        /// Write the metadata and the snapshot, or these changes, in one transaction. Update the screens with it.
        case commit(number: Int, metadata: UpdateMetadata, isSnapshot: Bool, changes: [ThingChange])
        /// The server refused the token: get another one.
        case requestToken
    }

    /// The state of the machine (CLIENT.md's table).
    public enum State: Codable, Equatable, Sendable {
        /// The store is being read: nothing is known yet, which is neither empty nor stale.
        case notLoaded
        /// The last state, if any. No cursor is held.
        case stale
        /// The same, and a request is running.
        case registering
        /// The same, until the next attempt.
        case registerFailed(retryAt: Milliseconds, failures: Int, cause: UpdateFailure)
        /// There are a state and a cursor. A stream is open, or is being opened.
        case live
        /// There are a state and a cursor. The next attempt is due then.
        case pollFailed(retryAt: Milliseconds, failures: Int, cause: UpdateFailure)
        /// In the background, with a state and a cursor. The time is that of the next poll, if there is one.
        case idle(nextPoll: Milliseconds?)
    }

    /// What is visible from outside.
    public struct View: Codable, Equatable, Sendable {
        /// The state of the machine.
        public var state: State
        /// How far what is known can be trusted.
        public var freshness: Freshness
        /// The sign that people see; nil: none.
        public var sign: Freshness?
        /// The metadata that the machine uses. The store gets it with each commit.
        public var metadata: UpdateMetadata
        /// How many things wait for a commit (``Settings/maximumPending``).
        public var pending: Int
        /// The server refused the token and the one after it: the user of the app has to sign in.
        public var isUnauthorized: Bool
        /// Why nothing is requested any more: the connection has ended for good. The known state stays, and is old. Nil: no end.
        public var end: ConnectionEnd?
        /// The store fails: commits, except snapshots, are shown but not written. A snapshot tries the store again.
        public var isInMemory: Bool

        /// Whether the result of a refresh is there. False: it is unavailable now. Nil: it has not come yet.
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
