import LiveUpdates

/// Requests whose pages hold more than this node has read: another node writes the store. They wait for this one.
struct SnapshotWaits {
    /// As many as may wait for the store.
    static let maximum = ArchiveQuestion.maximumWaiting
    /// How long one waits.
    static let milliseconds: UInt64 = 1_000
    /// A partition that brokers have not told of in so many refreshes, and for the time of as many, does not exist: its topic was
    /// recreated with fewer of them. While no broker answers nothing is known of it.
    static let absentAnswers = 5
    static let absentMilliseconds = UInt64(absentAnswers) * KafkaSource.refreshIntervalMilliseconds

    struct Wait: Sendable {
        let subscriber: Subscriber
        let positions: [PartitionPosition]
        /// ``SnapshotAnswer/seen``.
        let seen: UInt64
        /// Monotonic, in ms.
        let until: UInt64
        /// What has to be read first; something else may be missing then. Nil: not asked yet.
        var floor: PartitionFloor?
    }

    private var waits: [Wait] = []
    /// Partitions that are stored and not known here, each with the moment at which it was first asked for, and how often brokers
    /// had told of its topic then.
    private var unknownSince: [PartitionName: (moment: UInt64, answers: Int)] = [:]
    /// By topic.
    private var answers: [Int] = []

    var count: Int { waits.count }

    /// False: too many wait already.
    mutating func add(_ wait: Wait) -> Bool {
        guard waits.count < Self.maximum else { return false }
        waits.append(wait)
        return true
    }

    /// Takes out those that may go on and those whose time is up. `position` is how far a partition is read; nil: not at all.
    mutating func take(now: UInt64, _ position: (PartitionName) -> Int64?) -> (ready: [Wait], late: [Wait]) {
        var (ready, late): ([Wait], [Wait]) = ([], [])
        waits.removeAll { wait in
            if let floor = wait.floor, let next = position(floor.partition), next >= floor.offset {
                ready.append(wait)
            } else if now >= wait.until {
                late.append(wait)
            } else {
                return false
            }
            return true
        }
        return (ready, late)
    }

    // MARK: - Partitions that nobody knows

    mutating func isUnknown(_ partition: PartitionName, now: UInt64) {
        if unknownSince[partition] == nil { unknownSince[partition] = (now, answers(of: partition)) }
    }

    /// A refresh has ended. `answers`: by topic, how often brokers have told which partitions it has.
    mutating func refreshed(_ answers: [Int]) { self.answers = answers }

    private func answers(of partition: PartitionName) -> Int {
        let topic = Int(partition.topic)
        return topic < answers.count ? answers[topic] : 0
    }

    /// Those that have been unknown for so long that they do not exist.
    func absent(now: UInt64) -> Set<PartitionName> {
        guard !unknownSince.isEmpty else { return [] }
        let absent = unknownSince.lazy.filter { name, since in
            now >= since.moment + Self.absentMilliseconds
                && self.answers(of: name) >= since.answers + Self.absentAnswers
        }
        return Set(absent.map(\.key))
    }

    /// A topic is another one: its partitions are to be found out again.
    mutating func forgetUnknown() { unknownSince = [:] }
}

/// The cursors of pages.
extension Ingest {
    /// Makes the cursor of a page's snapshot, at once or when the node has read as far as it. Never in the middle of a wake.
    func snapshotCursor(_ subscriber: Subscriber, _ snapshot: ArchiveSnapshot, now: UInt64) {
        answer(
            SnapshotWaits.Wait(
                subscriber: subscriber, positions: snapshot.positions, seen: snapshot.seen ?? history.lastSequence,
                until: now + SnapshotWaits.milliseconds), now: now)
    }

    private func answer(_ wait: SnapshotWaits.Wait, now: UInt64) {
        let made = history.snapshotCursor(
            account: wait.subscriber.account, positions: wait.positions, absent: snapshots.absent(now: now),
            now: wallClock)
        switch made {
        case .cursor(let cursor):
            let isBehind = history.lacks(wait.positions, of: wait.subscriber.account, upTo: wait.seen)
            answer(wait, cursor, isBehind: isBehind)
        // The store may come on, or erase what was erased here.
        case .refused: answer(wait, .none, isBehind: true)
        case .behind(let floor):
            // Of all that are not known at once: one after the other they would have pages refused for minutes.
            if history.position(of: floor.partition) == nil {
                for position in wait.positions where history.position(of: position.partition) == nil {
                    snapshots.isUnknown(position.partition, now: now)
                }
            }
            var wait = wait
            wait.floor = floor
            if now >= wait.until || !snapshots.add(wait) {
                answer(wait, .none, isBehind: false)
            }
        }
    }

    private func answer(_ wait: SnapshotWaits.Wait, _ cursor: CursorText, isBehind: Bool) {
        let made = SnapshotAnswer(cursor: cursor, isBehind: isBehind, seen: wait.seen)
        answer(wait.subscriber, .snapshotCursor(wait.subscriber.connection, made))
    }

    /// Answers those that wait for what was read meanwhile, and those who have waited long enough.
    ///
    /// `now` is monotonic, in milliseconds.
    func serveSnapshots(now: UInt64) {
        guard snapshots.count > 0 else { return }
        let (ready, late) = snapshots.take(now: now) { history.position(of: $0) }
        for wait in ready { answer(wait, now: now) }
        for wait in late { answer(wait, .none, isBehind: false) }
    }
}
