import LiveUpdates

@testable import Archive

/// A store in memory, by the rules of the real ones: rows, gaps and positions are stored together or not at all.
struct SimulatedStore {
    private struct Position {
        var next: Int64
        /// Of the last record before it.
        var stamp: Int64?
        var log: StoredLog?
    }

    /// What tells a row from others: what a record is does not count.
    private struct Key: Hashable {
        let stamp: Int64
        let partition: Int32
        let offset: Int64
        let account: Int
        let entity: Int
    }

    struct Gap {
        let partition: Int32
        var from: Int64
        var to: Int64?
    }

    var trouble = ArchiveStep.Trouble.none
    /// The records whose events it holds, by index.
    private(set) var rows: Set<Int> = []
    private(set) var gaps: [Gap] = []
    /// What Kafka did not hold any more when the store began with a partition.
    private(set) var excused: Set<Int> = []
    private var keys: Set<Key> = []
    private var positions: [Int32: Position] = [:]
    /// Who writes a partition; nil: nobody has said so. Of a store that one node has to itself all are that node's.
    private var holders: [Int32: Int] = [:]
    /// Counts each node's sessions.
    private(set) var sessions: [Int: Int] = [:]
    let isShared: Bool

    init(isShared: Bool) { self.isShared = isShared }

    // MARK: - Who writes

    mutating func claim(_ partitions: [ArchivePartition], by node: Int) -> [ClaimedPartition] {
        if isShared {
            let wanted = Set(partitions.map(\.number))
            for (partition, holder) in holders where holder == node && !wanted.contains(partition) {
                holders[partition] = nil
            }
            for partition in partitions where holders[partition.number] == nil { holders[partition.number] = node }
        }
        return partitions.filter { !isShared || holders[$0.number] == node }.map {
            let position = positions[$0.number]
            return ClaimedPartition($0, next: position?.next, stamp: position?.stamp, log: position?.log)
        }
    }

    /// The node's session is gone, and its locks with it.
    mutating func disconnect(_ node: Int) {
        sessions[node, default: 0] += 1
        for (partition, holder) in holders where holder == node { holders[partition] = nil }
    }

    // MARK: - Writing

    mutating func append(_ batch: ArchiveBatch, _ topic: SimulatedTopic) {
        for run in batch.runs { append(run, topic) }
    }

    private mutating func append(_ run: ArchiveBatch.Run, _ topic: SimulatedTopic) {
        var (start, keepsPosition) = (run.from, false)
        let stored = positions[run.partition]
        if let stored {
            let step = run.step(next: stored.next, stamp: stored.stamp ?? -1)
            guard let begun = step.start else { return }
            note(step, run.partition)
            start = begun
            keepsPosition = step.keepsPosition
        } else {
            excuse(run.partition, topic)
        }
        for event in run.events where event.offset >= start { store(event, run.partition, topic) }
        guard !keepsPosition else { return }
        positions[run.partition] = Position(next: run.next, stamp: run.stamps?.last ?? stored?.stamp, log: run.log)
    }

    private mutating func note(_ step: ArchiveBatch.Run.Step, _ partition: Int32) {
        if let since = step.gapSince {
            if let open = gaps.firstIndex(where: { $0.partition == partition && $0.to == nil }) {
                gaps[open].from = min(gaps[open].from, since)
            } else {
                gaps.append(Gap(partition: partition, from: since, to: nil))
            }
        }
        guard let stamp = step.gapUntil else { return }
        for index in gaps.indices where gaps[index].partition == partition && gaps[index].to == nil {
            gaps[index].to = max(gaps[index].from, stamp)
            gaps[index].from = min(gaps[index].from, stamp)
        }
    }

    private mutating func store(_ event: ArchivedEvent, _ partition: Int32, _ topic: SimulatedTopic) {
        guard let index = Int(event.event.id) else { return }
        let record = topic.records[index]
        let key = Key(
            stamp: event.stamp, partition: partition, offset: event.offset, account: record.account,
            entity: record.entity)
        if keys.insert(key).inserted { rows.insert(index) }
    }

    // MARK: - Reading

    var stored: [StoredPosition] {
        positions.sorted { $0.key < $1.key }.map { partition, position in
            StoredPosition(topic: "t", partition: partition, next: position.next, of: position.log)
        }
    }

    var snapshot: [PartitionPosition] {
        stored.map {
            PartitionPosition(
                partition: PartitionName(topic: 0, number: $0.partition), next: $0.next, log: $0.log,
                newest: $0.newest.map { .init(offset: $0.offset, stamp: $0.stamp) })
        }
    }

    /// Whether nothing is known of the log of some position: what was to be noted of it was dropped on its way to the writer,
    /// which hears of it again with the next refresh.
    var holdsUnknownLog: Bool {
        positions.values.contains { position in
            position.next > 0 && position.log?.known.topicID == nil && position.log?.known.known == nil
        }
    }

    func next(_ partition: Int) -> Int64? { positions[Int32(partition)]?.next }

    // MARK: - What it need not hold

    /// The topic is about to be recreated, and has no id: of a log of which nothing was stored nobody knows that it was another.
    mutating func excuseUnread(_ topic: SimulatedTopic) {
        for (partition, position) in positions where position.next == 0 && Int(partition) < topic.logs.count {
            excused.formUnion(topic.logs[Int(partition)])
        }
    }

    private mutating func excuse(_ partition: Int32, _ topic: SimulatedTopic) {
        for index in topic.records.indices where topic.records[index].partition == Int(partition) {
            if !topic.isHeld(index) { excused.insert(index) }
        }
    }

    /// Whether an event may be missing, since Kafka held it no longer and a gap tells of it. Without honest stamps any gap of the
    /// partition does.
    func mayLack(_ index: Int, _ topic: SimulatedTopic, hasHonestStamps: Bool) -> Bool {
        guard !excused.contains(index) else { return true }
        let record = topic.records[index]
        guard !topic.isHeld(index) else { return false }
        // A new store has no gaps.
        guard positions[Int32(record.partition)] != nil else { return true }
        return gaps.contains { gap in
            guard hasHonestStamps else { return Int(gap.partition) == record.partition }
            return gap.from <= record.stamp && record.stamp <= gap.to ?? .max
        }
    }
}
