import KafkaLogs
import LiveUpdates

/// Makes runs of the records that a node reads, and of its facts about their logs. No I/O, and no allocation for a record once
/// its buffer is large enough.
package struct RunRecorder {
    private struct Position {
        /// The next offset; nil until it is known where reading begins.
        var next: Int64?
        /// Something was lost before the next record.
        var isBehindLoss = false
        /// Nothing from here on is recorded.
        var end = Int64.max
        var recent = RecentRecords()
    }

    /// By topic.
    private var generations: [UInt32] = []
    /// By topic and number.
    private var positions: [[Position]] = []
    /// How often a position was set back: each counts as a generation of its partition alone.
    private var setBacks: [PartitionName: UInt32] = [:]
    private var buffer = RecordBuffer()

    package init() {}

    package var isEmpty: Bool { buffer.isEmpty }

    /// What was recorded since the last call.
    package mutating func take() -> RecordBuffer {
        let taken = buffer
        buffer = RecordBuffer()
        buffer.entries.reserveCapacity(taken.entries.count)
        return taken
    }

    /// Goes on in a partition at an offset, whatever its position was, up to an end.
    package mutating func begin(
        _ partition: PartitionName, at offset: Int64, upTo end: Int64 = .max, generation: UInt32
    ) {
        let (topic, number) = reserve(partition)
        generations[topic] = generation
        positions[topic][number] = Position(next: offset, end: end)
    }

    /// There is no record between what was read and this offset; or, where something was lost, none that can be read.
    package mutating func move(_ partition: PartitionName, to offset: Int64) {
        move(partition, start: offset, next: offset)
    }

    // MARK: - Records

    /// `stamp`: −1 is none. `now`: since 1970, as the stamp in ms.
    ///
    /// - Parameter left: the same record's event for another account.
    package mutating func add(
        _ event: RecordedEvent, and left: RecordedEvent? = nil, _ partition: PartitionName, offset: Int64, stamp: Int64,
        now: Int64
    ) {
        guard pass(partition, offset: offset, stamp: stamp) else { return }
        buffer.append(event, offset: offset, stamp: stamp, arrival: now)
        if let left { buffer.append(left, offset: offset, stamp: stamp, arrival: now) }
    }

    /// A record without an event.
    package mutating func skip(_ partition: PartitionName, offset: Int64, stamp: Int64) {
        _ = pass(partition, offset: offset, stamp: stamp)
    }

    /// False: it was read before.
    private mutating func pass(_ partition: PartitionName, offset: Int64, stamp: Int64) -> Bool {
        let (topic, number) = reserve(partition)
        let after = positions[topic][number].next ?? offset
        guard offset >= after, offset < positions[topic][number].end else { return false }
        let isBehindLoss = positions[topic][number].isBehindLoss
        if isBehindLoss || !isLast(partition, next: after) {
            begin(partition, after: after, from: isBehindLoss ? offset : after, next: offset + 1)
        }
        positions[topic][number].next = offset + 1
        positions[topic][number].isBehindLoss = false
        positions[topic][number].recent.add(StoredLog.Point(offset: offset, stamp: stamp))
        let last = buffer.segments.count - 1
        buffer.segments[last].run.next = offset + 1
        if stamp >= 0 {
            let first = buffer.segments[last].run.stamps?.first ?? stamp
            buffer.segments[last].run.stamps = ArchiveBatch.Stamps(first: first, last: stamp, lastOffset: offset)
        }
        return true
    }

    // MARK: - Logs

    /// What is known of a log, before the record that is read next.
    package mutating func note(_ partition: PartitionName, _ facts: LogFacts) {
        move(partition, start: facts.start, next: max(facts.start, facts.next))
        buffer.logs[partition] = NotedLog(generation: generation(of: partition), facts: facts)
    }

    private mutating func move(_ partition: PartitionName, start: Int64, next: Int64) {
        let (topic, number) = reserve(partition)
        let position = positions[topic][number]
        let (start, next) = (min(start, position.end), min(next, position.end))
        guard let after = position.next else {
            begin(partition, after: start, from: start, next: next)
            positions[topic][number].next = next
            return
        }
        guard next > after else { return }
        // There are no records between them, unless some were lost.
        let from = position.isBehindLoss ? max(after, start) : after
        if from == after, isLast(partition, next: after) {
            buffer.segments[buffer.segments.count - 1].run.next = next
        } else {
            begin(partition, after: after, from: from, next: next)
        }
        positions[topic][number].next = next
        positions[topic][number].isBehindLoss = false
    }

    /// Whether another record was read at this one's offset, in the log that is read now. For records that were read long ago
    /// that is unknown.
    package func contradicts(_ point: StoredLog.Point, _ partition: PartitionName) -> Bool {
        let (topic, number) = (Int(partition.topic), Int(partition.number))
        guard topic < positions.count, number < positions[topic].count else { return false }
        return positions[topic][number].recent.contradict(point)
    }

    /// Records were lost before they were read: reading goes on behind them.
    package mutating func lose(_ partition: PartitionName) {
        let (topic, number) = reserve(partition)
        if positions[topic][number].next != nil { positions[topic][number].isBehindLoss = true }
    }

    /// Reading was ahead of records that it had not read. It is set back to the offset of the next facts: what was stored since
    /// the first of them is to be compared with the log once more.
    package mutating func setBack(_ partition: PartitionName) {
        let (topic, number) = reserve(partition)
        setBacks[partition, default: 0] += 1
        positions[topic][number] = Position()
    }

    /// Other logs have the topic's name.
    package mutating func recreate(topic: UInt16) {
        _ = reserve(PartitionName(topic: topic, number: 0))
        generations[Int(topic)] += 1
        positions[Int(topic)] = []
    }

    // MARK: - Positions

    private mutating func reserve(_ partition: PartitionName) -> (topic: Int, number: Int) {
        let (topic, number) = (Int(partition.topic), Int(partition.number))
        while positions.count <= topic {
            positions.append([])
            generations.append(0)
        }
        while positions[topic].count <= number { positions[topic].append(Position()) }
        return (topic, number)
    }

    private func generation(of partition: PartitionName) -> UInt32 {
        generations[Int(partition.topic)] + (setBacks.isEmpty ? 0 : setBacks[partition] ?? 0)
    }

    /// Whether the last segment ends there.
    private func isLast(_ partition: PartitionName, next: Int64) -> Bool {
        guard let last = buffer.segments.last?.run else { return false }
        return last.partition == partition && last.next == next && last.generation == generation(of: partition)
    }

    private mutating func begin(_ partition: PartitionName, after: Int64, from: Int64, next: Int64) {
        let run = RecordRun(
            partition: partition, generation: generation(of: partition), after: after, from: from, next: next)
        buffer.segments.append(RecordBuffer.Segment(run: run))
    }
}

/// The last records that were read of a partition. They show whether another node, or this one before, has read another record
/// at the same offset.
struct RecentRecords {
    /// Some hundred bytes a partition; writers are behind by less than a second.
    static let maximum = 64

    private var points: [StoredLog.Point] = []
    /// The index of the oldest.
    private var oldest = 0

    mutating func add(_ point: StoredLog.Point) {
        guard points.count == Self.maximum else { return points.append(point) }
        points[oldest] = point
        oldest = (oldest + 1) % Self.maximum
    }

    /// Whether another record was read at this offset.
    func contradict(_ point: StoredLog.Point) -> Bool {
        points.contains { $0.offset == point.offset && $0.stamp != point.stamp }
    }
}
