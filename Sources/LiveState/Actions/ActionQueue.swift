/// Deferrable actions: what users did, kept until the server has done it (CLIENT.md, "Actions").
///
/// The last value of each (kind, id) wins. It is applied locally at once, stored, merged with others, and sent in batches with an
/// idempotency key for each action. It is retried until the server has done or rejected it. Only one batch is in flight, so that
/// the values of one (kind, id) arrive in order.
///
/// The clock is Unix time, because rows outlive a process. Its owner keeps it from going back while it runs.
///
/// The effects ``Effect/persist(action:)``, ``Effect/delete(kind:id:)``, ``Effect/apply(kind:id:value:)`` and
/// ``Effect/undo(kind:id:value:)`` of one input belong to one transaction. Commit it before carrying out the other effects.
public struct ActionQueue: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// Seed of the waits between attempts.
        public var seed: UInt32 = 1
        /// The prefix of keys: random for each start of the process, so that no key is used twice.
        public var keyPrefix = "key"
        /// How long the first action waits for others, in milliseconds: people often change two or three in a row. Each time here
        /// is from 0 to 100 years; a value outside counts as the nearer limit.
        public var coalescing: Milliseconds = 3_000
        /// Actions in a batch, 1 or more.
        public var maximumBatch = 50
        /// The most rows kept: some megabytes. One more is refused, because an old row must not be lost silently.
        public var maximumRows = 10_000
        /// How long a row is kept, in milliseconds: 180 days. Then its action is undone.
        public var maximumAge: Milliseconds = 180 * 86_400_000

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            seed = try values.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
            keyPrefix = try values.decodeIfPresent(String.self, forKey: .keyPrefix) ?? keyPrefix
            coalescing = try values.decodeIfPresent(Milliseconds.self, forKey: .coalescing) ?? coalescing
            maximumBatch = try values.decodeIfPresent(Int.self, forKey: .maximumBatch) ?? maximumBatch
            maximumRows = try values.decodeIfPresent(Int.self, forKey: .maximumRows) ?? maximumRows
            maximumAge = try values.decodeIfPresent(Milliseconds.self, forKey: .maximumAge) ?? maximumAge
        }
    }

    /// What happens. `batch` is the number of the effect `send`.
    public enum Input: Codable, Equatable, Sendable {
        /// It is time for what was due.
        case wake
        /// The rows of the store. Nothing is sent before this input.
        case loaded(actions: [DeferredAction])
        /// The user sets a status. `before` is the status shown until now; nil: unknown.
        case set(kind: String, id: String, value: String, before: String?)
        /// The status as it was read from the server and written to the local state. `askedAt`: when the read began; nil: just
        /// now.
        case reloaded(kind: String, id: String, value: String, askedAt: Milliseconds?)
        /// Whether the server is reachable, as far as the device knows. At first it counts as reachable.
        case network(isReachable: Bool)
        /// Send now the actions that wait for others, for example because the app goes to the background.
        case flush
        /// There is a new token.
        case token
        /// ``Effect/requestToken`` brought no token. It is requested again after a wait. `isUnauthorized`: no user is signed in,
        /// so nothing is sent until the input `token`.
        case tokenFailed(isUnauthorized: Bool?)
        /// The server's result of each action. An action without a result is sent again.
        case answered(batch: Int, results: [ActionResult])
        /// One answer to the whole batch, without results; or (without a status) no answer: a network failure or a deadline.
        case failed(batch: Int, status: Int?, retryAfter: Milliseconds?)
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Write the row of (kind, id), and replace any other.
        case persist(action: DeferredAction)
        /// Delete the row of (kind, id).
        case delete(kind: String, id: String)
        /// Show this status.
        case apply(kind: String, id: String, value: String)
        /// Show the status that the server had when it was last read. Nil: unknown, so reload the thing. The app did not pass the
        /// status, or an attempt without an answer followed it.
        case undo(kind: String, id: String, value: String?)
        /// Send these in order, and pass in `answered` or `failed` with this number.
        case send(batch: Int, actions: [DeferredAction])
        /// Fetch a new token, then pass in `token` or `tokenFailed`.
        case requestToken
        /// The server will never do it. `isReplaced`: the user has set another value since then, so nothing was undone.
        case rejected(action: DeferredAction, status: Int, isReplaced: Bool)
        /// The row was kept for the longest time allowed, so its action was undone.
        case expired(action: DeferredAction)
        /// ``Settings/maximumRows`` are kept already: this action was neither applied nor kept.
        case refused(kind: String, id: String, value: String)
        /// A new token was refused too, or there is none. Nothing is sent until the input `token`.
        case unauthorized
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Whether the store has been read.
        public var isLoaded: Bool
        /// The actions that the server may not have done, the oldest first.
        public var pending: [DeferredAction]
        /// The keys of the actions in flight.
        public var sending: [String]
        /// The server accepts no token.
        public var isUnauthorized: Bool
    }

    /// For this long after an action is done, an answer to an earlier read does not hide it. It is longer than a fetch.
    static let settledFor: Milliseconds = 60_000
    /// After this many failed answers in a row, the rows of a batch are sent one by one: one of them may be the cause.
    static let failuresBeforeSplit = 3

    let settings: Settings
    var rows: [Name: Row] = [:]
    var isLoaded = false
    /// When the first unsent row is due; nil: every row is in flight.
    var dueAt: Milliseconds?
    /// Nothing is sent before it.
    var waitUntil: Milliseconds?
    /// The server chose ``waitUntil``: the return of the network does not shorten it.
    var isServersWait = false
    var isReachable = true
    var token = TokenState.usable(isFresh: false)
    var retry: Retry
    /// The actions in flight, in the order of the batch; empty: none.
    var flight: [Sent] = []
    var batch = 0
    var keys = 0
    var order = 0
    /// No row expires before this time, except rows in flight.
    var expiresAt: Milliseconds?
    var settled: [Name: Settled] = [:]

    /// Nothing is known yet, and nothing is sent before ``Input/loaded(actions:)``.
    public init(_ settings: Settings) {
        var settings = settings
        settings.coalescing = settings.coalescing.limited()
        settings.maximumAge = settings.maximumAge.limited()
        settings.maximumBatch = max(1, settings.maximumBatch)
        self.settings = settings
        retry = Retry(seed: settings.seed)
    }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .wake: break
        case .loaded(let actions): load(actions, at: now, &effects)
        case .set(let kind, let id, let value, let before):
            set(Name(kind: kind, id: id), value, before: before, at: now, &effects)
        case .reloaded(let kind, let id, let value, let askedAt):
            reloaded(Name(kind: kind, id: id), value, askedAt: askedAt ?? now, &effects)
        case .network(let isReachable): reached(isReachable, at: now)
        case .flush: if let due = dueAt { dueAt = min(due, now) }
        case .token: renewed()
        case .tokenFailed(let isUnauthorized): tokenFailed(isUnauthorized == true, at: now, &effects)
        case .answered(let batch, let results): answered(batch, results, at: now, &effects)
        case .failed(let batch, let status, let retryAfter):
            failed(batch, status: status, retryAfter: retryAfter, at: now, &effects)
        }
        expire(at: now, &effects)
        askAgain(at: now, &effects)
        send(at: now, &effects)
        return effects
    }

    /// When rows are to be sent or expire. Nil: only another input changes anything.
    public var wakeAt: Milliseconds? {
        [nextAttempt, rows.isEmpty ? nil : expiresAt].compactMap { $0 }.min()
    }

    /// What is visible from outside now.
    public var view: View {
        View(
            isLoaded: isLoaded, pending: inOrder.map(\.action), sending: flight.map(\.action.key),
            isUnauthorized: token == .unauthorized)
    }

    /// The status that a pending action gives a thing. Nil: none, so the server's status is shown. O(1).
    public func pending(kind: String, id: String) -> String? {
        rows[Name(kind: kind, id: id)]?.action.value
    }
}
