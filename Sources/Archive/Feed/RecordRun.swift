import KafkaLogs
import LiveUpdates

/// Consecutive records of one partition, and the events that were in them.
package struct RecordRun: Sendable {
    /// An event whose texts are stored separately.
    struct Entry: Sendable {
        let offset: Int64
        /// −1: it has none.
        let stamp: Int64
        /// The node's clock when it was read first.
        var arrival: Int64
        let kind: EventKind
        let accountBytes: Int32
        let idBytes: Int32
    }

    package let partition: PartitionName
    /// The number of the log among those that had the topic's name since the start.
    package let generation: UInt32
    /// The end of what was read before. Between here and ``from`` nothing can be read any more.
    package let after: Int64
    package let from: Int64
    package internal(set) var next: Int64
    package internal(set) var stamps: ArchiveBatch.Stamps?
    /// The last records of the runs that were joined: behind each of them the log may have become another one.
    private var ends: [StoredLog.Point] = []
    var entries: [Entry] = []
    /// Account and id of each entry, one behind the other.
    var texts: [UInt8] = []

    init(partition: PartitionName, generation: UInt32, after: Int64, from: Int64, next: Int64) {
        precondition(after <= from && from <= next, "a run goes forward")
        self.partition = partition
        self.generation = generation
        self.after = after
        self.from = from
        self.next = next
    }

    /// About the bytes that it occupies.
    var bytes: Int { MemoryLayout<Self>.size + entries.count * MemoryLayout<Entry>.stride + texts.count }

    /// Goes on with one that follows it without a loss.
    mutating func append(_ other: RecordRun) {
        precondition(other.after == next && other.from == next && other.generation == generation, "runs are apart")
        ends = Array((points + other.ends).suffix(StoredLog.maximumPoints))
        next = other.next
        entries += other.entries
        texts += other.texts
        stamps = .joined(stamps, other.stamps)
    }

    /// Records by which its log is known again.
    var points: [StoredLog.Point] {
        guard let stamps, let offset = stamps.lastOffset else { return ends }
        return ends + [StoredLog.Point(offset: offset, stamp: stamps.last)]
    }

    /// The stamps of its first and its last record, and of its events.
    package func eachStamp(_ body: (Int64) -> Void) {
        if let stamps {
            body(stamps.first)
            body(stamps.last)
        }
        for entry in entries { body(entry.stamp) }
    }

    /// The stamps of its records from an offset on. If earlier records are left out, records without an event are unknown: then
    /// the first stamp may be too late.
    func stamps(from offset: Int64) -> ArchiveBatch.Stamps? {
        guard let stamps, offset > from else { return stamps }
        let first = entries.first { $0.offset >= offset && $0.stamp >= 0 }
        return ArchiveBatch.Stamps(
            first: first?.stamp ?? stamps.last, last: stamps.last, lastOffset: stamps.lastOffset)
    }

    /// Its events from an offset on, but for those that the filter leaves out.
    func events(from offset: Int64, _ filter: (Account, Entry) -> Bool) -> [ArchivedEvent] {
        var events: [ArchivedEvent] = []
        events.reserveCapacity(entries.count)
        var position = 0
        for entry in entries {
            let end = position + Int(entry.accountBytes) + Int(entry.idBytes)
            defer { position = end }
            guard entry.offset >= offset else { continue }
            let middle = position + Int(entry.accountBytes)
            let account = Account(String(decoding: texts[position..<middle], as: UTF8.self))
            guard filter(account, entry) else { continue }
            let event = ThinEvent(
                entity: entry.kind.entity, id: String(decoding: texts[middle..<end], as: UTF8.self),
                type: entry.kind.type)
            events.append(
                ArchivedEvent(
                    account: account, event: event, offset: entry.offset, stamp: entry.stamp, arrival: entry.arrival))
        }
        return events
    }
}

/// What one wake has read, of any partitions, in few arrays: to add a record needs no allocation.
package struct RecordBuffer: Sendable {
    /// A run, and how much of the buffer is its.
    struct Segment: Sendable {
        var run: RecordRun
        var entries = 0
        var textBytes = 0
    }

    var segments: [Segment] = []
    var entries: [RecordRun.Entry] = []
    var texts: [UInt8] = []
    /// The last notes about logs, behind all of the segments.
    var logs: [PartitionName: NotedLog] = [:]

    package init() {}

    package var isEmpty: Bool { segments.isEmpty && logs.isEmpty }

    /// About the bytes that it occupies.
    package var bytes: Int {
        segments.count * MemoryLayout<Segment>.stride + entries.count * MemoryLayout<RecordRun.Entry>.stride
            + texts.count + logs.count * MemoryLayout<NotedLog>.stride
    }

    /// The stamps of the first and the last record of each run, and of all events.
    package func eachStamp(_ body: (Int64) -> Void) {
        for segment in segments { segment.run.eachStamp(body) }
        for entry in entries { body(entry.stamp) }
    }

    /// Adds an event to the last segment.
    mutating func append(_ event: RecordedEvent, offset: Int64, stamp: Int64, arrival: Int64) {
        event.appendTexts(to: &texts)
        entries.append(
            RecordRun.Entry(
                offset: offset, stamp: stamp, arrival: arrival, kind: event.kind,
                accountBytes: Int32(event.accountBytes), idBytes: Int32(event.idBytes)))
        segments[segments.count - 1].entries += 1
        segments[segments.count - 1].textBytes += event.accountBytes + event.idBytes
    }

    /// Each run with its own events, in their order.
    package consuming func runs() -> [RecordRun] {
        var (entry, text) = (0, 0)
        return segments.map { segment in
            var run = segment.run
            run.entries = Array(entries[entry..<(entry + segment.entries)])
            run.texts = Array(texts[text..<(text + segment.textBytes)])
            entry += segment.entries
            text += segment.textBytes
            return run
        }
    }
}

/// What remains of dropped buffers: how far their partitions were read, and the notes about their logs, which may not be
/// repeated for long.
package struct DroppedRecords: Sendable {
    private(set) var ends: [PartitionName: LiveEnd] = [:]
    private(set) var logs: [PartitionName: NotedLog] = [:]

    package init() {}

    package var isEmpty: Bool { ends.isEmpty && logs.isEmpty }

    /// Adds what remains of a buffer that was read later.
    package mutating func add(_ buffer: RecordBuffer) {
        var entry = 0
        for segment in buffer.segments {
            let (generation, next) = (segment.run.generation, segment.run.next)
            defer { entry += segment.entries }
            let arrival = segment.entries > 0 ? buffer.entries[entry].arrival : nil
            let end = LiveEnd(generation: generation, next: next, arrival: arrival)
            ends[segment.run.partition] = end.behind(ends[segment.run.partition])
        }
        logs.merge(buffer.logs) { $1 }
    }

    /// What was dropped so far had arrived before an erasure.
    package mutating func erase(until moment: Int64) {
        for partition in ends.keys { ends[partition]?.erase(until: moment) }
    }
}

/// What a node knows of a log.
struct NotedLog: Sendable {
    let generation: UInt32
    let facts: LogFacts
}

/// How far a partition was read live.
struct LiveEnd: Equatable, Sendable {
    let generation: UInt32
    let next: Int64
    /// The arrival of the first event that was dropped; nil: none was.
    var arrival: Int64?
    /// How far it was read when something was erased.
    var cuts = ArrivalCuts()

    /// More was dropped since.
    func behind(_ earlier: LiveEnd?) -> LiveEnd {
        guard let earlier, earlier.generation == generation else { return self }
        return LiveEnd(
            generation: generation, next: next, arrival: earlier.arrival ?? arrival, cuts: earlier.cuts)
    }

    /// What was dropped so far had arrived before an erasure, if its first event arrived before that moment.
    mutating func erase(until moment: Int64) {
        if let arrival, arrival < moment { cuts.add(next: next, moment: moment) }
    }
}
