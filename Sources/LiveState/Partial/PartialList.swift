/// A list of which parts are known: what it shows, and which page to load next.
///
/// It is told where a screen is, and asks for pages, one at a time, until nothing is missing from there on for as many
/// items as the screen has use for. What comes by events is added where the list is known, and ignored elsewhere until that
/// part is loaded. What changed while a page was on its way is reloaded behind it, since nobody knows which of the two the
/// page has.
public struct PartialList: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Equatable, Sendable {
        /// Items of a page: 50; 1 or more.
        public var pageLimit = 50
        /// So many items are remembered; those furthest from where the screen is go first: 10,000; 2 or more.
        public var maximumItems = 10_000
        /// See ``CompleteIntervals/maximumIntervals``.
        public var maximumIntervals = CompleteIntervals.maximumIntervals
        /// So many things may change while a page is on its way; when there are more, it counts as failed: 200.
        public var maximumChanges = 200
        /// Of the waits after failures.
        public var seed: UInt32 = 0

        /// The defaults.
        public init() {}

        /// Members that are missing are as by default.
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
        /// A screen shows the list from there on, and has use for so many items, up to half of `maximumItems`.
        case show(from: ListEnd, direction: ListDirection, count: Int)
        /// No screen shows it.
        case hide
        /// The machine got a finger, or lost it (`resync`, hopelessly old): without one all is stale, and stays so.
        case finger(isHeld: Bool)
        /// What was stored, behind `finger` if that was stored too.
        case stored(intervals: [ListInterval], items: [ListItem])
        /// The items of a page in any order; `isLast` when nothing is behind them. One that is not the last and brings no item
        /// behind what is known counts as failed.
        case pageLoaded(number: Int, items: [ListItem], isLast: Bool)
        /// Tried again; when the server said so, after its time. What it refuses it would refuse again: such a page is asked
        /// for when a screen shows the list anew, or with another finger.
        case pageFailed(number: Int, retryAfter: Milliseconds?, isRefused: Bool? = nil)
        /// An event named the thing.
        case changed(id: String)
        /// The thing was reloaded, and stands there.
        case placed(id: String, key: ListKey)
        /// The thing is gone, or does not belong to the list any more.
        case removed(id: String)
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Ask the app's API for a page; its answer brings the number back.
        case loadPage(number: Int, page: PageRequest)
        /// Nobody waits for this page any more.
        case giveUpPage(number: Int)
        /// These changed while a page was on its way: ask for each of them.
        case reload(ids: [String])
    }

    /// What can be seen of it between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// All that is known, in its order; between two items something may be missing.
        public let items: [ListItem]
        /// Where nothing is missing.
        public let complete: [ListInterval]
        /// Where nothing was missing.
        public let stale: [ListInterval]
        /// Of all from where the screen is up to the item that fills it, or to the end; nil while no screen shows the list.
        public let knowledge: Knowledge?
        /// What can be drawn from where the screen is; nil while no screen shows the list.
        public let stretch: ListStretch?
        /// Whether a page is on its way.
        public let isLoading: Bool
        /// Failed pages in a row.
        public let failures: Int
    }

    struct Place: Equatable, Sendable {
        let from: ListEnd
        let direction: ListDirection
        let count: Int
    }

    /// A page that is on its way.
    struct Page: Equatable, Sendable {
        let number: Int
        let request: PageRequest
        /// Whether each event since it was asked for comes here.
        let isWatched: Bool
        var changed: Set<Exact> = []
        /// More changed than is remembered.
        var isOverrun = false
    }

    let settings: Settings
    var intervals: CompleteIntervals
    /// In their order.
    var items: [ListItem] = []
    var keys: [Exact: ListKey] = [:]
    var place: Place?
    var page: Page?
    /// What the server does not give.
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

    /// What can be seen of it now.
    public var view: View {
        View(
            items: items, complete: intervals.complete, stale: intervals.stale, knowledge: knowledge,
            stretch: stretch, isLoading: isLoading, failures: retry.failures)
    }

    /// When a page that failed is due again; nil: none waits.
    public var wakeAt: Milliseconds? { retryAt }

    /// Whether a page is on its way, as the ``view`` says.
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
