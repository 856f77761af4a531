import Synchronization

/// The descriptors that the listeners of one address keep for the day when there is no other, and share.
///
/// Shared, because a descriptor that one loop gives up for a moment may be taken by another loop's accept. The loop
/// would have lost it for as long as the limit is reached, and the connections in its queue would wait without an
/// answer. So the giving up happens under a lock, and a connection that came by such a descriptor gives it back:
/// ``reclaim(_:_:)``.
final class SpareDescriptors: Sendable {
    private struct State {
        /// One for each listener that has joined, if they could be had.
        var raws: [Int32] = []
        var wanted = 0
    }

    private let state = Mutex(State())
    /// From the first accept that found no descriptor until all spare ones are back: what every accept asks.
    private let isScarce = Atomic<Bool>(false)

    init() {}

    deinit {
        state.withLock { for raw in $0.raws { _ = FileDescriptor(owning: raw) } }
    }

    /// A listener begins; it keeps a spare of its own if it can.
    func join(_ syscalls: Syscalls) {
        state.withLock { state in
            state.wanted += 1
            Self.fill(&state, syscalls)
        }
    }

    /// A listener goes.
    func leave() {
        state.withLock { state in
            state.wanted -= 1
            while state.raws.count > state.wanted { _ = FileDescriptor(owning: state.raws.removeLast()) }
        }
    }

    /// Takes again what is missing, as far as it can be had.
    func refill(_ syscalls: Syscalls) { state.withLock { Self.fill(&$0, syscalls) } }

    /// Gives one up while `use` runs, which must have closed what it got when it returns.
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

    /// A connection was accepted. If spare descriptors are missing, `close` is called to end it, and what is free then
    /// is taken back; true says so.
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
