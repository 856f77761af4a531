import LiveUpdates

/// Runs of a partition on their way into a batch: one as long as nothing is missing.
struct Stretch {
    private(set) var position: Int64
    private let start: Int64
    private let partition: ArchivePartition
    private var from: Int64
    private var isOtherLog: Bool
    private var stamps: ArchiveBatch.Stamps?
    private var events: [ArchivedEvent] = []
    private var runs: [ArchiveBatch.Run] = []

    init(_ position: Int64, _ part: FeedPartition, _ partition: ArchivePartition) {
        self.position = position
        start = position
        from = position
        isOtherLog = part.isOtherLog
        self.partition = partition
    }

    var hasGone: Bool { position > start }

    mutating func add(_ run: RecordRun, _ filter: (Account, RecordRun.Entry) -> Bool) {
        guard run.next > position else { return }
        if run.from > position {
            // Nobody can read what stands before it.
            if hasGone { end() }
            position = run.from
            from = run.from
        }
        events += run.events(from: position, filter)
        if let later = run.stamps {
            stamps = ArchiveBatch.Stamps(first: stamps?.first ?? later.first, last: later.last)
        }
        position = run.next
    }

    private mutating func end() {
        runs.append(
            ArchiveBatch.Run(
                topic: partition.topic, partition: partition.number, from: from, next: position, stamps: stamps,
                isOtherLog: isOtherLog, events: events))
        (isOtherLog, stamps, events) = (false, nil, [])
    }

    var finished: [ArchiveBatch.Run] {
        var copy = self
        copy.end()
        return copy.runs
    }
}
