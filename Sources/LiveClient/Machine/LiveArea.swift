import LiveState

/// What a reload of one thing has brought.
public enum LiveReload<Value: Sendable>: Sendable {
    /// The thing as it is now.
    case value(Value)
    /// No screen needs it: what is known of it was marked stale, or there is nothing to be marked. A store that keeps the thing
    /// has to keep the mark too (``LiveArea/write(_:in:)``): after the next start the finger is good, and the old value looks new.
    case unneeded
    /// 404 or 410.
    case gone
    /// 403.
    case notOurs
    /// It could not be reloaded, three times or for good: what is known of it is old, and a store that keeps it keeps that mark too.
    /// It is asked for again when somebody looks (``LiveMachine/check(_:)``), at each start, and by backoff.
    case knownStale(RequestFailure)

    var outcome: Reloaded {
        switch self {
        case .value, .unneeded: .value
        case .gone: .gone
        case .notOurs: .notOurs
        case .knownStale: .knownStale
        }
    }
}

/// What a commit changes in the app's state.
public enum LiveChange<Snapshot: Sendable, Value: Sendable>: Sendable {
    /// The snapshot takes the place of everything.
    case snapshot(Snapshot)
    /// These things have changed, in the order in which the events came.
    case things([(thing: Thing, reload: LiveReload<Value>)])
}

/// When it was said that a thing that is shown now had changed.
public struct LiveTime: Equatable, Sendable {
    /// Which thing.
    public let thing: Thing
    /// Of the oldest event that is shown now, in milliseconds of Unix time.
    public let ts: Milliseconds
}

/// An area of an app's state, as a ``LiveMachine`` needs it: how it is fetched, stored and shown.
///
/// Requests throw ``RequestError`` (<doc:Errors>); a request whose task is cancelled, because its deadline is over or nobody waits
/// for it any more, should end soon, and what it still brings is passed over.
public protocol LiveArea: Sendable {
    /// Where it is kept, with the finger.
    associatedtype Store: LiveStore
    /// The whole area, as the app's API gives it.
    associatedtype Snapshot: Sendable
    /// One thing of it.
    associatedtype Value: Sendable

    /// A name of its own in the store.
    var name: String { get }

    /// Reads what was stored, and shows it. Called before anything else; what it throws is as if there were nothing, so that a
    /// snapshot takes its place. Not so a ``StoreError`` that may pass (``StoreError/mayPass``): then it is called again behind a
    /// wait. So it is where it took longer than the machine's `storeDeadline`: its task is cancelled, and it shows nothing.
    func restore(from store: Store) async throws

    /// What keeps the lists of its screens over a restart, such as a ``ListKeeper``; nil: nothing does.
    var lists: (any ListKeeping)? { get }

    /// What shows things of the area, such as ``LiveScreens``: the machine's sign covers it. Nil: the machine's state is all.
    var onScreen: (any ShownThings)? { get }

    /// The machine got a finger (what is fetched from now on stays as the server has it, by events), or lost the one it had (what
    /// is known may be old). In order, each awaited before the snapshot and the reloads that follow it; a finger that takes the
    /// place of another is a loss and then a finger. At first there is none. Do not wait for the machine in it. While it does not
    /// return, snapshot and reloads are not asked for, and fail at their deadline.
    ///
    /// With ``LiveScreens``: `await screens.setFinger(isHeld)`.
    func fingerChanged(isHeld: Bool) async

    /// Fetches everything. Called when a fresh finger has come: it must not give what was fetched or cached before.
    func snapshot() async throws -> Snapshot

    /// Fetches one thing, or says that nobody needs it.
    ///
    /// - Parameter types: what happened to it, in order.
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Value>

    /// Writes a change, in the transaction that moves the finger. For ``LiveReload/unneeded`` delete the stored value, or mark
    /// it as old: what is stored behind a good finger is believed at the next start.
    func write(_ change: LiveChange<Snapshot, Value>, in transaction: Store.Transaction) throws

    /// Shows a change that was stored.
    func show(_ change: LiveChange<Snapshot, Value>) async

    /// What these events brought is shown now, right behind ``show(_:)``: for `RefreshCounts` (<doc:Counting>).
    func shown(_ times: [LiveTime]) async

    /// Gets another token: the API has refused the last one. Only for an API with tokens of its own: by default the client's function
    /// is asked (``TokenQuestion``). It throws ``LiveClientError/unauthorized`` where nobody is signed in; after any other error it is
    /// called again behind a wait, in the foreground and with a network.
    func renewToken() async throws
}

extension LiveArea {
    /// Nothing keeps lists.
    public var lists: (any ListKeeping)? { nil }
    /// Nothing else shows things of the area.
    public var onScreen: (any ShownThings)? { nil }
    /// Nothing was stored that could be shown.
    public func restore(from store: Store) async throws {}
    /// Nothing in the area depends on the finger.
    public func fingerChanged(isHeld: Bool) async {}
    /// The area's values are not stored.
    public func write(_ change: LiveChange<Snapshot, Value>, in transaction: Store.Transaction) throws {}
    /// Nothing is counted.
    public func shown(_ times: [LiveTime]) async {}
    /// The API takes the client's tokens: its function is asked for another one.
    public func renewToken() async throws { throw UsesClientTokens() }
}

/// What keeps the lists of a machine's screens over a restart: ``ListKeeper`` does. The machine calls it, in this order.
public protocol ListKeeping: Sendable {
    /// Reads what was kept. Where that was with another finger than this, the stored state's, it is shown as old at once.
    ///
    /// - Throws: where it cannot be read now. Then all of the store is read again behind a wait, and nothing of it overwritten.
    func load(finger: String?) async throws

    /// Shows what was read: as good as the finger it was kept with, if that is held now; else as old.
    func restore() async

    /// What a commit of the machine keeps of the lists. Called before each, when what it changes has been reloaded; nil: nothing is to
    /// be kept with it.
    ///
    /// - Returns: writes the lists, in the commit's transaction (of the type ``LiveStore/Transaction``), with the finger that it stores.
    func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)?

    /// The commit that was prepared is done, or nothing of it is stored.
    func commitEnded(isDone: Bool)

    /// The store has the state as of another finger, or (nil) of none.
    func fingerMoved(to finger: String?)

    /// Keeps now what would be kept soon: the process may end without another word.
    func keep()

    /// Keeps nothing any more.
    func close()
}

extension ListKeeping {
    /// Nothing is kept with a commit.
    public func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)? { nil }
    /// Nothing was.
    public func commitEnded(isDone: Bool) {}
}

/// Whether what screens show is as the server has it: what a machine's sign covers besides the machine itself.
public struct ScreenCompleteness: Equatable, Sendable {
    /// All lists and details on the screens are.
    public var isComplete = true
    /// Some of it could not be fetched.
    public var hasFailed = false
    /// Some of it is being fetched.
    public var isLoading = false

    /// All of it is as the server has it.
    public init() {}
}

/// What shows things of a machine: ``LiveScreens`` are. The machine follows it (``LiveArea/onScreen``).
public protocol ShownThings: Sendable {
    /// How it is now.
    var lastCompleteness: ScreenCompleteness { get async }

    /// The same, and each that follows; for one reader, the machine.
    var completeness: AsyncStream<ScreenCompleteness> { get async }

    /// Somebody pulls the screen: what waits to be tried again is tried now.
    func retryNow() async
}
