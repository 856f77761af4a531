import HTTP
import KafkaLogs
import LiveUpdates
import Reactor
import Tokens

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
    /// Nil without a control topic.
    var readsControl: Bool?
    var startedMilliseconds: Int64 = 0
    var usage: ProcessUsage?
    /// Seconds since 1970; nil without TLS.
    var certificateEnd: Int64?
    var droppedLines = 0
    var others = OtherCounts()

    /// A week: time enough to find out why a certificate was not renewed.
    static let certificateWarningSeconds: Int64 = 7 * 86_400
    /// A busy partition is always a little behind, and ends are asked for every 5 s.
    static let lagWarningSeconds = 15.0

    /// What an operator should know, the gravest first.
    ///
    /// - Parameters:
    ///   - failing: parts of the node that are not as they should be, with the reason.
    ///   - now: in seconds since 1970.
    func problems(_ failing: [String], now: Int64) -> [String] {
        var problems = failing
        let late = lags.filter { $0.seconds >= Self.lagWarningSeconds }
        if let worst = late.max(by: { $0.seconds < $1.seconds }) {
            let others = late.count > 1 ? ", and \(late.count - 1) more" : ""
            problems.append(
                "lag: \(worst.topic)/\(worst.number) is \(worst.records) records and \(Int(worst.seconds)) s behind\(others)"
            )
        }
        if let end = certificateEnd, end - now < Self.certificateWarningSeconds {
            problems.append(
                end <= now
                    ? "tls: the certificate has expired" : "tls: the certificate expires in \((end - now) / 3600) hours"
            )
        }
        if let before = others.allTokensRevoked[.lost] {
            problems.append(
                "revocations: records of the control topic were lost; tokens from before \(InternetDate.text(secondsSince1970: before)), and those without iat, are refused"
            )
        }
        if let before = others.allTokensRevoked[.noRoom] {
            problems.append(
                "revocations: more than a node can remember; tokens from before \(InternetDate.text(secondsSince1970: before)), and those without iat, are refused"
            )
        }
        if droppedLines > 0 {
            problems.append("log: \(droppedLines) lines were dropped: not read, or not to be written")
        }
        return problems
    }

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
/// A busy partition always has records that are still to be read. What counts is for how long the oldest unread record has been
/// there. So each end is stored with the time at which it was learnt, until it is reached. A value without a clock.
struct PartitionLag: Sendable {
    /// Ends that are remembered. Beyond it those between go; the oldest, which counts, stays.
    static let maximumEnds = 16

    private var ends: [(end: Int64, at: UInt64)] = []
    /// Of what was noted last.
    private var order: UInt64 = 0
    private var position: Int64?
    private(set) var records: Int64 = 0

    /// What is known by now; `now` is monotonic, in milliseconds. Without an end what was known stays.
    ///
    /// - Parameter order: grows with the moment at which this was so. A note that is older than the last one is ignored: several
    ///   ask at once, and a position that only seems to go back would mean that nothing is late.
    mutating func note(position: Int64?, end: Int64?, now: UInt64, order: UInt64) {
        guard let position, order >= self.order else { return }
        self.order = order
        // The position went back, as after a log that has begun again: what was known of its end is worthless.
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

/// Counts of parts of the node that are no loops of clients, since the start.
struct OtherCounts: Sendable {
    var reloadsOK = 0
    var reloadsFailed = 0
    /// The last one, or the start.
    var lastReloadFailed = false
    var keyFetchesOK = 0
    var keyFetchesFailed = 0
    var introspectionsActive = 0
    var introspectionsInactive = 0
    var introspectionsFailed = 0
    var revocations: [Revocation.Kind: Int] = [:]
    var controlRecordsRejected = 0
    var revocationsKept = 0
    /// The second since 1970 from which on the tokens of all clients are good, by cause.
    var allTokensRevoked: [Revocations.Cause: Int64] = [:]
    /// Nil: there is no archive.
    var archive: ArchiveCounts?
}

extension LoopBound {
    /// As ``ask(_:)``, and waits for the answer; nil when it has not come in time.
    func ask<Answer: Sendable>(
        within milliseconds: UInt64, _ question: @escaping @Sendable (Value) -> Answer
    ) async -> Answer? {
        await ask(question).value(within: milliseconds)
    }
}
