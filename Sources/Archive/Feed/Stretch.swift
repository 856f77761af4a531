import KafkaLogs
import LiveUpdates

/// Runs of a partition that are put into a batch: one run as long as nothing is missing.
struct Stretch {
    private(set) var position: Int64
    private let start: Int64
    private let partition: ArchivePartition
    private var from: Int64
    private var continuation: ArchiveBatch.Continuation
    /// What is to be noted of the log behind what was added.
    private(set) var log: StoredLog
    private var stamps: ArchiveBatch.Stamps?
    private var events: [ArchivedEvent] = []
    private var runs: [ArchiveBatch.Run] = []

    init(_ position: Int64, _ part: FeedPartition, _ partition: ArchivePartition) {
        self.position = position
        start = position
        from = position
        continuation = part.continuation
        log = part.stored
        if let facts = part.facts { log.known = KnownLog(facts) }
        if continuation == .same, log.until != nil { continuation = .repeated }
        self.partition = partition
    }

    var hasGone: Bool { position > start }

    mutating func add(_ run: RecordRun, _ filter: (Account, RecordRun.Entry) -> Bool) {
        guard run.next > position else { return }
        if run.from > position {
            // What lies before it can no longer be read.
            if hasGone { end() }
            position = run.from
            from = run.from
        }
        events += run.events(from: position, filter)
        stamps = .joined(stamps, run.stamps(from: position))
        for point in run.points where point.offset >= position { log.add(point) }
        position = run.next
    }

    private mutating func end() {
        if let until = log.until, position >= until { log.until = nil }
        runs.append(
            ArchiveBatch.Run(
                topic: partition.topic, partition: partition.number, from: from, next: position, stamps: stamps,
                continuation: continuation, log: log, events: events))
        (stamps, events) = (nil, [])
        if log.until == nil {
            continuation = .same
        } else if continuation != .cutBack(since: nil) {
            continuation = .repeated
        }
    }

    /// The last run ends.
    mutating func finish() -> [ArchiveBatch.Run] {
        end()
        return runs
    }
}
