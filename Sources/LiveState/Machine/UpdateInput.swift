/// An event of the stream, as thin as it comes: which thing, and what happened to it.
public struct ThingEvent: Codable, Hashable, Sendable {
    /// Which thing.
    public var thing: Thing
    /// What happened: `created`, `updated`, `deleted` or another word that the company's services use.
    public var type: String
    /// When it was written, in milliseconds of Unix time, where the server says so.
    public var ts: Milliseconds?

    /// What happened to a thing.
    public init(thing: Thing, type: String, ts: Milliseconds? = nil) {
        self.thing = thing
        self.type = type
        self.ts = ts
    }
}

/// What a reload of a thing has found.
public enum Reloaded: String, Codable, Sendable {
    /// The thing; its owner keeps the value until the commit. Also for what is not on a screen: it was marked stale, or passed over.
    case value
    /// 404 or 410: the thing is removed.
    case gone
    /// 403: the thing is not this person's.
    case notOurs
    /// It could not be reloaded, and what is known of it is old. A commit says so; no reload does.
    case knownStale
}

/// Why a request has failed.
public enum RequestFailure: Error, Codable, Equatable, Sendable {
    /// No answer, a 408, 429 or 5xx; after what `Retry-After` asked for, in milliseconds.
    case retry(after: Milliseconds?)
    /// 401: the token is not taken.
    case unauthorized
    /// Another status: it would be refused again.
    case rejected(status: Int)
    /// There was an answer, and the app cannot read it.
    case unreadable

    /// Whether no repetition mends it.
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

    /// What a store has kept of it.
    public init(thing: Thing, types: [String], failure: RequestFailure) {
        (self.thing, self.types, self.failure) = (thing, types, failure)
    }
}

extension Retry {
    /// Counts a failed request and says how long to wait.
    mutating func wait(for failure: RequestFailure) -> Milliseconds {
        if case .retry(let after?) = failure { return wait(retryAfter: after) }
        return wait()
    }
}

/// Everything about a machine that its store keeps.
public struct UpdateMetadata: Codable, Equatable, Sendable {
    /// A cursor: the state is as the server had it there. Nil: the state, if there is one, is stale.
    public var finger: String?
    /// When the finger came from the server.
    public var lastSuccess: Milliseconds?
    /// When a request or a stream was last begun.
    public var lastAttempt: Milliseconds?
    /// What could not be reloaded and is older than the finger says; nil: nothing is.
    public var knownStale: [StaleThing]?

    /// Metadata; without arguments those of an area of which nothing is known.
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
        /// Events of other entities are passed over; empty: none are.
        public var entities: [String] = []
        /// How long the server keeps events, in ms: a state whose last success lies further back cannot be caught up. 0 to 100
        /// years, as of each time here; what lies outside counts as the nearer end.
        public var retention: Milliseconds = 86_400_000
        /// How often to ask in the background, in ms, 1 or more, and up to a tenth later; nil: not at all. A server's `Retry-After`
        /// puts the next one off.
        public var pollInterval: Milliseconds?
        /// The most things, counted again for each type of event and each batch, that wait for a commit. Beyond it the machine
        /// becomes stale: one snapshot costs less than so many reloads. If it happens again before 30 s of calm, it waits first.
        public var maximumPending = 1_000
        /// An event that is not in the state so long after it came says that the state is old, in ms.
        public var patience: Milliseconds = 5_000
        /// Spreads attempts in time.
        public var seed: UInt32 = 1

        /// The defaults: all entities, and a server that keeps events for a day.
        public init() {}

        /// Members that are missing are as by default.
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

    /// What happens. `number` is the one of the effect that asked; an answer to what is no longer wanted changes nothing.
    public enum Input: Codable, Equatable, Sendable {
        /// The machine's life begins: once, before anything else.
        case start
        /// The store has been read; nil: it has nothing of this machine.
        case loaded(stored: UpdateMetadata?)
        /// The store cannot be read now: ``UpdateMachine/Effect/load`` comes again behind a wait, and after three times the machine
        /// begins with nothing, in memory.
        case loadFailed
        /// The store was corrupt and has begun anew: it has nothing of this machine, nor of the commit that is under way.
        case storeLost
        /// It is time for what was due.
        case wake
        /// The app is in sight again.
        case foreground
        /// The app is out of sight.
        case background
        /// Whether there is a network.
        case network(isSatisfied: Bool)
        /// Whether there is a token that may be good: the answer to ``UpdateMachine/Effect/requestToken``, and news from elsewhere.
        case token(isValid: Bool)
        /// There was no answer to ``UpdateMachine/Effect/requestToken``: nobody knows whether somebody is signed in. It is asked for
        /// again behind a wait, in the foreground and with a network.
        case tokenFailed
        /// The connection has ended for good: nothing is asked any more.
        case ended(error: ConnectionEnd)
        /// Somebody pulled the screen: at once whatever would be tried later, and a new snapshot where nothing is awaited.
        case refresh
        /// Whether all that screens show is as the server has it, and whether some of it could not be fetched.
        case shown(isComplete: Bool, hasFailed: Bool)
        /// Somebody looks at the thing: where it is known to be stale, it is reloaded now.
        case check(thing: Thing)
        /// `/sync/v1` without `since` gave a fresh finger.
        case finger(number: Int, at: String)
        /// It gave none.
        case fingerFailed(number: Int, failure: RequestFailure)
        /// The snapshot is complete; its owner keeps it until the commit.
        case snapshot(number: Int)
        /// There is no snapshot.
        case snapshotFailed(number: Int, failure: RequestFailure)
        /// The stream: events in their order, and the cursor behind them. Without events: a newer cursor, a beat.
        case events(number: Int, events: [ThingEvent], at: String)
        /// The stream: whatever was missed has been given.
        case live(number: Int, at: String)
        /// The stream: what was missed cannot be given; what comes after `at` follows. `isEpoch`: all clients are told so at once.
        case resync(number: Int, at: String, isEpoch: Bool? = nil)
        /// The stream: the server has lost its own source of events since then, or (nil) found it again.
        case source(number: Int, stalledSince: Milliseconds?)
        /// The stream has ended, or could not be opened; the next attempt after so many ms, if that is known.
        case lost(number: Int, after: Milliseconds?)
        /// A poll in the background.
        case page(number: Int, events: [ThingEvent], at: String, more: Bool)
        /// The poll: what was missed cannot be given; what comes after `at` follows.
        case pageResync(number: Int, at: String, isEpoch: Bool? = nil)
        /// The poll had no answer, or was refused.
        case pageFailed(number: Int, failure: RequestFailure)
        /// A reload has found this; its owner keeps the value until a commit names the thing.
        case reloaded(number: Int, outcome: Reloaded)
        /// A reload has failed: it is tried again, or its thing is known stale.
        case reloadFailed(number: Int, failure: RequestFailure)
        /// The store has all of the commit.
        case committed(number: Int)
        /// The store has nothing of the commit.
        case commitFailed(number: Int)
    }
}
