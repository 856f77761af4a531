/// What truly happened to the topic: every record that there ever was, and when it came.
struct SimulatedTopic {
    struct Record {
        let account: Int
        let entity: Int
        let stamp: Int64
        /// When the broker had it.
        let arrival: Int64
        let incarnation: Int
        let partition: Int
        let offset: Int64
        /// By compaction, or in an unclean election: nobody is owed it.
        var isRemoved = false
        /// A node did not read it because its stamp lies further back than any is allowed to.
        var isExcused = false
    }

    /// An unclean election.
    struct Cut {
        let partition: Int
        /// The end of what was left of the log.
        let offset: Int64
        /// The era that began with it.
        let era: Int
        /// The stamps of what was lost, by offset from `offset` on.
        let stamps: [Int64]
    }

    /// Counts what has happened to it.
    private(set) var changes = 0
    private(set) var records: [Record] = []
    /// Counts how often positions have lost their meaning: when the topic was recreated, or one of its logs was cut back.
    private(set) var era = 0
    /// Of the topic as it is now.
    private(set) var cuts: [Cut] = []
    /// Counts how often the topic was recreated.
    private(set) var incarnation = 0
    /// The records' indices by partition and offset.
    private(set) var logs: [[Int]]
    /// Below these offsets the broker has deleted records.
    private(set) var starts: [Int64]

    init(partitions: Int) {
        logs = Array(repeating: [], count: partitions)
        starts = Array(repeating: 0, count: partitions)
    }

    /// Whether its log still has a record's offset.
    func isHeld(_ index: Int) -> Bool {
        let record = records[index]
        return record.incarnation == incarnation && record.offset >= starts[record.partition]
    }

    func end(of partition: Int) -> Int64 { Int64(logs[partition].count) }

    /// Whether all records of a partition were deleted.
    func isTrimmed(_ partition: Int) -> Bool { starts[partition] == end(of: partition) }

    func isLastRemoved(_ partition: Int) -> Bool {
        isTrimmed(partition) || logs[partition].last.map { records[$0].isRemoved } ?? true
    }

    /// Returns the record's index.
    mutating func append(_ partition: Int, account: Int, entity: Int, stamp: Int64, now: Int64) -> Int {
        changes += 1
        records.append(
            Record(
                account: account, entity: entity, stamp: stamp, arrival: now, incarnation: incarnation,
                partition: partition, offset: end(of: partition)))
        logs[partition].append(records.count - 1)
        return records.count - 1
    }

    mutating func addPartition() {
        changes += 1
        logs.append([])
        starts.append(0)
    }

    mutating func recreate(partitions: Int) {
        changes += 1
        incarnation += 1
        era += 1
        cuts = []
        logs = Array(repeating: [], count: partitions)
        starts = Array(repeating: 0, count: partitions)
    }

    mutating func trim(_ partition: Int, before offset: Int64) {
        changes += 1
        starts[partition] = max(starts[partition], offset)
    }

    mutating func cutBack(_ partition: Int, to offset: Int64) {
        changes += 1
        let lost = logs[partition][Int(offset)...]
        for index in lost { records[index].isRemoved = true }
        era += 1
        cuts.append(
            Cut(partition: partition, offset: offset, era: era, stamps: lost.map { records[$0].stamp }))
        logs[partition].removeSubrange(Int(offset)...)
    }

    mutating func remove(_ partition: Int, _ offset: Int64) {
        changes += 1
        records[logs[partition][Int(offset)]].isRemoved = true
    }

    /// A node never read these, as it may where their stamps are later than any is allowed to be.
    mutating func excuse(_ partition: Int, before offset: Int64, margin: Int64) {
        for index in logs[partition].prefix(Int(offset)) where records[index].stamp < records[index].arrival - margin {
            records[index].isExcused = true
        }
    }

    /// Whether the first record of a log has no stamp: without ids, a stamp behind it is taken for the time before which the log
    /// was empty, and whoever knew the log before that is refused.
    var hasUnstampedBirth: Bool { logs.contains { log in log.first.map { records[$0].stamp < 0 } ?? false } }

    /// Whether the first record of a log was stamped later than it came, or not at all: where nodes differ in whether they have
    /// ids, their cursors do not say which record it was.
    var hasMisleadingBirth: Bool {
        logs.contains { log in log.first.map { !(0...records[$0].arrival).contains(records[$0].stamp) } ?? false }
    }

    /// Whether the first record of a log was stamped earlier than it came: the log seems older than it is to whoever has not
    /// seen it being recreated.
    var hasLateBirth: Bool {
        logs.contains { log in log.first.map { records[$0].stamp < records[$0].arrival } ?? false }
    }

    mutating func excuseAll(_ partition: Int) { excuse(partition, from: 0, before: end(of: partition)) }

    mutating func excuse(_ partition: Int, from start: Int64, before end: Int64) {
        guard start < end else { return }
        for index in logs[partition][Int(start)..<Int(end)] { records[index].isExcused = true }
    }

    /// Of a record that was not read as it came, only the stamp says when it came.
    mutating func excuse(_ index: Int, margin: Int64, unlessReadAsItCame isLive: Bool) {
        if !isLive, records[index].stamp < records[index].arrival - margin { records[index].isExcused = true }
    }

    /// Whether a record's stamp lies further back than any is allowed to.
    func isLate(_ partition: Int, _ offset: Int64, margin: Int64) -> Bool {
        let record = records[logs[partition][Int(offset)]]
        return record.stamp >= 0 && record.stamp < record.arrival - margin
    }

    func hasLateRecord(_ partition: Int, stamped stamp: Int64, margin: Int64) -> Bool {
        logs[partition].contains { records[$0].stamp == stamp && stamp < records[$0].arrival - margin }
    }

    /// When the first record of the topic came, as it is now.
    var birth: Int64? { logs.compactMap { $0.first.map { records[$0].arrival } }.min() }

    /// The first record at an offset or behind it that is neither deleted nor removed, or the end.
    func first(_ partition: Int, from offset: Int64, where isWanted: (Record) -> Bool = { _ in true }) -> Int64 {
        var offset = max(offset, starts[partition])
        while offset < end(of: partition) {
            let record = records[logs[partition][Int(offset)]]
            if !record.isRemoved, isWanted(record) { return offset }
            offset += 1
        }
        return end(of: partition)
    }

    /// Where a window begins.
    func windowStart(_ partition: Int, _ time: Int64) -> Int64 {
        let first = first(partition, from: 0)
        let start = self.first(partition, from: 0) { $0.stamp >= time }
        return first >= start ? starts[partition] : start
    }
}

extension SimulatedNode {
    /// A log as it was when the node began to read it.
    struct Opening {
        let incarnation: Int
        /// The incarnation when reading began; the other one moves on where nobody could tell the difference.
        let incarnationAtStart: Int
        let start: Int64
        /// Cursors issued at this moment or later have seen whatever stood before the start; nil where nothing did.
        let seenFrom: Int64?
        /// What the leader told as the end.
        let liveFrom: Int64
    }
}
