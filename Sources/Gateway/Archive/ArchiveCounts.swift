import Synchronization

/// The metrics of an archive.
struct ArchiveCounts: Sendable {
    var rows: Int64 = 0
    var bytes: Int64 = 0
    /// For how long there has been something that is not stored yet.
    var lagMilliseconds: UInt64 = 0
    var gaps = 0
    var errors = 0
    /// Events that arrived too late to be kept.
    var tooOld = 0
}

/// The archive's writer counts, and a scrape reads, even while the writer waits.
final class ArchiveCounters: Sendable {
    private struct State {
        var counts = ArchiveCounts()
        /// Monotonic, in ms; nil: all is stored.
        var waitsSince: UInt64?
        /// When the call began that the store has not answered; nil: there is none.
        var calledAt: UInt64?
        /// How long the call may last.
        var patience: UInt64 = 0
    }

    private let state = Mutex(State())

    /// `now`: monotonic, in ms.
    func counts(now: UInt64) -> ArchiveCounts {
        state.withLock { state in
            var counts = state.counts
            counts.lagMilliseconds = state.waitsSince.map { now - min(now, $0) } ?? 0
            return counts
        }
    }

    func count(_ change: (inout ArchiveCounts) -> Void) { state.withLock { change(&$0.counts) } }

    func setWaitsSince(_ moment: UInt64?) { state.withLock { $0.waitsSince = moment } }

    func beginCall(now: UInt64, patience: UInt64) {
        state.withLock { ($0.calledAt, $0.patience) = (now, patience) }
    }

    func endCall() { state.withLock { $0.calledAt = nil } }

    /// For how long the store has not answered, where that is longer than the call may last.
    func overdue(now: UInt64) -> UInt64? {
        state.withLock { state in
            guard let calledAt = state.calledAt, now > calledAt + state.patience else { return nil }
            return now - calledAt
        }
    }
}
