import Synchronization

/// Raised once, by whoever comes first.
final class OnceFlag: Sendable {
    private let isRaised = Atomic<Bool>(false)

    /// True for the first caller only.
    func raise() -> Bool { !isRaised.exchange(true, ordering: .relaxed) }
}
