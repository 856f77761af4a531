import LiveState
import Locks

/// Keeps the lists of ``LiveScreens`` beside the state of their machine, so that the next start shows them at once.
///
///     let lists = ListKeeper(screens, in: try await SQLiteListStore(store, encode: encode, decode: decode), area: "incidents")
///
/// Give it to the machine as ``LiveArea/lists``. Each commit of the machine keeps the lists too, in its transaction where they are in
/// the same ``SQLiteStore``: state, finger and lists are those of before or of after it, whenever the process ends. What changes
/// between two commits, such as by a page, is kept soon afterwards, with the same finger. Only lists whose finger is that of the
/// stored state are as good as that at the next start; all others are old, and loaded again from the end that is looked at. At
/// most 500 items of each are kept.
public final class ListKeeper<API: ScreensAPI>: ListKeeping {
    private struct State {
        /// What was read, and no screen has got yet.
        var found: [StoredList<API.Value>]?
        /// What was read was given to the screens: from now on they know what is to be kept.
        var isRestored = false
        var isClosed = false
        /// The lists have changed since they were kept, and not only the finger.
        var isDirty = true
        var finger: String?
        /// Commits of the machine that were prepared and have not ended: nothing else is written meanwhile.
        var commits = 0
        /// The finger that the last of them has kept the lists with; nil: none has.
        var committed: String??
        var timer: Task<Void, Never>?
        /// The writing before: one at a time, so that no finger stands beside lists whose writing has failed.
        var writing: Task<Void, Never>?
        /// That writing has not begun: it takes what is known then.
        var isWritingNext = false
    }

    /// Lists that have changed are kept so much later: pages and events come in groups.
    static var pause: Duration { .seconds(1) }
    /// So long the store may take to be read; then nothing is shown of it.
    private static var readDeadline: Milliseconds { 5_000 }

    private let screens: LiveScreens<API>
    private let store: any ListStore<API.Value>
    private let area: String
    private let state = Lock(State())

    /// - Parameter area: the machine's (``LiveArea/name``), under which they are kept.
    public init(_ screens: LiveScreens<API>, in store: any ListStore<API.Value>, area: String) {
        (self.screens, self.store, self.area) = (screens, store, area)
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// Reads what was kept. What cannot be read at all, or not in time, is not shown.
    ///
    /// - Throws: a ``StoreError`` that may pass: what is kept would be overwritten as if it were not there.
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

    /// Shows what was read.
    public func restore() async {
        await give()
        // Before the first writing, which takes all lists, whatever has changed.
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

    /// The store has the state as of another finger.
    public func fingerMoved(to finger: String?) {
        let isKept = state.withLock { state in
            state.finger = finger
            return state.committed == .some(finger)
        }
        if !isKept { keepLater() }
    }

    /// What a commit of the machine keeps of the lists.
    public func prepareCommit() async -> (@Sendable (_ finger: String?, _ transaction: Any) throws -> Void)? {
        let (isReady, writing) = state.withLock { state in
            let isReady = state.isRestored && !state.isClosed && store.isInMachineStore
            if isReady { state.commits += 1 }
            return (isReady, state.writing)
        }
        guard isReady else { return nil }
        // What it takes of the lists is newer than what is being written.
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

    /// A commit that was prepared is done, or nothing of it is stored.
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

    /// Keeps them now. What the store does not take is kept with what changes next.
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

    /// The finger is read before the lists: they may know more than it says, never less.
    private func write() async {
        let (finger, isDirty, isClosed) = state.withLock { state -> (String?, Bool, Bool) in
            state.isWritingNext = false
            // A commit that is under way keeps them, and what changes meanwhile is kept behind it.
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

    /// Keeps nothing any more.
    public func close() {
        state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
        }
    }
}
