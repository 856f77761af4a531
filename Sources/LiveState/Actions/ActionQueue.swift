/// Deferrable actions: what users did, kept until the server has it (CLIENT.md, "Actions").
///
/// The last value of each (kind, id) wins. It is applied locally at once, kept in the store, coalesced with others, sent in
/// batches with an idempotency key each, and tried again until the server has done or rejected it. One batch is on its way at
/// a time, so that the values of one (kind, id) arrive in their order.
///
/// The clock is Unix time, for rows outlive a process; its owner keeps it from going back while it runs.
///
/// Of the effects of one input, ``Effect/persist(action:)``, ``Effect/delete(kind:id:)``, ``Effect/apply(kind:id:value:)`` and
/// ``Effect/undo(kind:id:value:)`` belong into one transaction, which is committed before the others are carried out.
public struct ActionQueue: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// Of the waits between attempts.
        public var seed: UInt32 = 1
        /// What keys begin with: random, made for each start of the process, so that no key is given twice.
        public var keyPrefix = "key"
        /// How long the first action waits for others, in milliseconds: people often change two or three in a row. 0 to 100 years, as
        /// of each time here; what lies outside counts as the nearer end.
        public var coalescing: Milliseconds = 3_000
        /// Actions in a batch, 1 or more.
        public var maximumBatch = 50
        /// Rows that are kept: some megabytes. One more is refused, for an old one must not be lost without a word.
        public var maximumRows = 10_000
        /// How long a row is kept, in milliseconds: 180 days. Then it is undone.
        public var maximumAge: Milliseconds = 180 * 86_400_000

        /// The defaults.
        public init() {}

        /// Members that are missing are as by default.
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

    /// What happens. `batch` is the number of the effect that sent.
    public enum Input: Codable, Equatable, Sendable {
        /// It is time for what was due.
        case wake
        /// What the store has; nothing is sent before it.
        case loaded(actions: [DeferredAction])
        /// The user gives a status. `before` is what is shown until now; nil: not known.
        case set(kind: String, id: String, value: String, before: String?)
        /// The status as it was read from the server, and was written to the local state. `askedAt`: when the read began;
        /// nil: just now.
        case reloaded(kind: String, id: String, value: String, askedAt: Milliseconds?)
        /// Whether the server can be reached, as far as the device knows. It is believed reachable at first.
        case network(isReachable: Bool)
        /// Send now what waits for others, for example because the app goes to the background.
        case flush
        /// There is a new token.
        case token
        /// No token came of ``Effect/requestToken``: it is asked for again behind a wait, or `isUnauthorized`, because nobody is
        /// signed in: then nothing is sent until the input `token`.
        case tokenFailed(isUnauthorized: Bool?)
        /// What the server answered for each action; an action without a result is sent again.
        case answered(batch: Int, results: [ActionResult])
        /// One answer to the whole batch that is no list of results, or (without a status) none: a network, a deadline.
        case failed(batch: Int, status: Int?, retryAfter: Milliseconds?)
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Write the row of (kind, id), in place of any other.
        case persist(action: DeferredAction)
        /// Delete the row of (kind, id).
        case delete(kind: String, id: String)
        /// Show this status.
        case apply(kind: String, id: String, value: String)
        /// Show the status that the server had when it was last read; nil: not known, reload the thing: the app did not say it,
        /// or an attempt without an answer came behind it.
        case undo(kind: String, id: String, value: String?)
        /// Send these in their order and hand in `answered` or `failed` with this number.
        case send(batch: Int, actions: [DeferredAction])
        /// Fetch a new token, then hand in `token` or `tokenFailed`.
        case requestToken
        /// The server will never do it. `isReplaced`: the user has chosen another value meanwhile, so nothing was undone.
        case rejected(action: DeferredAction, status: Int, isReplaced: Bool)
        /// It was kept for the longest time that a row is kept, and undone.
        case expired(action: DeferredAction)
        /// ``Settings/maximumRows`` are kept already: neither applied nor kept.
        case refused(kind: String, id: String, value: String)
        /// A new token was refused too, or there is none. Nothing is sent until the input `token`.
        case unauthorized
    }

    /// What can be seen of it between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Whether the store has been read.
        public var isLoaded: Bool
        /// What the server is not known to have, the oldest first.
        public var pending: [DeferredAction]
        /// The keys of those on their way.
        public var sending: [String]
        /// No token is accepted.
        public var isUnauthorized: Bool
    }

    /// So long after an action was done, an answer that was asked for before does not hide it: longer than a fetch takes.
    static let settledFor: Milliseconds = 60_000
    /// So many failed answers in a row, and the rows of a batch are sent one by one: one of them may be the cause.
    static let failuresBeforeSplit = 3

    let settings: Settings
    var rows: [Name: Row] = [:]
    var isLoaded = false
    /// When the first row that nobody has sent is due; nil: every row is on its way.
    var dueAt: Milliseconds?
    /// Nothing is sent before it.
    var waitUntil: Milliseconds?
    /// The server chose ``waitUntil``: a network that is back does not shorten it.
    var isServersWait = false
    var isReachable = true
    var token = TokenState.usable(isFresh: false)
    var retry: Retry
    /// In the order of the batch; empty: nothing is on its way.
    var flight: [Sent] = []
    var batch = 0
    var keys = 0
    var order = 0
    /// No row that is not on its way expires before it.
    var expiresAt: Milliseconds?
    var settled: [Name: Settled] = [:]

    /// Nothing is read, and nothing is sent before ``Input/loaded(actions:)``.
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

    /// When rows are to be sent or expire; nil: only something that happens changes anything.
    public var wakeAt: Milliseconds? {
        [nextAttempt, rows.isEmpty ? nil : expiresAt].compactMap { $0 }.min()
    }

    /// What can be seen of it now.
    public var view: View {
        View(
            isLoaded: isLoaded, pending: inOrder.map(\.action), sending: flight.map(\.action.key),
            isUnauthorized: token == .unauthorized)
    }

    /// The status that a pending action gives a thing; nil: none, so what the server says is shown. O(1).
    public func pending(kind: String, id: String) -> String? {
        rows[Name(kind: kind, id: id)]?.action.value
    }
}
