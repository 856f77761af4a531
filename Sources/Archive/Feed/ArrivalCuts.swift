/// When records of a partition that are not stored yet had arrived at the latest, as far as erasures need it.
///
/// Records that were dropped from memory are read again later. Then nothing shows that one that is stamped ahead was there
/// before an erasure. So the erasure is noted with how far the partition was read by then.
package struct ArrivalCuts: Equatable, Sendable {
    /// Records before an offset had arrived before a moment, in ms since 1970.
    package struct Cut: Equatable, Sendable {
        let next: Int64
        var moment: Int64
    }

    /// Just above the earliest value that a store keeps as an arrival.
    static let earliest = Int64.min + 2

    /// Erasures, each at another offset, while nothing is stored. Beyond it, the oldest is merged into the next one.
    static let maximum = 1024

    /// In the order of their offsets.
    private(set) var cuts: [Cut] = []

    package init() {}

    /// Records before the offset had arrived before the moment.
    mutating func add(next: Int64, moment: Int64) {
        let index = cuts.lastIndex { $0.next < next }.map { $0 + 1 } ?? 0
        if index < cuts.count, cuts[index].next == next {
            cuts[index].moment = min(cuts[index].moment, moment)
            return
        }
        cuts.insert(Cut(next: next, moment: moment), at: index)
        if cuts.count > Self.maximum { cuts.removeFirst() }
    }

    /// Records before the offset are stored.
    mutating func drop(upTo offset: Int64) {
        guard let first = cuts.first, first.next <= offset else { return }
        cuts.removeAll { $0.next <= offset }
    }

    /// A run that was read again: its events get the time at which they first arrived.
    func applied(to run: RecordRun) -> RecordRun {
        guard !cuts.isEmpty else { return run }
        // For each offset the earliest of the moments of all cuts behind it counts.
        var latest = cuts
        for index in cuts.indices.dropLast().reversed() {
            latest[index].moment = min(latest[index].moment, latest[index + 1].moment)
        }
        var run = run
        var position = 0
        for index in run.entries.indices {
            while position < latest.count, latest[position].next <= run.entries[index].offset { position += 1 }
            guard position < latest.count else { break }
            run.entries[index].arrival = min(run.entries[index].arrival, latest[position].moment - 1)
        }
        return run
    }
}
