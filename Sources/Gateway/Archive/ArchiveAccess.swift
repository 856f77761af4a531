import Archive
import Synchronization

/// The way to the archive's store, for everybody who asks it something: it comes and goes while the node runs.
final class ArchiveAccess: Sendable {
    private struct State {
        var store: (any ArchiveStore)?
        var why: String? = "the archive is not open yet"
        /// What somebody who read has found.
        var found: ArchiveError?
        /// Is told when the store comes or goes.
        var follower: (@Sendable ((any ArchiveStore)?) -> Void)?
    }

    private let state = Mutex(State())
    /// Rings when something was found that has to be seen to.
    private let alarm: @Sendable () -> Void

    init(alarm: @escaping @Sendable () -> Void) { self.alarm = alarm }

    /// Whatever can be read is in it, if it is there at all. It may be closed at any time, and then says so.
    var store: (any ArchiveStore)? { state.withLock { $0.store } }

    /// Why the store does not hold what happens now, in a sentence; nil: it does, or is a moment behind.
    var trouble: String? { state.withLock { $0.why } }

    /// Somebody who asked this store something was refused. From any thread.
    ///
    /// What is said of a store that is no longer the one in use is about a file that has another name by now: taken for the new
    /// one it would set a good file aside, and its answers the next.
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

    /// Tells one who asks whenever the store comes or goes, and begins with what it is now.
    func follow(_ follower: @escaping @Sendable ((any ArchiveStore)?) -> Void) {
        let store = state.withLock { state in
            state.follower = follower
            return state.store
        }
        follower(store)
    }

    func setTrouble(_ why: String?) { state.withLock { $0.why = why } }
}
