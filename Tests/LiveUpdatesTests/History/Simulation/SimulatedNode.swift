@testable import LiveUpdates

/// A node: a history under test, and what its consumer would find out about the topic.
struct SimulatedNode {
    private(set) var history: History
    /// The incarnation that it takes the topic for.
    private(set) var incarnation: Int
    /// The read positions of the partitions that it has opened.
    private(set) var next: [Int64] = []
    private var facts: [LogFacts] = []
    /// The highest time stamp of each partition.
    private var newest: [Int64] = []
    private var lastKnown: Int64
    private let limits: HistoryLimits
    /// How far back it reads at its start.
    private let window: Int64
    /// Read from the beginning, with everything kept but for the limit on events: its refusals can be judged.
    let keepsAll: Bool
    /// For such a node: what each account's log must hold.
    private(set) var kept: [KeptEvents] = []
    private let account: [Account]

    init(
        limits: HistoryLimits, window: Int64, keepsAll: Bool, accounts: [Account], topic: SimulatedTopic, now: Int64
    ) {
        self.limits = limits
        self.window = window
        self.keepsAll = keepsAll
        account = accounts
        history = History(epoch: Epoch(number: 1), limits: limits)
        incarnation = topic.incarnation
        lastKnown = now
    }

    static func name(_ partition: Int) -> PartitionName { PartitionName(topic: 0, number: Int32(partition)) }

    // MARK: - Starting

    /// Goes back by its window, and reads one partition after the other, `order` first.
    mutating func start(_ topic: SimulatedTopic, now: Int64, order: Int) {
        history = History(epoch: Epoch(number: 1), limits: limits)
        incarnation = topic.incarnation
        lastKnown = now
        next = []
        facts = []
        newest = []
        kept = account.map { _ in KeptEvents(maximum: limits.maximumEventsPerAccount) }
        for partition in topic.logs.indices {
            open(partition, topic, start: topic.firstOffset(of: partition, notBefore: now - window), now: now)
        }
        history.beginWake()
        for turn in topic.logs.indices {
            let partition = (turn + order) % topic.logs.count
            while read(partition, topic, now: now) != nil {}
        }
        history.beginWake()
    }

    /// `notBefore` where another log had the name.
    private mutating func open(
        _ partition: Int, _ topic: SimulatedTopic, start: Int64, now: Int64, notBefore: Int64? = nil
    ) {
        let first = topic.starts[partition]
        let end = topic.end(of: partition)
        var fact = LogFacts(
            start: start, liveFrom: end, notBefore: notBefore, known: end > 0 ? now : nil, end: end, endAsked: 1)
        if first < end, first == 0 { fact.born = min(topic.logs[partition][0].timestamp, now) }
        // Deleted records came before the first that is left; what the window leaves out has older time stamps.
        if start > first {
            fact.unread = .init(stampedBefore: now - window, arrivedBefore: now + 1)
        } else if start > 0 {
            let stamp = first < end ? topic.logs[partition][Int(first)].timestamp : nil
            fact.unread = .init(stampedBefore: stamp.map { $0 + 1 }, arrivedBefore: now + 1)
        }
        facts.append(fact)
        newest.append(0)
        history.apply(Self.name(partition), fact)
        next.append(start)
    }

    // MARK: - Reading

    /// Takes the next record of a partition: the record and its offset; nil at the end.
    mutating func read(_ partition: Int, _ topic: SimulatedTopic, now: Int64) -> (SimulatedTopic.Record, Int64)? {
        let offset = next[partition]
        guard offset < topic.end(of: partition) else { return nil }
        let record = topic.logs[partition][Int(offset)]
        next[partition] = offset + 1
        newest[partition] = max(newest[partition], min(record.timestamp, now))
        if facts[partition].known == nil || offset == 0 {
            facts[partition].known = now
            if offset == 0, record.timestamp <= now { facts[partition].born = record.timestamp }
            facts[partition].next = offset
            history.apply(Self.name(partition), facts[partition])
        }
        if let account = record.account {
            history.append(
                ThinEvent(entity: "e", id: "\(record.event)", type: "t"), account: self.account[account],
                partition: Self.name(partition), offset: offset, timestamp: record.timestamp, now: now)
            if keepsAll {
                let arrival = offset >= facts[partition].liveFrom ? now : newest[partition]
                kept[account].take(
                    partition, offset: offset, timestamp: record.timestamp, arrival: arrival, now: now)
            }
        } else {
            history.skip(Self.name(partition), offset: offset, timestamp: record.timestamp, now: now)
        }
        return (record, offset)
    }

    /// Whether the broker itself says that a position is not in the log.
    func isOutOfRange(_ topic: SimulatedTopic) -> Bool {
        for partition in next.indices
        where partition >= topic.logs.count || next[partition] > topic.end(of: partition) { return true }
        return false
    }

    // MARK: - Looking

    func isIgnorant(_ topic: SimulatedTopic) -> Bool { incarnation != topic.incarnation }

    /// Asks for ends and partitions; where the anchors hold, the logs are known to be the same.
    mutating func look(_ topic: SimulatedTopic, now: Int64) {
        for partition in topic.logs.indices {
            if partition == next.count { open(partition, topic, start: topic.starts[partition], now: now) }
            facts[partition].end = topic.end(of: partition)
            if !isIgnorant(topic), topic.end(of: partition) > 0 { facts[partition].known = now }
            facts[partition].next = next[partition]
            history.apply(Self.name(partition), facts[partition])
        }
        if !isIgnorant(topic) { lastKnown = now }
    }

    /// Notices that the topic was made anew, and reads it from its beginning.
    mutating func notice(_ topic: SimulatedTopic, now: Int64) {
        history.reset(topic: 0)
        facts = []
        newest = []
        incarnation = topic.incarnation
        next = []
        for partition in topic.logs.indices {
            open(partition, topic, start: topic.starts[partition], now: now, notBefore: lastKnown)
        }
        lastKnown = now
    }
}
