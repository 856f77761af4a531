import KafkaLogs
import LiveUpdates

/// Decides what is to be written into an archive, and what has to be read once more for it: without I/O and without a clock.
///
/// Records that are read live are held until they are stored, up to a limit. A partition is *behind* if its stored position is
/// before what is held: it is read again from there up to that. Everything is passed on in whole runs, so that the store sees
/// where records are missing.
package struct ArchiveFeed {
    /// The limit for held records of all partitions: a second or so of a busy node. What exceeds it is read again.
    package static let maximumHeldBytes = 16 << 20
    /// Accounts whose erasure is remembered, each until it is older than what is kept.
    package static let maximumErasures = 65_536
    /// The events of one transaction, except for its last run.
    package static let maximumBatchEvents = 10_000

    /// What is to be read once more.
    package struct Behind: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        package let range: Range<Int64>
    }

    private struct Flight {
        let generation: UInt32
        let next: Int64
        let log: StoredLog
    }

    private let topics: [String]
    private let maximumHeldBytes: Int
    private let maximumErasures: Int
    private(set) var parts: [PartitionName: FeedPartition] = [:]
    /// What is being stored.
    private var flights: [PartitionName: Flight] = [:]
    private var gone = GonePartitions()
    /// Of these accounts nothing from before these moments is stored any more.
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

    /// Receives what was read. `wallClock`: since 1970, in ms.
    package mutating func receive(_ buffer: consuming RecordBuffer, now: UInt64, wallClock: Int64) {
        let logs = buffer.logs
        for run in buffer.runs() {
            let name = run.partition
            parts[name, default: FeedPartition(generation: run.generation)].receive(run, now: now)
        }
        learn(logs, wallClock)
        makeRoom()
    }

    private mutating func learn(_ logs: [PartitionName: NotedLog], _ wallClock: Int64) {
        for (name, log) in logs {
            parts[name, default: FeedPartition(generation: log.generation)].learn(log, wallClock: wallClock)
        }
    }

    /// Records that were read live were dropped before they arrived here.
    package mutating func miss(_ dropped: DroppedRecords, now: UInt64, wallClock: Int64) {
        for (name, end) in dropped.ends {
            parts[name, default: FeedPartition(generation: end.generation)].miss(end, now: now)
        }
        learn(dropped.logs, wallClock)
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

    /// Partitions that are read, and those of which nothing will be read any more, in their order.
    package var partitions: [ArchivePartition] { Set(parts.keys).union(gone.names).sorted().map(archived) }

    private func archived(_ name: PartitionName) -> ArchivePartition {
        ArchivePartition(topic: topics[Int(name.topic)], number: name.number)
    }

    // MARK: - Which node writes what

    /// This node is to write these partitions, and no others.
    package mutating func claim(_ claimed: [ClaimedPartition]) {
        precondition(flights.isEmpty, "a claim while something is stored")
        var found: [ArchivePartition: ClaimedPartition] = [:]
        for claim in claimed { found[claim.partition] = claim }
        for name in Array(gone.names) { gone.claim(name, found[archived(name)], topicID(name.topic)) }
        for name in parts.keys {
            guard let claimed = found[archived(name)] else {
                parts[name]?.release()
                continue
            }
            if parts[name]?.claim == FeedPartition.Claim.none { parts[name]?.receive(claimed) }
        }
    }

    /// It is unknown which node writes what, and how far it is stored: the store was away.
    package mutating func disclaim() {
        flights = [:]
        gone.disclaim()
        for name in parts.keys { parts[name]?.release() }
    }

    /// Other nodes have stored so much: it need not be held. Where another node advances, the rest counts as waiting since now.
    package mutating func release(_ stored: [StoredPosition], now: UInt64) {
        for (name, position) in named(stored) where parts[name]?.claim == FeedPartition.Claim.none {
            parts[name]?.follow(position, now: now)
        }
    }

    private func named(_ stored: [StoredPosition]) -> [PartitionName: StoredPosition] {
        var named: [PartitionName: StoredPosition] = [:]
        for position in stored {
            guard let topic = topics.firstIndex(where: { $0.utf8.elementsEqual(position.topic.utf8) }) else { continue }
            named[PartitionName(topic: UInt16(topic), number: position.partition)] = position
        }
        return named
    }

    /// The topic's now; nil where it has none, or none of its logs is read.
    private func topicID(_ topic: UInt16) -> UInt32? {
        let own = parts.lazy.filter { $0.key.topic == topic }.map(\.value)
        return own.max { $0.generation < $1.generation }?.facts?.topicID
    }

    /// A metadata refresh has ended: by topic, what brokers have reported of it.
    package mutating func refreshed(_ topics: [TopicAnswers]) { gone.refreshed(topics) }

    /// Receives how far all partitions are stored, by any node. Not while something is stored.
    ///
    /// - Returns: whether some were found to be gone: they are to be claimed too.
    package mutating func findGone(in stored: [StoredPosition], now: UInt64, wallClock: Int64) -> Bool {
        let isNews = gone.find(in: named(stored), now: now, wallClock: wallClock, topicID)
        for name in gone.names { parts[name] = nil }
        return isNews
    }

    // MARK: - Where to go on

    package var questions: [Question] {
        parts.compactMap { name, part in
            // Before it is known which log is read here, nobody can decide whether it is the stored one.
            guard case .unresolved(let next) = part.claim, let facts = part.facts else { return nil }
            return Question(
                partition: name, generation: part.generation, next: next, log: part.stored, facts: facts)
        }
    }

    /// The result of a question.
    package mutating func resolve(_ question: Question, _ resolution: Resolution) {
        guard let part = parts[question.partition], part.generation == question.generation,
            part.claim == .unresolved(next: question.next), part.stored == question.log
        else { return }
        parts[question.partition]?.resolve(resolution)
    }

    package var behind: [Behind] {
        parts.compactMap { name, part in
            guard flights[name] == nil, let range = part.behind else { return nil }
            return Behind(partition: name, generation: part.generation, range: range)
        }
    }

    /// Receives what was read once more. A run that does not go on at the partition's position is dropped.
    package mutating func reread(_ run: RecordRun) {
        guard var part = parts[run.partition], part.generation == run.generation, case .at(let position) = part.claim,
            flights[run.partition] == nil, run.after == part.reread.last?.next ?? position, run.next > run.after
        else { return }
        if let held = part.chain.first?.after, run.from > held, held > run.after {
            // Kafka's log now starts behind the first held offset: only what lies before that offset is lost.
            part.append(
                reread: RecordRun(
                    partition: run.partition, generation: run.generation, after: run.after, from: held, next: held))
        } else {
            part.append(reread: run)
        }
        parts[run.partition] = part
    }

    /// A partition that was being read once more has lost its offset: where it goes on has to be found out.
    package mutating func loseLog(_ behind: Behind) {
        guard parts[behind.partition]?.generation == behind.generation, flights[behind.partition] == nil,
            case .at = parts[behind.partition]?.claim
        else { return }
        parts[behind.partition]?.unresolve()
    }

    // MARK: - What is stored

    /// Nothing of the account that is stamped or was read before the moment is stored from now on. False: too many are
    /// remembered, so that it may be.
    package mutating func erase(_ account: Account, until moment: Int64) -> Bool {
        guard erased[account] != nil || erased.count < maximumErasures else { return false }
        erased[account] = max(erased[account] ?? .min, moment)
        return true
    }

    /// An erasure was read. Records that arrived before its moment are recognized when they are read once more.
    ///
    /// To be called after ``receive(_:now:)`` of what was read before, and before ``miss(_:now:)`` of what was dropped since.
    package mutating func noteErasure(until moment: Int64) {
        for name in parts.keys { parts[name]?.erase(until: moment) }
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
        guard flights.isEmpty, gone.flight.isEmpty else { return nil }
        var runs: [ArchiveBatch.Run] = []
        var count = 0
        // The one that has waited for longest is first.
        let names = parts.keys.sorted { (parts[$0]?.waitsSince ?? .max, $0) < (parts[$1]?.waitsSince ?? .max, $1) }
        for name in names where count < maximumEvents {
            guard let part = parts[name], case .at(let position) = part.claim else { continue }
            var stretch = Stretch(position, part, archived(name))
            for run in part.ready where count < maximumEvents {
                count += run.entries.count
                stretch.add(run) { [erased] account, entry in
                    guard let moment = erased[account] else { return true }
                    return entry.arrival >= moment && (entry.stamp == -1 || entry.stamp >= moment)
                }
            }
            guard stretch.hasGone || part.owesPosition else { continue }
            runs += stretch.finish()
            flights[name] = Flight(generation: part.generation, next: stretch.position, log: stretch.log)
        }
        for (name, moment, since) in gone.take() {
            let partition = archived(name)
            runs.append(
                ArchiveBatch.Run(
                    topic: partition.topic, partition: partition.number, from: 0, next: 0,
                    stamps: .init(first: moment, last: moment), continuation: .otherLog(since: since),
                    log: StoredLog(known: KnownLog(topicID: topicID(name.topic))), events: []))
        }
        return runs.isEmpty ? nil : ArchiveBatch(runs: runs)
    }

    /// The last batch is stored.
    package mutating func appended(now: UInt64) {
        for (name, flight) in flights {
            guard parts[name]?.generation == flight.generation else { continue }
            parts[name]?.store(upTo: flight.next, flight.log, now: now)
        }
        flights = [:]
        gone.stored()
    }

    /// Since when the partition waits that has waited for longest; nil: none waits. `ofAll`: also those that are not claimed.
    package func waitsSince(ofAll: Bool) -> UInt64? {
        parts.values.lazy.filter { ofAll || $0.claim != .none }.compactMap(\.waitsSince).min()
    }
}
