import LiveState

/// The app's API as screens use it.
///
/// A request that fails throws a ``RequestError`` (<doc:Errors>). Its task is cancelled when nothing waits for it any more.
public protocol ScreensAPI: Sendable {
    /// The app's type of a thing: its decoded answer.
    associatedtype Value: Sendable

    /// Fetches a thing.
    func reload(_ thing: Thing) async throws -> FoundThing<Value>

    /// Fetches a page of the list of that name.
    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Value>

    /// Gets another token after a thing or a page was refused with 401. Needed only for an API with its own tokens. By default it
    /// calls the function of the client whose ``LiveClient/tokens`` the screens have. It throws ``LiveClientError/unauthorized``
    /// if no user is signed in. After any other error it is called again after a wait. Called once until a request has succeeded.
    func renewToken() async throws
}

extension ScreensAPI {
    /// The default: the API accepts the client's tokens. Screens without a client's tokens repeat the refused request once.
    public func renewToken() async throws { throw UsesClientTokens() }
}

/// The result of a fetch.
public enum FoundThing<Value: Sendable>: Sendable {
    /// The current value of the thing.
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

/// Why a thing that was requested has no value.
public enum ThingAbsence: String, Codable, Sendable {
    /// 404 or 410: the thing does not exist, or not any more.
    case gone
    /// 403: the thing does not belong to this person.
    case notOurs
}

extension FoundThing {
    /// Nil: the thing exists.
    var absence: ThingAbsence? {
        switch self {
        case .value: nil
        case .gone: .gone
        case .notOurs: .notOurs
        }
    }
}

extension LiveReload {
    /// Turns the result of ``LiveScreens/reload(_:types:)`` into one for the machine; nil means that no screen needs it.
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
    /// An item, with its position in the list.
    public struct Item: Sendable {
        /// The thing's id.
        public var id: String
        /// Its position in the list.
        public var key: ListKey
        /// Its value.
        public var value: Value

        /// Makes an item of a page.
        public init(id: String, key: ListKey, value: Value) {
            self.id = id
            self.key = key
            self.value = value
        }
    }

    /// At most as many as the request asked for.
    public var items: [Item]
    /// True: no more items follow in the direction of the request.
    public var isLast: Bool
    /// Whether its values are what ``ScreensAPI/reload(_:)`` would return. Otherwise they are summaries, and details are fetched.
    public var isWhole: Bool

    /// Makes a page. An empty page that is not the last counts as failed.
    public init(items: [Item], isLast: Bool, isWhole: Bool = false) {
        self.items = items
        self.isLast = isLast
        self.isWhole = isWhole
    }
}

/// What a list shows.
public struct ListState<Value: Sendable>: Sendable {
    /// An item: its value, if it is known, and how far that can be trusted.
    public struct Item: Sendable {
        /// The thing's id.
        public let id: String
        /// Its position in the list.
        public let key: ListKey
        /// The last known value; nil if there is none.
        public let value: Value?
        /// How far it can be trusted.
        public let knowledge: Knowledge
    }

    /// All known items, in order. Between two of them something may be missing, see ``complete``.
    public let items: [Item]
    /// The intervals in which nothing is missing.
    public let complete: [ListInterval]
    /// The intervals in which nothing was missing.
    public let stale: [ListInterval]
    /// The knowledge of all items that the screen needs; nil while no screen shows the list.
    public let knowledge: Knowledge?
    /// The items without a gap from the screen's position on; nil while no screen shows the list.
    public let stretch: ListStretch?
    /// Whether a page is being loaded.
    public let isLoading: Bool
    /// Failed pages in a row.
    public let failures: Int
    /// Why the last page could not be loaded; nil: it was loaded, or none was requested.
    public let failure: RequestFailure?
    /// The API accepted neither the token nor the next one. Nothing is requested until ``LiveScreens/tokenChanged()``.
    public let isUnauthorized: Bool
}

/// What a screen of details shows.
public struct DetailsState<Value: Sendable>: Sendable {
    /// Which thing.
    public let thing: Thing
    /// The last known complete value, else a list's summary; nil if there is none.
    public let value: Value?
    /// How far the complete value can be trusted.
    public let knowledge: Knowledge
    /// Whether the value is complete, and not a list's summary.
    public let isWhole: Bool
    /// The failure of the last fetch; nil if it was answered.
    public let failure: RequestFailure?
    /// Why the thing does not exist, by the last fetch; nil: it exists, or this is unknown.
    public let absence: ThingAbsence?
}
