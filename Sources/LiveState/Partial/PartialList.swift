/// A list of which only parts are known. It decides what is shown, and which page to load next.
///
/// It knows where a screen is. It asks for pages, one at a time, until nothing is missing for as many items as the screen needs.
/// Events add items where the list is known, and are ignored elsewhere until that part is loaded. Things that changed while a
/// page was in flight are reloaded after it, because the page may have either value.
public struct PartialList: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Equatable, Sendable {
        /// Items of a page: 50; 1 or more.
        public var pageLimit = 50
        /// How many items are remembered; those furthest from the screen are forgotten first: 10,000; 2 or more.
        public var maximumItems = 10_000
        /// See ``CompleteIntervals/maximumIntervals``.
        public var maximumIntervals = CompleteIntervals.maximumIntervals
        /// How many things may change while a page is in flight: 200. If more change, the page counts as failed.
        public var maximumChanges = 200
        /// Seed of the waits after failures.
        public var seed: UInt32 = 0

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            func value<Value: Decodable>(_ key: CodingKeys, _ standard: Value) throws -> Value {
                try values.decodeIfPresent(Value.self, forKey: key) ?? standard
            }
            pageLimit = try value(.pageLimit, pageLimit)
            maximumItems = try value(.maximumItems, maximumItems)
            maximumIntervals = try value(.maximumIntervals, maximumIntervals)
            maximumChanges = try value(.maximumChanges, maximumChanges)
            seed = try value(.seed, seed)
        }
    }

    /// What happens.
    public enum Input: Codable, Equatable, Sendable {
        /// A screen shows the list from this end on, and needs this many items, up to half of `maximumItems`.
        case show(from: ListEnd, direction: ListDirection, count: Int)
        /// No screen shows it.
        case hide
        /// The machine got a cursor, or lost it (`resync`, or too old). Without a cursor everything is stale, and stays so.
        case finger(isHeld: Bool)
        /// What was stored. It comes after `finger` if a cursor was stored too.
        case stored(intervals: [ListInterval], items: [ListItem])
        /// The items of a page in any order. `isLast`: nothing is behind them. A page that is not the last, and has no item
        /// behind what is known, counts as failed.
        case pageLoaded(number: Int, items: [ListItem], isLast: Bool)
        /// The page is tried again, after the server's time if it gave one. A refused page would be refused again: it is asked
        /// for when a screen shows the list again, or when the cursor changes.
        case pageFailed(number: Int, retryAfter: Milliseconds?, isRefused: Bool? = nil)
        /// An event named the thing.
        case changed(id: String)
        /// The thing was reloaded, and has this position.
        case placed(id: String, key: ListKey)
        /// The thing is gone, or no longer belongs to the list.
        case removed(id: String)
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Ask the app's API for a page; its answer brings the number back.
        case loadPage(number: Int, page: PageRequest)
        /// This page is no longer needed.
        case giveUpPage(number: Int)
        /// These changed while a page was in flight: reload each of them.
        case reload(ids: [String])
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// All known items, in order; between two of them some may be missing.
        public let items: [ListItem]
        /// The stretches in which nothing is missing.
        public let complete: [ListInterval]
        /// The stretches in which nothing was missing.
        public let stale: [ListInterval]
        /// How far the shown items are known: from the screen's end to the item that fills it, or to the list's end. Nil: hidden.
        public let knowledge: Knowledge?
        /// What can be drawn from the screen's end on. Nil: no screen shows the list.
        public let stretch: ListStretch?
        /// Whether a page is in flight.
        public let isLoading: Bool
        /// Failed pages in a row.
        public let failures: Int
    }

    struct Place: Equatable, Sendable {
        let from: ListEnd
        let direction: ListDirection
        let count: Int
    }

    /// A page in flight.
    struct Page: Equatable, Sendable {
        let number: Int
        let request: PageRequest
        /// Whether every event since the question reaches this list.
        let isWatched: Bool
        var changed: Set<Exact> = []
        /// More things changed than are remembered.
        var isOverrun = false
    }

    let settings: Settings
    var intervals: CompleteIntervals
    /// In their order.
    var items: [ListItem] = []
    var keys: [Exact: ListKey] = [:]
    var place: Place?
    var page: Page?
    /// The page that the server refused.
    var refused: PageRequest?
    var isFingerHeld = false
    var retry: Retry
    var retryAt: Milliseconds?
    var lastNumber = 0

    /// Knows nothing yet.
    public init(_ settings: Settings) {
        var settings = settings
        settings.pageLimit = max(1, settings.pageLimit)
        settings.maximumItems = max(2, settings.maximumItems)
        self.settings = settings
        intervals = CompleteIntervals(maximum: settings.maximumIntervals)
        retry = Retry(seed: settings.seed)
    }

    /// What is visible from outside now.
    public var view: View {
        View(
            items: items, complete: intervals.complete, stale: intervals.stale, knowledge: knowledge,
            stretch: stretch, isLoading: isLoading, failures: retry.failures)
    }

    /// When a failed page is due again; nil: none waits.
    public var wakeAt: Milliseconds? { retryAt }

    /// Whether a page is in flight, as the ``view`` shows.
    package var isLoading: Bool { page != nil }

    /// Whether the list has this thing.
    public func has(_ id: String) -> Bool { keys[Exact(id)] != nil }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .show(let from, let direction, let count):
            refused = nil
            place = Place(from: from, direction: direction, count: min(max(0, count), settings.maximumItems / 2))
        case .hide:
            place = nil
            retryAt = nil
        case .finger(let isHeld):
            setFinger(isHeld, &effects)
        case .stored(let intervals, let items):
            restore(intervals, items)
        case .pageLoaded(let number, let items, let isLast):
            guard let loaded = page, loaded.number == number else { return [] }
            page = nil
            receive(loaded, items, isLast, at: now, &effects)
        case .pageFailed(let number, let retryAfter, let isRefused):
            guard let failed = page, failed.number == number else { return [] }
            page = nil
            fail(retryAfter, at: now)
            if isRefused == true { (refused, retryAt) = (failed.request, nil) }
        case .changed(let id):
            noteChange(id)
        case .placed(let id, let key):
            noteChange(id)
            set(id, intervals.knowledge(of: key) == .unknown ? nil : key)
            if items.count > settings.maximumItems { limitItems() }
        case .removed(let id):
            noteChange(id)
            set(id, nil)
        case .wake:
            if let due = retryAt, due <= now { retryAt = nil }
        }
        askNext(&effects)
        return effects
    }
}
