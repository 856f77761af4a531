import Synchronization

/// Ends all waits for a server, from any thread, within ``sliceMilliseconds``. It cannot be reset.
package final class Interruption: Sendable {
    static let sliceMilliseconds: UInt64 = 100

    private let flag = Atomic<Bool>(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .relaxed) }

    package func set() { flag.store(true, ordering: .relaxed) }
}
