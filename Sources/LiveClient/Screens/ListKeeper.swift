import LiveState
import Locks

/// Stores the lists of ``LiveScreens`` together with the state of their machine, so that the next start shows them at once.
///
///     let lists = ListKeeper(screens, in: try await SQLiteListStore(store, encode: encode, decode: decode), area: "incidents")
///
/// Set it as ``LiveArea/lists`` of the machine's area. Each commit of the machine stores the lists too, in its transaction if
/// they are in the same ``SQLiteStore``. Then state, cursor and lists belong together, whenever the process ends. What changes
/// between two commits, for example by a page, is stored soon afterwards, with the same cursor. At the next start, only lists
/// with the cursor of the stored state are as good as that state. All others are old, and are loaded again from the end that is
/// visible. At most 500 items of each list are stored.
public final class ListKeeper<API: ScreensAPI>: ListKeeping {
    private struct State {
        /// The lists that were read, until the screens receive them.
        var found: [StoredList<API.Value>]?
        /// Whether the screens have received the lists: from now on they know what to store.
        var isRestored = false
        var isClosed = false
        /// Whether the lists have changed since they were stored, and not only the cursor.
        var isDirty = true
        var finger: String?
        /// The number of prepared commits that have not ended. Nothing else is written meanwhile.
        var commits = 0
        /// The cursor with which the last of them has stored the lists; nil: none has.
        var committed: String??
        var timer: Task<Void, Never>?
        /// The previous write. Only one runs at a time, so that no cursor is stored with lists whose write has failed.
        var writing: Task<Void, Never>?
        /// Whether the next write has not begun: it will store the state of that moment.
        var isWritingNext = false
    }

    /// The delay before changed lists are stored, because pages and events come in groups.
    static var pause: Duration { .seconds(1) }
    /// The time limit for reading the store. After it nothing stored is shown.
    private static var readDeadline: Milliseconds { 5_000 }

    private let screens: LiveScreens<API>
    private let store: any ListStore<API.Value>
    private let area: String
    private let state = Lock(State())

    /// - Parameter area: the machine's area (``LiveArea/name``), under which the lists are stored.
    public init(_ screens: LiveScreens<API>, in store: any ListStore<API.Value>, area: String) {
        (self.screens, self.store, self.area) = (screens, store, area)
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// Reads the stored lists. What cannot be read at all, or not in time, is not shown.
    ///
    /// - Throws: a ``StoreError`` that may pass: otherwise the stored lists would be overwritten as if they were missing.
    public func load(finger: String?) async throws {
        let (store, area) = (store, area)
        let found: StoredLists<API.Value>?
        do {
            found = try await Deadline.run(milliseconds: Self.readDeadline) { try await store.loadLists(area: area) }
        } catch let error as StoreError where error.mayPass {
            throw error
        } catch {
            return
        }
        guard !Task.isCancelled, let found else { return }
        state.withLock { $0.found = found.lists }
        if found.finger == nil || found.finger != finger { await give() }
    }

    /// Shows the lists that were read.
    public func restore() async {
        await give()
        // Before the first write, which stores all lists, whether they have changed or not.
        await screens.onListChange { [weak self] in self?.changed() }
        state.withLock { $0.isRestored = true }
        keepLater()
    }

    private func give() async {
        let found = state.withLock { state in
            defer { state.found = nil }
            return state.found
        }
        if let found { await screens.restore(found) }
    }

    /// The stored state now belongs to another cursor.
    public func fingerMoved(to finger: String?) {
        let isKept = state.withLock { state in
            state.finger = finger
            return state.committed == .some(finger)
        }
        if !isKept { keepLater() }
    }

    /// Prepares what a commit of the machine stores of the lists.
    public func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)? {
        let (isReady, writing) = state.withLock { state in
            let isReady = state.isRestored && !state.isClosed && store.isInMachineStore
            if isReady { state.commits += 1 }
            return (isReady, state.writing)
        }
        guard isReady else { return nil }
        // The commit stores newer lists than the running write, so it waits for that.
        await writing?.value
        let isDirty = state.withLock { state in
            defer { state.isDirty = false }
            return state.isDirty
        }
        let (isFingerHeld, lists) = await screens.toStore()
        return { [weak self, store, area] finger, transaction in
            let finger = isFingerHeld ? finger : nil
            let isKept = try store.write(area: area, finger: finger, lists: isDirty ? lists : nil, in: transaction)
            self?.state.withLock { state in
                state.isDirty = state.isDirty || (isDirty && !isKept)
                state.committed = isKept ? .some(finger) : nil
            }
        }
    }

    /// A prepared commit is done, or nothing of it is stored.
    public func commitEnded(isDone: Bool) {
        let mustKeep = state.withLock { state in
            state.commits -= 1
            if !isDone { (state.isDirty, state.committed) = (true, nil) }
            return state.isDirty || state.committed != .some(state.finger)
        }
        if mustKeep { keepLater() }
    }

    private func changed() {
        state.withLock { $0.isDirty = true }
        keepLater()
    }

    private func keepLater() {
        state.withLock { state in
            guard state.isRestored, !state.isClosed, state.timer == nil else { return }
            state.timer = Task { [weak self] in
                guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
                self?.state.withLock { $0.timer = nil }
                self?.keep()
            }
        }
    }

    /// Stores the lists now. What the store does not accept is stored with the next change.
    public func keep() {
        state.withLock { state in
            guard state.isRestored, !state.isClosed, !state.isWritingNext else { return }
            state.isWritingNext = true
            state.writing = Task { [weak self, before = state.writing] in
                await before?.value
                await self?.write()
            }
        }
    }

    /// Reads the cursor before the lists: they may contain newer data than the cursor covers, never older.
    private func write() async {
        let (finger, isDirty, isClosed) = state.withLock { state -> (String?, Bool, Bool) in
            state.isWritingNext = false
            // A running commit stores them, and what changes meanwhile is stored after it.
            guard state.commits == 0 else { return (state.finger, false, true) }
            defer { state.isDirty = false }
            return (state.finger, state.isDirty, state.isClosed)
        }
        guard !isClosed else { return }
        let (isFingerHeld, lists) = await screens.toStore()
        do {
            try await store.commit(area: area, finger: isFingerHeld ? finger : nil, lists: isDirty ? lists : nil)
        } catch {
            state.withLock { $0.isDirty = true }
        }
    }

    /// Stores nothing any more.
    public func close() {
        state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
        }
    }
}
