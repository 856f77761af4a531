import Archive
import Synchronization

/// Access to the archive's store for all parts that query it: the store is opened and closed while the node runs.
final class ArchiveAccess: Sendable {
    private struct State {
        var store: (any ArchiveStore)?
        var why: String? = "the archive is not open yet"
        /// An error that a reader has found.
        var found: ArchiveError?
        /// Called when the store is opened or closed.
        var follower: (@Sendable ((any ArchiveStore)?) -> Void)?
    }

    private let state = Mutex(State())
    /// Called when something was found that needs handling.
    private let alarm: @Sendable () -> Void

    init(alarm: @escaping @Sendable () -> Void) { self.alarm = alarm }

    /// The store, if it is open: it has all that can be read. It may be closed at any time, and then throws that.
    var store: (any ArchiveStore)? { state.withLock { $0.store } }

    /// Why the store lacks what happens now, in a sentence; nil: it has it, or is a moment behind.
    var trouble: String? { state.withLock { $0.why } }

    /// A caller of this store got an error. From any thread.
    ///
    /// An error of a store that is no longer in use is about a file that has another name by now. If it counted for the new
    /// store, a good file would be set aside, and the new store's reports would set aside the next.
    func report(_ error: ArchiveError, of store: any ArchiveStore) {
        guard case .corrupt = error else { return }
        let isNews = state.withLock { state in
            guard state.store === store else { return false }
            state.found = error
            return true
        }
        if isNews { alarm() }
    }

    /// What was reported since the last call.
    func takeReport() -> ArchiveError? {
        state.withLock { state in
            defer { state.found = nil }
            return state.found
        }
    }

    func open(_ store: any ArchiveStore) { set(store) }

    func close() { set(nil) }

    private func set(_ store: (any ArchiveStore)?) {
        let follower = state.withLock { state in
            state.store = store
            state.found = nil
            return state.follower
        }
        follower?(store)
    }

    /// Calls the follower whenever the store is opened or closed, and now with the present store.
    func follow(_ follower: @escaping @Sendable ((any ArchiveStore)?) -> Void) {
        let store = state.withLock { state in
            state.follower = follower
            return state.store
        }
        follower(store)
    }

    func setTrouble(_ why: String?) { state.withLock { $0.why = why } }
}
