import Synchronization

/// The descriptors that the listeners of one address keep in reserve, and share, for the time when no other is free.
///
/// They are shared because another loop's accept may get a descriptor that one loop frees for a moment. Then the first loop
/// would lose it until the limit is no longer reached, and the connections in its queue would wait without an answer. So a
/// descriptor is freed only under a lock. A connection that got such a descriptor returns it:
/// ``reclaim(_:_:)``.
final class SpareDescriptors: Sendable {
    private struct State {
        /// One for each listener that has joined, if there were free descriptors.
        var raws: [Int32] = []
        var wanted = 0
    }

    private let state = Mutex(State())
    /// From the first accept that found no descriptor until all spare ones are back. Every accept checks it.
    private let isScarce = Atomic<Bool>(false)

    init() {}

    deinit {
        state.withLock { for raw in $0.raws { _ = FileDescriptor(owning: raw) } }
    }

    /// Adds a listener, with one spare descriptor for it if possible.
    func join(_ syscalls: Syscalls) {
        state.withLock { state in
            state.wanted += 1
            Self.fill(&state, syscalls)
        }
    }

    /// Removes a listener.
    func leave() {
        state.withLock { state in
            state.wanted -= 1
            while state.raws.count > state.wanted { _ = FileDescriptor(owning: state.raws.removeLast()) }
        }
    }

    /// Opens the missing spare descriptors again, as far as possible.
    func refill(_ syscalls: Syscalls) { state.withLock { Self.fill(&$0, syscalls) } }

    /// Frees a spare descriptor while `use` runs. When `use` returns, it must have closed the descriptor it got.
    ///
    /// - Returns: the result of `use`; nil, and `use` is not called, if there is none.
    func lend<Answer>(_ syscalls: Syscalls, _ use: () -> Answer) -> Answer? {
        isScarce.store(true, ordering: .sequentiallyConsistent)
        return state.withLock { state in
            guard let raw = state.raws.popLast() else { return nil }
            _ = FileDescriptor(owning: raw)
            let answer = use()
            Self.fill(&state, syscalls)
            return answer
        }
    }

    /// Checks after an accept whether spare descriptors are missing. If so, `close` is called to end the connection, the
    /// freed descriptor becomes a spare one again, and the result is true.
    func reclaim(_ syscalls: Syscalls, _ close: () -> Void) -> Bool {
        guard isScarce.load(ordering: .sequentiallyConsistent) else { return false }
        return state.withLock { state in
            Self.fill(&state, syscalls)
            guard state.raws.count < state.wanted else {
                isScarce.store(false, ordering: .sequentiallyConsistent)
                return false
            }
            close()
            Self.fill(&state, syscalls)
            return true
        }
    }

    private static func fill(_ state: inout State, _ syscalls: Syscalls) {
        while state.raws.count < state.wanted {
            let raw = syscalls.openSpare()
            guard raw >= 0 else { return }
            state.raws.append(raw)
        }
    }
}
