import LiveState

/// The result of a reload of one thing.
public enum LiveReload<Value: Sendable>: Sendable {
    /// The current value of the thing.
    case value(Value)
    /// No screen needs it: its known value was marked stale, or there is nothing to mark. A store that contains the thing has to
    /// store the mark too (``LiveArea/write(_:in:)``): after the next start the cursor held is good, and the old value would
    /// count as new.
    case unneeded
    /// 404 or 410.
    case gone
    /// 403.
    case notOurs
    /// It could not be reloaded, after three attempts or for good. The known value is old, and a store that contains it stores
    /// that mark too. It is requested again when a person opens it (``LiveMachine/check(_:)``), at each start, and by backoff.
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
    /// The snapshot replaces everything.
    case snapshot(Snapshot)
    /// These things have changed, in the order of their events.
    case things([(thing: Thing, reload: LiveReload<Value>)])
}

/// The time of the event that reported a change of a thing that is shown now.
public struct LiveTime: Equatable, Sendable {
    /// Which thing.
    public let thing: Thing
    /// The timestamp of the oldest event that is shown now, in milliseconds of Unix time.
    public let ts: Milliseconds
}

/// An area of an app's state, as a ``LiveMachine`` needs it: how it is fetched, stored and shown.
///
/// Requests throw ``RequestError`` (<doc:Errors>). A request's task is cancelled when its deadline is over or no caller waits for
/// it any more. It should then end soon, and its later result is ignored.
public protocol LiveArea: Sendable {
    /// The store of the area and of the cursor held.
    associatedtype Store: LiveStore
    /// The whole area, as the app's API returns it.
    associatedtype Snapshot: Sendable
    /// One thing of the area.
    associatedtype Value: Sendable

    /// Its unique name in the store.
    var name: String { get }

    /// Reads what was stored, and shows it, before anything else is called. If it throws, the machine acts as if nothing were
    /// stored, and a snapshot replaces it. After a ``StoreError`` that may pass (``StoreError/mayPass``), or after the machine's
    /// `storeDeadline`, it is called again after a wait. At the deadline its task is cancelled, and it must show nothing.
    func restore(from store: Store) async throws

    /// Stores the lists of the area's screens for the next start, such as a ``ListKeeper``; nil: lists are not stored.
    var lists: (any ListKeeping)? { get }

    /// Shows things of the area, such as ``LiveScreens``; the machine's sign then includes it. Nil: only the machine counts.
    var onScreen: (any ShownThings)? { get }

    /// The machine got a cursor (events keep what is fetched from now on up to date), or lost the one it had (the known state may
    /// be old). Calls come in order, and each is awaited before the snapshot and the reloads that follow it. If one cursor
    /// replaces another, that is a loss and then a new cursor. At first there is none. Do not wait for the machine here. Until it
    /// returns, snapshot and reloads are not requested, and fail at their deadline.
    ///
    /// With ``LiveScreens``: `await screens.setFinger(isHeld)`.
    func fingerChanged(isHeld: Bool) async

    /// Fetches everything. Called with a fresh cursor: it must not return what was fetched or cached before.
    func snapshot() async throws -> Snapshot

    /// Fetches one thing, or reports that no screen needs it.
    ///
    /// - Parameter types: what happened to it, in order.
    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Value>

    /// Writes a change, in the transaction that stores the new cursor. For ``LiveReload/unneeded`` delete the stored value, or
    /// mark it as old: at the next start, a good cursor makes the stored values count as current.
    func write(_ change: LiveChange<Snapshot, Value>, in transaction: Store.Transaction) throws

    /// Shows a change that was stored.
    func show(_ change: LiveChange<Snapshot, Value>) async

    /// Reports which events are shown now, directly after ``show(_:)``: for `RefreshCounts` (<doc:Counting>).
    func shown(_ times: [LiveTime]) async

    /// Gets another token, because the API has refused the last one. Needed only for an API with its own tokens; by default the
    /// client's function is called (``TokenQuestion``). It throws ``LiveClientError/unauthorized`` if no user is signed in. After
    /// any other error it is called again after a wait, in the foreground and with a network.
    func renewToken() async throws
}

extension LiveArea {
    /// The default: lists are not stored.
    public var lists: (any ListKeeping)? { nil }
    /// The default: nothing else shows things of the area.
    public var onScreen: (any ShownThings)? { nil }
    /// The default: nothing is stored that could be shown.
    public func restore(from store: Store) async throws {}
    /// The default: nothing in the area depends on the cursor held.
    public func fingerChanged(isHeld: Bool) async {}
    /// The default: the area's values are not stored.
    public func write(_ change: LiveChange<Snapshot, Value>, in transaction: Store.Transaction) throws {}
    /// The default: nothing is counted.
    public func shown(_ times: [LiveTime]) async {}
    /// The default: the API accepts the client's tokens, so the client's function is asked for another one.
    public func renewToken() async throws { throw UsesClientTokens() }
}

/// Stores the lists of a machine's screens for the next start, as ``ListKeeper`` does. The machine calls them in this order.
public protocol ListKeeping: Sendable {
    /// Reads the stored lists. Lists with another cursor than this, the stored state's, are shown as old at once.
    ///
    /// - Throws: if they cannot be read now. Then the whole store is read again after a wait, and nothing in it is overwritten.
    func load(finger: String?) async throws

    /// Shows the lists that were read. They count as current if the cursor they were stored with is held now; otherwise as old.
    func restore() async

    /// Prepares what each commit stores of the lists. Called before it, after its reloads; nil: there is nothing to store.
    ///
    /// - Returns: writes the lists in the commit's transaction (of the type ``LiveStore/Transaction``), with its cursor.
    func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)?

    /// The prepared commit is done, or nothing of it is stored.
    func commitEnded(isDone: Bool)

    /// The stored state now belongs to another cursor, or (nil) to none.
    func fingerMoved(to finger: String?)

    /// Stores now what would be stored soon: the process may end without notice.
    func keep()

    /// Stores nothing any more.
    func close()
}

extension ListKeeping {
    /// The default: nothing is stored with a commit.
    public func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)? { nil }
    /// The default: does nothing.
    public func commitEnded(isDone: Bool) {}
}

/// Whether the screens show the server's state: what a machine's sign includes besides the machine itself.
public struct ScreenCompleteness: Equatable, Sendable {
    /// Whether all lists and details on the screens show the server's state.
    public var isComplete = true
    /// Whether a part of it could not be fetched.
    public var hasFailed = false
    /// Whether a part of it is being fetched.
    public var isLoading = false

    /// Makes the value for screens that show the server's state.
    public init() {}
}

/// Shows things of a machine, as ``LiveScreens`` do. The machine follows it (``LiveArea/onScreen``).
public protocol ShownThings: Sendable {
    /// The current completeness.
    var lastCompleteness: ScreenCompleteness { get async }

    /// The current completeness, then each later one; for one reader, the machine.
    var completeness: AsyncStream<ScreenCompleteness> { get async }

    /// A person asks for a refresh: tries now what waits for another attempt.
    func retryNow() async
}
