import Synchronization

/// How many events were sent to a loop that it has not handled yet.
///
/// This is the limit of the mailbox between ingest and a loop: at `maximumEvents` ingest stops reading records until
/// the loop has come down to `resumeEvents`. Nothing is dropped; Kafka keeps what is not read.
final class LoopBacklog: Sendable {
    /// About 10 MB of events at 150 bytes each, or a tenth of a second of one loop's work.
    static let maximumEvents = 65_536
    static let resumeEvents = maximumEvents / 4

    private let events = Atomic<Int>(0)
    private let isAwaited = Atomic<Bool>(false)

    /// Ingest, before it posts.
    func add(_ count: Int) {
        events.wrappingAdd(count, ordering: .acquiringAndReleasing)
    }

    /// For ingest, before it reads on: whether the loop owes too much. Then `remove` reports once that it has caught up.
    func isFull() -> Bool {
        guard events.load(ordering: .acquiring) >= Self.maximumEvents else { return false }
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        // The loop may have caught up between the two lines; it would not have seen that it is awaited.
        guard events.load(ordering: .sequentiallyConsistent) <= Self.resumeEvents else { return true }
        return !isAwaited.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// For the loop, after it handled `count` events. True when ingest waits for that report.
    func remove(_ count: Int) -> Bool {
        let left = events.wrappingSubtract(count, ordering: .sequentiallyConsistent).newValue
        guard left <= Self.resumeEvents else { return false }
        return isAwaited.exchange(false, ordering: .sequentiallyConsistent)
    }
}
