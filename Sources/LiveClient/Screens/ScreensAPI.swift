import LiveState

/// The app's API as screens use it.
///
/// A request that fails throws a ``RequestError`` (<doc:Errors>). What nobody waits for any more is cancelled as a task.
public protocol ScreensAPI: Sendable {
    /// What a thing is to the app: its decoded answer.
    associatedtype Value: Sendable

    /// Fetches a thing.
    func reload(_ thing: Thing) async throws -> FoundThing<Value>

    /// Fetches a page of the list of that name.
    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Value>

    /// Gets another token: a thing or a page was refused with 401. Only for an API with tokens of its own: by default the function of
    /// the client whose ``LiveClient/tokens`` the screens have is asked. It throws ``LiveClientError/unauthorized`` where nobody is
    /// signed in; after any other error it is called again behind a wait. Called once, until something has succeeded.
    func renewToken() async throws
}

extension ScreensAPI {
    /// The API takes the client's tokens. Screens without a client's ask once more for what was refused.
    public func renewToken() async throws { throw UsesClientTokens() }
}

/// What a fetch found.
public enum FoundThing<Value: Sendable>: Sendable {
    /// The thing as it is now.
    case value(Value)
    /// 404 or 410.
    case gone
    /// 403.
    case notOurs

    /// The value, if there is one.
    public var value: Value? { if case .value(let value) = self { value } else { nil } }

    var outcome: Reloaded {
        switch self {
        case .value: .value
        case .gone: .gone
        case .notOurs: .notOurs
        }
    }
}

/// Why there is no value of a thing, though it was asked for.
public enum ThingAbsence: String, Codable, Sendable {
    /// 404 or 410: there is no such thing, or none any more.
    case gone
    /// 403: it is not this person's.
    case notOurs
}

extension FoundThing {
    /// Nil: it is there.
    var absence: ThingAbsence? {
        switch self {
        case .value: nil
        case .gone: .gone
        case .notOurs: .notOurs
        }
    }
}

extension LiveReload {
    /// What ``LiveScreens/reload(_:types:)`` found, for the machine that asked: nil is that no screen needs it.
    public init(_ found: FoundThing<Value>?) {
        switch found {
        case .value(let value)?: self = .value(value)
        case .gone?: self = .gone
        case .notOurs?: self = .notOurs
        case nil: self = .unneeded
        }
    }
}

/// Items of a list, in any order.
public struct ListPage<Value: Sendable>: Sendable {
    /// An item: what it is, and where it stands.
    public struct Item: Sendable {
        /// The thing's id.
        public var id: String
        /// Where it stands in the list.
        public var key: ListKey
        /// What it is.
        public var value: Value

        /// An item of a page.
        public init(id: String, key: ListKey, value: Value) {
            self.id = id
            self.key = key
            self.value = value
        }
    }

    /// At most as many as were asked for.
    public var items: [Item]
    /// Nothing stands behind them, in the direction of the request.
    public var isLast: Bool
    /// Its values are all that ``ScreensAPI/reload(_:)`` would give. Otherwise they are summaries, and details are fetched.
    public var isWhole: Bool

    /// A page. One that is empty and not the last counts as failed.
    public init(items: [Item], isLast: Bool, isWhole: Bool = false) {
        self.items = items
        self.isLast = isLast
        self.isWhole = isWhole
    }
}

/// What a list shows.
public struct ListState<Value: Sendable>: Sendable {
    /// An item: its value, if any is known, and how far that can be trusted.
    public struct Item: Sendable {
        /// The thing's id.
        public let id: String
        /// Where it stands in the list.
        public let key: ListKey
        /// The last that is known; nil: nothing.
        public let value: Value?
        /// How far it can be trusted.
        public let knowledge: Knowledge
    }

    /// All that is known, in its order; between two items something may be missing, see ``complete``.
    public let items: [Item]
    /// Where nothing is missing.
    public let complete: [ListInterval]
    /// Where nothing was missing.
    public let stale: [ListInterval]
    /// Of all that the screen has use for; nil while no screen shows the list.
    public let knowledge: Knowledge?
    /// What can be drawn without a hole, from where the screen is; nil while no screen shows the list.
    public let stretch: ListStretch?
    /// Whether a page is on its way.
    public let isLoading: Bool
    /// Failed pages in a row.
    public let failures: Int
    /// Why the last page did not come; nil: it came, or none was asked for.
    public let failure: RequestFailure?
    /// Neither the API's token nor the one after it was taken: nothing is asked until ``LiveScreens/tokenChanged()``.
    public let isUnauthorized: Bool
}

/// What a screen of details shows.
public struct DetailsState<Value: Sendable>: Sendable {
    /// Which thing.
    public let thing: Thing
    /// The last that is known of all of it, else a list's summary; nil: nothing.
    public let value: Value?
    /// How far all of it can be trusted.
    public let knowledge: Knowledge
    /// Whether the value is all of it, and not a list's summary.
    public let isWhole: Bool
    /// Of the last fetch; nil when it was answered.
    public let failure: RequestFailure?
    /// What the last fetch said of a thing that is not there; nil: it is there, or nobody knows.
    public let absence: ThingAbsence?
}
