/// An event of the stream, with the stream's few facts: which thing, and what happened to it.
public struct ThingEvent: Codable, Hashable, Sendable {
    /// Which thing.
    public var thing: Thing
    /// What happened: `created`, `updated`, `deleted` or another word that the company's services use.
    public var type: String
    /// When it was written, in milliseconds of Unix time, if the server reports it.
    public var ts: Milliseconds?

    /// What happened to a thing.
    public init(thing: Thing, type: String, ts: Milliseconds? = nil) {
        self.thing = thing
        self.type = type
        self.ts = ts
    }
}

/// The outcome of a thing's reload.
public enum Reloaded: String, Codable, Sendable {
    /// The thing; its owner keeps the value until the commit. Or no screen shows it: it was marked stale, or passed over.
    case value
    /// 404 or 410: the thing is removed.
    case gone
    /// 403: the thing does not belong to this person.
    case notOurs
    /// It could not be reloaded, and what is known of it is old. Only a commit reports this, never a reload.
    case knownStale
}

/// Why a request has failed.
public enum RequestFailure: Error, Codable, Equatable, Sendable {
    /// No answer, or a 408, 429 or 5xx. The time is that of `Retry-After`, in milliseconds.
    case retry(after: Milliseconds?)
    /// 401: the server refused the token.
    case unauthorized
    /// Another status: the server would refuse it again.
    case rejected(status: Int)
    /// There was an answer, but the app cannot read it.
    case unreadable

    /// Whether no retry can succeed.
    var isFinal: Bool {
        switch self {
        case .rejected, .unreadable: true
        case .retry, .unauthorized: false
        }
    }
}

/// A thing that could not be reloaded: what is known of it is old.
public struct StaleThing: Codable, Equatable, Sendable {
    /// Which thing.
    public var thing: Thing
    /// What happened to it, in order.
    public var types: [String]
    /// Why the last attempt has failed.
    public var failure: RequestFailure

    /// A stale thing as a store has kept it.
    public init(thing: Thing, types: [String], failure: RequestFailure) {
        (self.thing, self.types, self.failure) = (thing, types, failure)
    }
}

extension Retry {
    /// Counts a failed request and returns how long to wait.
    mutating func wait(for failure: RequestFailure) -> Milliseconds {
        if case .retry(let after?) = failure { return wait(retryAfter: after) }
        return wait()
    }
}

/// What a store keeps about a machine.
public struct UpdateMetadata: Codable, Equatable, Sendable {
    /// The cursor held: the state is as the server had it there. Nil: the state, if there is one, is stale.
    public var finger: String?
    /// When that cursor came from the server.
    public var lastSuccess: Milliseconds?
    /// When a request or a stream last began.
    public var lastAttempt: Milliseconds?
    /// Things that could not be reloaded, and are older than the cursor held; nil: none.
    public var knownStale: [StaleThing]?

    /// Metadata. Without arguments: those of an area of which nothing is known.
    public init(
        finger: String? = nil, lastSuccess: Milliseconds? = nil, lastAttempt: Milliseconds? = nil,
        knownStale: [StaleThing]? = nil
    ) {
        self.finger = finger
        self.lastSuccess = lastSuccess
        self.lastAttempt = lastAttempt
        self.knownStale = knownStale
    }
}

extension UpdateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// Only events of these entities are used; empty: all are.
        public var entities: [String] = []
        /// How long the server keeps events, in ms. A state whose last success is longer ago cannot catch up. Each time here is
        /// from 0 to 100 years; a value outside counts as the nearer limit.
        public var retention: Milliseconds = 86_400_000
        /// How often to poll in the background, in ms, 1 or more, and up to a tenth later. Nil: never. A server's `Retry-After`
        /// can postpone the next poll.
        public var pollInterval: Milliseconds?
        /// The most things that may wait for a commit, counted again for each type of event and each batch. Beyond it the machine
        /// becomes stale, because one snapshot costs less. If it happens again before 30 s of calm, the machine waits first.
        public var maximumPending = 1_000
        /// After this long, in ms, an event that is not in the state makes the state count as old.
        public var patience: Milliseconds = 5_000
        /// Spreads attempts in time.
        public var seed: UInt32 = 1

        /// The defaults: all entities, and a server that keeps events for a day.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            entities = try members.decodeIfPresent([String].self, forKey: .entities) ?? entities
            retention = try members.decodeIfPresent(Milliseconds.self, forKey: .retention) ?? retention
            pollInterval = try members.decodeIfPresent(Milliseconds.self, forKey: .pollInterval)
            maximumPending = try members.decodeIfPresent(Int.self, forKey: .maximumPending) ?? maximumPending
            patience = try members.decodeIfPresent(Milliseconds.self, forKey: .patience) ?? patience
            seed = try members.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
        }
    }

    /// What happens. `number` is that of the effect that asked. An answer that is no longer wanted changes nothing.
    public enum Input: Codable, Equatable, Sendable {
        /// The machine's life begins: once, before anything else.
        case start
        /// The store has been read; nil: it has nothing of this machine.
        case loaded(stored: UpdateMetadata?)
        /// The store cannot be read now. ``UpdateMachine/Effect/load`` follows after a wait. After three failures, the machine
        /// begins with nothing, in memory.
        case loadFailed
        /// The store was corrupt and has restarted empty. It has nothing of this machine, nor of the running commit.
        case storeLost
        /// It is time for what was due.
        case wake
        /// The app is in the foreground again.
        case foreground
        /// The app is in the background.
        case background
        /// Whether there is a network.
        case network(isSatisfied: Bool)
        /// Whether there is a token that may be valid: the answer to ``UpdateMachine/Effect/requestToken``, or other news.
        case token(isValid: Bool)
        /// ``UpdateMachine/Effect/requestToken`` had no answer: whether a user is signed in is unknown. The token is requested
        /// again after a wait, in the foreground and with a network.
        case tokenFailed
        /// The connection has ended for good: nothing is requested any more.
        case ended(error: ConnectionEnd)
        /// The user asked for a refresh. What is due later is tried at once. A new snapshot is loaded if nothing is awaited.
        case refresh
        /// Whether everything on the screens is as the server has it, and whether some of it could not be fetched.
        case shown(isComplete: Bool, hasFailed: Bool)
        /// A screen shows the thing. If the thing is known to be stale, it is reloaded now.
        case check(thing: Thing)
        /// `/sync/v1` without `since` returned a fresh cursor.
        case finger(number: Int, at: String)
        /// It returned no cursor.
        case fingerFailed(number: Int, failure: RequestFailure)
        /// The snapshot is complete; its owner keeps it until the commit.
        case snapshot(number: Int)
        /// The snapshot has failed.
        case snapshotFailed(number: Int, failure: RequestFailure)
        /// The stream: events in order, and the cursor behind them. Without events: a newer cursor, as with a heartbeat.
        case events(number: Int, events: [ThingEvent], at: String)
        /// The stream: all missed events have been delivered.
        case live(number: Int, at: String)
        /// The stream: missed events are lost; events after `at` follow. `isEpoch`: all clients get this at once.
        case resync(number: Int, at: String, isEpoch: Bool? = nil)
        /// The stream: the server lost its own source of events at this time, or (nil) found it again.
        case source(number: Int, stalledSince: Milliseconds?)
        /// The stream has ended, or could not be opened. The next attempt is due after this many ms, if known.
        case lost(number: Int, after: Milliseconds?)
        /// A page of a poll in the background.
        case page(number: Int, events: [ThingEvent], at: String, more: Bool)
        /// The poll: missed events are lost; events after `at` follow.
        case pageResync(number: Int, at: String, isEpoch: Bool? = nil)
        /// The poll had no answer, or the server refused it.
        case pageFailed(number: Int, failure: RequestFailure)
        /// The outcome of a reload. The owner keeps the value until a commit names the thing.
        case reloaded(number: Int, outcome: Reloaded)
        /// A reload has failed. It is tried again, or its thing is known stale.
        case reloadFailed(number: Int, failure: RequestFailure)
        /// The store has written the whole commit.
        case committed(number: Int)
        /// The store has written nothing of the commit.
        case commitFailed(number: Int)
    }
}
