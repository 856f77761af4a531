import LiveState
import Synchronization

/// Keeps the lists of ``LiveScreens`` beside the state of their machine, so that the next start shows them at once.
///
///     let lists = ListKeeper(screens, in: try await SQLiteListStore(store, encode: encode, decode: decode), area: "incidents")
///
/// Give it to the machine as ``LiveArea/lists``. Lists are kept with the finger that the machine has stored. Only those whose
/// finger is still that of the stored state are as good as that at the next start; all others are old, and loaded again from the
/// end that is looked at. At most 500 items of each are kept.
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
    private let state = Mutex(State())

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
        state.withLock { $0.finger = finger }
        keepLater()
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
        let (finger, isDirty, isClosed) = state.withLock { state in
            defer { (state.isDirty, state.isWritingNext) = (false, false) }
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
