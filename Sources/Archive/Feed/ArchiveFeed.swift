import KafkaLogs
import LiveUpdates

/// What is to be written into an archive, and what has to be read once more for it: decided without I/O and without a clock.
///
/// What is read live is held until it is stored, as far as it finds room. A partition whose stored position is not where
/// that begins is *behind*: it is read again from there, until it meets what is held. All is told in whole runs, so that the
/// store sees where records are missing.
package struct ArchiveFeed {
    /// What is held of all partitions. What finds no room is read again: a second or so of a busy node.
    package static let maximumHeldBytes = 16 << 20
    /// Accounts whose erasure is remembered, each until it is older than what is kept.
    package static let maximumErasures = 65_536
    /// Events of one transaction, but for the last run in it.
    package static let maximumBatchEvents = 10_000

    /// A partition of which it is not known where to go on.
    package struct Question: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        /// What the store has; nil: nothing, or of another log.
        package let next: Int64?
        package let stamp: Int64?
        package let isOtherLog: Bool
    }

    /// What is to be read once more.
    package struct Behind: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        package let range: Range<Int64>
    }

    private struct Flight {
        let generation: UInt32
        let next: Int64
        let isOtherLog: Bool
    }

    private let topics: [String]
    private let maximumHeldBytes: Int
    private let maximumErasures: Int
    private(set) var parts: [PartitionName: FeedPartition] = [:]
    /// What is on its way into the store.
    private var flights: [PartitionName: Flight] = [:]
    /// Nothing of these from before these moments is stored any more.
    private var erased: [Account: Int64] = [:]

    /// Topics in the order of their numbers.
    package init(
        topics: [String], maximumHeldBytes: Int = Self.maximumHeldBytes, maximumErasures: Int = Self.maximumErasures
    ) {
        self.topics = topics
        self.maximumHeldBytes = maximumHeldBytes
        self.maximumErasures = maximumErasures
    }

    // MARK: - What is read live

    /// Takes what has come.
    package mutating func receive(_ buffer: consuming RecordBuffer, now: UInt64) {
        for run in buffer.runs() {
            let name = run.partition
            parts[name, default: FeedPartition(generation: run.generation)].receive(run, now: now)
        }
        makeRoom()
    }

    /// What these partitions have read live was dropped on its way.
    package mutating func miss(_ ends: [PartitionName: LiveEnd], now: UInt64) {
        for (name, end) in ends {
            parts[name, default: FeedPartition(generation: end.generation)].miss(end, now: now)
        }
    }

    private mutating func makeRoom() {
        var held = heldBytes
        while held > maximumHeldBytes, let largest = parts.max(by: { $0.value.chainBytes < $1.value.chainBytes })?.key {
            let before = parts[largest]?.chainBytes ?? 0
            parts[largest]?.dropHalf()
            held -= before - (parts[largest]?.chainBytes ?? 0)
        }
    }

    package var heldBytes: Int { parts.values.reduce(0) { $0 + $1.chainBytes } }

    /// Partitions that are read, in their order.
    package var partitions: [ArchivePartition] { parts.keys.sorted().map(archived) }

    private func archived(_ name: PartitionName) -> ArchivePartition {
        ArchivePartition(topic: topics[Int(name.topic)], number: name.number)
    }

    // MARK: - Who writes what

    /// These are this node's to write, and no others.
    package mutating func claim(_ claimed: [ClaimedPartition]) {
        precondition(flights.isEmpty, "a claim while something is stored")
        var found: [ArchivePartition: ClaimedPartition] = [:]
        for claim in claimed { found[claim.partition] = claim }
        for name in parts.keys {
            guard let claimed = found[archived(name)] else {
                parts[name]?.claim = .none
                parts[name]?.reread = []
                continue
            }
            if parts[name]?.claim == FeedPartition.Claim.none {
                parts[name]?.claim = .unresolved(next: claimed.next, stamp: claimed.stamp, isOtherLog: false)
            }
        }
    }

    /// Nobody knows who writes what, nor how far it is stored: the store was away.
    package mutating func disclaim() {
        flights = [:]
        for name in parts.keys {
            parts[name]?.claim = .none
            parts[name]?.reread = []
            parts[name]?.owesPosition = false
        }
    }

    /// Other nodes have stored so much: it need not be held. Where one goes on, what is left waits since now.
    package mutating func release(_ stored: [StoredPosition], now: UInt64) {
        for position in stored {
            guard let topic = topics.firstIndex(where: { $0.utf8.elementsEqual(position.topic.utf8) }) else { continue }
            let name = PartitionName(topic: UInt16(topic), number: position.partition)
            guard parts[name]?.claim == FeedPartition.Claim.none else { continue }
            parts[name]?.drop(upTo: position.next)
            parts[name]?.follow(position.next, now: now)
        }
    }

    // MARK: - Where to go on

    package var questions: [Question] {
        parts.compactMap { name, part in
            guard case .unresolved(let next, let stamp, let isOtherLog) = part.claim else { return nil }
            return Question(
                partition: name, generation: part.generation, next: next, stamp: stamp, isOtherLog: isOtherLog)
        }
    }

    /// What a question came to: this partition goes on at this offset, in the log that was stored or in another one.
    package mutating func resolve(_ question: Question, at offset: Int64, isOtherLog: Bool) {
        guard var part = parts[question.partition], part.generation == question.generation,
            case .unresolved(question.next, question.stamp, question.isOtherLog) = part.claim
        else { return }
        part.claim = .at(offset)
        part.isOtherLog = isOtherLog
        part.owesPosition = isOtherLog || question.next != offset
        part.drop(upTo: offset)
        if !part.owesPosition, let live = part.live, live <= offset { part.waitsSince = nil }
        parts[question.partition] = part
    }

    package var behind: [Behind] {
        parts.compactMap { name, part in
            guard flights[name] == nil, let range = part.behind else { return nil }
            return Behind(partition: name, generation: part.generation, range: range)
        }
    }

    /// What was read once more. What does not go on where the partition stands is nothing any more.
    package mutating func reread(_ run: RecordRun) {
        guard var part = parts[run.partition], part.generation == run.generation, case .at(let position) = part.claim,
            flights[run.partition] == nil, run.after == part.reread.last?.next ?? position, run.next > run.after
        else { return }
        part.reread.append(run)
        parts[run.partition] = part
    }

    /// A partition that was being read once more has lost its offset: its log is another one.
    package mutating func loseLog(_ behind: Behind) {
        guard parts[behind.partition]?.generation == behind.generation, flights[behind.partition] == nil,
            case .at = parts[behind.partition]?.claim
        else { return }
        parts[behind.partition]?.claim = .unresolved(next: nil, stamp: nil, isOtherLog: true)
    }

    // MARK: - What is stored

    /// Nothing of the account that is stamped or was read before the moment is stored from now on. False: too many are
    /// remembered, so that it may be.
    package mutating func erase(_ account: Account, until moment: Int64) -> Bool {
        guard erased[account] != nil || erased.count < maximumErasures else { return false }
        erased[account] = max(erased[account] ?? .min, moment)
        return true
    }

    /// Forgets erasures from before a moment.
    package mutating func forgetErasures(before moment: Int64) {
        erased = erased.filter { $0.value >= moment }
    }

    package var erasures: Int { erased.count }

    /// Events that can be stored now, up to a limit.
    package func countReady(upTo limit: Int) -> Int {
        var count = 0
        for (name, part) in parts where flights[name] == nil {
            for run in part.ready {
                count += run.entries.count
                if count >= limit { return count }
            }
        }
        return count
    }

    /// The next transaction; nil: there is nothing to be stored. Until ``appended()`` or ``disclaim()`` there is none.
    package mutating func nextBatch(maximumEvents: Int = Self.maximumBatchEvents) -> ArchiveBatch? {
        guard flights.isEmpty else { return nil }
        var runs: [ArchiveBatch.Run] = []
        var count = 0
        // Who has waited for longest comes first.
        let names = parts.keys.sorted { (parts[$0]?.waitsSince ?? .max, $0) < (parts[$1]?.waitsSince ?? .max, $1) }
        for name in names where count < maximumEvents {
            guard let part = parts[name], case .at(let position) = part.claim else { continue }
            var stretch = Stretch(position, part, archived(name))
            for run in part.ready where count < maximumEvents {
                count += run.entries.count
                stretch.add(run) { [erased] account, entry in
                    guard let moment = erased[account] else { return true }
                    return entry.arrival >= moment && (entry.stamp < 0 || entry.stamp >= moment)
                }
            }
            guard stretch.hasGone || part.owesPosition else { continue }
            runs += stretch.finished
            flights[name] = Flight(
                generation: part.generation, next: stretch.position, isOtherLog: part.isOtherLog)
        }
        return runs.isEmpty ? nil : ArchiveBatch(runs: runs)
    }

    /// The last batch is stored.
    package mutating func appended(now: UInt64) {
        for (name, flight) in flights {
            guard var part = parts[name], part.generation == flight.generation else { continue }
            part.claim = .at(flight.next)
            part.isOtherLog = false
            part.owesPosition = false
            part.drop(upTo: flight.next)
            part.reread.removeAll { $0.next <= flight.next }
            part.waitsSince = part.live.map { $0 > flight.next } == true ? now : nil
            parts[name] = part
        }
        flights = [:]
    }

    /// Since when the partition that has waited for longest waits; nil: none does. `ofAll`: also those that are not claimed.
    package func waitsSince(ofAll: Bool) -> UInt64? {
        parts.values.lazy.filter { ofAll || $0.claim != .none }.compactMap(\.waitsSince).min()
    }
}
