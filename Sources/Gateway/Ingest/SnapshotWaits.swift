import LiveUpdates

/// Requests whose pages have more than this node has read: another node writes the store. They wait for this one.
struct SnapshotWaits {
    /// The same limit as for questions to the store.
    static let maximum = ArchiveQuestion.maximumWaiting
    /// How long one waits.
    static let milliseconds: UInt64 = 1_000

    struct Wait: Sendable {
        let subscriber: Subscriber
        let positions: [PartitionPosition]
        /// ``SnapshotAnswer/seen``.
        let seen: UInt64
        /// Monotonic, in ms.
        let until: UInt64
        /// The partition and offset to be read first; something else may be missing then. Nil: not checked yet.
        var floor: PartitionFloor?
    }

    private var waits: [Wait] = []

    var count: Int { waits.count }

    /// False: too many wait already.
    mutating func add(_ wait: Wait) -> Bool {
        guard waits.count < Self.maximum else { return false }
        waits.append(wait)
        return true
    }

    /// Removes and returns those that may go on or are late. `position` is how far a partition is read; nil: not at all.
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
            account: wait.subscriber.account, positions: wait.positions, now: wallClock)
        switch made {
        // The node that writes it finds that out too, and stores what is missing.
        case .cursor where tap?.contradicts(wait.positions) == true: answer(wait, .none, isBehind: true)
        case .cursor(let cursor):
            let isBehind = history.lacks(wait.positions, of: wait.subscriber.account, upTo: wait.seen)
            answer(wait, cursor, isBehind: isBehind)
        // The store may catch up, or erase what was erased here.
        case .refused: answer(wait, .none, isBehind: true)
        case .behind(let floor):
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

    /// Answers the waits for records that were read meanwhile, and those that have lasted long enough.
    ///
    /// `now` is monotonic, in milliseconds.
    func serveSnapshots(now: UInt64) {
        guard snapshots.count > 0 else { return }
        let (ready, late) = snapshots.take(now: now) { history.position(of: $0) }
        for wait in ready { answer(wait, now: now) }
        for wait in late { answer(wait, .none, isBehind: false) }
    }
}
