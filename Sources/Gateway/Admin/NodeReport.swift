import KafkaLogs
import LiveUpdates
import Reactor
import Synchronization

/// Everything that is known of the node at one moment.
struct NodeReport: Sendable {
    /// How far one partition is behind.
    struct Lag: Sendable {
        let topic: String
        let number: Int32
        let records: Int64
        let seconds: Double
        let state: PartitionState
    }

    /// All loops of clients together.
    var loops = LoopReport()
    /// Nil before ingest is open, and when it does not answer and never has.
    var ingest: IngestReport?
    var lags: [Lag] = []
    var isReady = false
    var isDraining = false
    var startedMilliseconds: Int64 = 0
    var usage: ProcessUsage?
    /// Seconds since 1970; nil without TLS.
    var certificateEnd: Int64?
    var droppedLines = 0
    var others = OtherCounts()

    /// What the charts need of it.
    func sample(at time: UInt64) -> LoadSample {
        var sample = LoadSample(time: time)
        if let ingest {
            sample.events = ingest.topics.indices.reduce(0) { $0 + ingest.counters.outcomes[nil, topic: $1] }
        }
        sample.deliveries = loops.deliveries.total
        sample.handshakes = loops.counters.handshakes
        sample.refusals = loops.counters.refusals.values.reduce(0, +)
        sample.delivery = loops.deliveries.delivery
        sample.age = loops.deliveries.age
        sample.connections = loops.counters.open.reduce(0, +)
        sample.lagRecords = lags.reduce(0) { $0 + $1.records }
        return sample
    }
}

/// How far a node is behind the end of a partition, in records and in time.
///
/// A partition that is written to has always something on its way. What counts is for how long the oldest of what is not
/// read yet has been there: ends are remembered with the moment at which they were learnt, until they are reached. A value
/// without a clock.
struct PartitionLag: Sendable {
    /// Ends that are remembered. Beyond it those between go; the oldest, which counts, stays.
    static let maximumEnds = 16

    private var ends: [(end: Int64, at: UInt64)] = []
    private var position: Int64?
    private(set) var records: Int64 = 0

    /// What is known by now; `now` is monotonic, in milliseconds. Without an end what was known stays.
    mutating func note(position: Int64?, end: Int64?, now: UInt64) {
        guard let position else { return }
        // Read again from further back, as after a log that has begun again: what was known of its end says nothing.
        if position < self.position ?? position { ends = [] }
        self.position = position
        let last = ends.last?.end
        if let end, end != last { append(end, now) }
        ends.removeAll { $0.end <= position }
        if ends.count > Self.maximumEnds { ends.remove(at: ends.count / 2) }
        records = max(0, (end ?? last ?? position) - position)
    }

    /// An end may go back, where a broker knows less than the one before it: it was there as soon as a later one was.
    private mutating func append(_ end: Int64, _ now: UInt64) {
        let at = ends.first { $0.end >= end }?.at ?? now
        ends.removeAll { $0.end >= end }
        ends.append((end, at))
    }

    /// For how long; grows while nothing is read.
    func milliseconds(now: UInt64) -> UInt64 { ends.first.map { now - min(now, $0.at) } ?? 0 }
}

/// What parts of the node count that are no loops of clients, since the start.
struct OtherCounts: Sendable {
    var reloadsOK = 0
    var reloadsFailed = 0
    var keyFetchesOK = 0
    var keyFetchesFailed = 0
    var introspectionsActive = 0
    var introspectionsInactive = 0
    var introspectionsFailed = 0
}

extension LoopBound {
    /// Asks on the loop, behind what is queued there; nil when it has not answered in time. From any thread.
    ///
    /// - Parameter clock: the loop that counts the time.
    func ask<Answer: Sendable>(
        within milliseconds: UInt64, clock: EventLoop, _ question: @escaping @Sendable (Value) -> Answer
    ) async -> Answer? {
        await withCheckedContinuation { continuation in
            let first = FirstAnswer(continuation)
            loop.execute { first.give(question(value)) }
            clock.execute { clock.schedule(afterMilliseconds: milliseconds) { first.give(nil) } }
        }
    }
}

/// Takes the first of several answers.
private final class FirstAnswer<Answer: Sendable>: Sendable {
    private let waiting: Mutex<CheckedContinuation<Answer?, Never>?>

    init(_ continuation: CheckedContinuation<Answer?, Never>) { waiting = Mutex(continuation) }

    func give(_ answer: Answer?) { waiting.withLock { $0.take() }?.resume(returning: answer) }
}
