import Archive
import KafkaLogs
import LiveUpdates
import Synchronization

/// What the node reads, handed from ingest to the archive: ingest never waits, whatever the archive does.
final class ArchiveIntake: Sendable {
    /// The limit of what waits here. Beyond it records are dropped, and the archive reads them again.
    static let maximumBytes = 16 << 20

    struct Contents: Sendable {
        /// The Kafka cluster's id; nil until a broker has answered.
        var server: String?
        /// In the order in which they were read.
        var buffers: [RecordBuffer] = []
        /// The remains of dropped buffers, behind all of ``buffers``.
        var dropped = DroppedRecords()
        /// By topic, what brokers have reported of it; nil: nothing new.
        var topics: [TopicAnswers]?
        var erasures: PendingErasures
        /// Whether one of them was beyond the limit.
        var hasLostErasures = false
    }

    private struct State {
        var contents: Contents
        var bytes = 0
    }

    private let state: Mutex<State>
    private let maximumBytes: Int
    private let maximumErasures: Int
    /// Yields when there is something; several calls before it is consumed yield once.
    let bell: AsyncStream<Void>
    private let ringer: AsyncStream<Void>.Continuation

    init(maximumBytes: Int = maximumBytes, maximumErasures: Int = PendingErasures.maximum) {
        self.maximumBytes = maximumBytes
        self.maximumErasures = maximumErasures
        state = Mutex(State(contents: Contents(erasures: PendingErasures(maximum: maximumErasures))))
        (bell, ringer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func begin(server: String) {
        state.withLock { $0.contents.server = server }
        ring()
    }

    func post(_ buffer: RecordBuffer) {
        let isFirst = state.withLock { state in
            let wasEmpty = state.contents.buffers.isEmpty && state.contents.dropped.isEmpty
            // What follows a dropped buffer is dropped too, until the buffers are consumed: it would be read again with it.
            if state.contents.dropped.isEmpty, state.bytes + buffer.bytes <= maximumBytes {
                state.bytes += buffer.bytes
                state.contents.buffers.append(buffer)
            } else {
                state.contents.dropped.add(buffer)
            }
            return wasEmpty
        }
        if isFirst { ring() }
    }

    /// A refresh has ended.
    func refreshed(_ topics: [TopicAnswers]) { state.withLock { $0.contents.topics = topics } }

    /// From any thread, in the order of the control topic.
    func erase(_ erasure: Erasure, isNews: Bool) {
        state.withLock { state in
            let record = PendingErasures.Record(account: erasure.account, stamp: erasure.stamp)
            let entry = PendingErasures.Entry(moment: erasure.moment, isNews: isNews)
            if !state.contents.erasures.add(record, entry) { state.contents.hasLostErasures = true }
            state.contents.dropped.erase(until: entry.moment)
        }
        ring()
    }

    /// What has arrived since the last call.
    func take() -> Contents {
        state.withLock { state in
            let taken = state.contents
            let erasures = PendingErasures(maximum: maximumErasures)
            state = State(contents: Contents(server: taken.server, erasures: erasures))
            return taken
        }
    }

    func ring() { ringer.yield() }

    /// There is no consumer any more.
    func end() { ringer.finish() }
}

/// Erasures that were ordered and are not done yet.
struct PendingErasures: Sendable {
    /// Records: as many as the history remembers accounts. A store that is away for longer is filled again.
    static let maximum = ArchiveFeed.maximumErasures

    /// Two records of one account stay separate: of each the store may know that it was read before, and when.
    struct Record: Hashable {
        let account: Account
        let stamp: Int64
    }

    struct Entry: Sendable {
        /// When it was read, or its stamp if that was before.
        var moment: Int64
        var isNews: Bool
    }

    private(set) var entries: [Record: Entry] = [:]
    private let maximum: Int

    init(maximum: Int = Self.maximum) { self.maximum = maximum }

    var isEmpty: Bool { entries.isEmpty }
    var first: (record: Record, entry: Entry)? { entries.first.map { ($0.key, $0.value) } }

    /// False: another record is beyond the limit. One that is read again counts as it was first read.
    mutating func add(_ record: Record, _ entry: Entry) -> Bool {
        guard let known = entries[record] else {
            guard entries.count < maximum else { return false }
            entries[record] = entry
            return true
        }
        entries[record] = Entry(moment: min(known.moment, entry.moment), isNews: entry.isNews || known.isNews)
        return true
    }

    /// It is done.
    mutating func remove(_ record: Record) { entries[record] = nil }
}

/// Ingest notes here what it reads. Confined to its loop.
final class ArchiveTap {
    let intake: ArchiveIntake
    private var recorder = RunRecorder()

    init(_ intake: ArchiveIntake) { self.intake = intake }

    /// `stamp`: −1 is none; both in ms since 1970.
    func add(
        _ event: RecordedEvent, and left: RecordedEvent?, _ partition: PartitionName, offset: Int64, stamp: Int64,
        now: Int64
    ) {
        recorder.add(event, and: left, partition, offset: offset, stamp: stamp, now: now)
    }

    func skip(_ partition: PartitionName, offset: Int64, stamp: Int64) {
        recorder.skip(partition, offset: offset, stamp: stamp)
    }

    func note(_ partition: PartitionName, _ facts: LogFacts) { recorder.note(partition, facts) }

    func lose(_ partition: PartitionName) { recorder.lose(partition) }

    func setBack(_ partition: PartitionName) { recorder.setBack(partition) }

    func recreate(topic: UInt16) { recorder.recreate(topic: topic) }

    /// Whether the node has read another record at an offset where a position names one: the log was cut back, or is another
    /// one, between the two. O(positions).
    func contradicts(_ positions: [PartitionPosition]) -> Bool {
        positions.contains { position in
            position.newest.contains {
                recorder.contradicts(.init(offset: $0.offset, stamp: $0.stamp), position.partition)
            }
        }
    }

    /// Passes on what was noted: one lock a wake.
    func endWake() {
        guard !recorder.isEmpty else { return }
        intake.post(recorder.take())
    }
}

@available(*, unavailable)
extension ArchiveTap: Sendable {}
