import KafkaLogs
import LiveUpdates
import ScriptedBroker

/// A node: the real tracker and the real history, and beside them what they must have come to by the design's own words.
struct SimulatedNode {
    private(set) var broker: ScriptedBroker
    private var reader: ScriptedReader
    var history: SimulatedHistory
    private(set) var undecided = UndecidedJoins<Int>()
    private(set) var mapping = 0
    /// By partition.
    private(set) var openings: [Opening?] = []
    /// Partitions of which records were lost, until they are read again.
    private var lost: Set<Int> = []
    private(set) var kept: KeptEvents
    /// The last moment at which it had read everything, and known of everything.
    private(set) var caughtUp: Int64 = 0
    private(set) var refreshed: Int64 = 0
    /// When it noticed last that the topic was recreated.
    private(set) var noticed: Int64?
    private(set) var isReady = false
    /// How many partitions the brokers that it asks tell of, while they are behind.
    var partitionsTold: Int?
    private(set) var mutant: RuleMutant?
    private let setting: SimulationSetting
    private let hasIDs: Bool

    init(_ setting: SimulationSetting, node: Int, mutant: RuleMutant?) {
        self.setting = setting
        self.mutant = mutant
        hasIDs = setting.ids.contains(node)
        broker = ScriptedBroker(brokers: 2, topics: 1, hasTopicIDs: hasIDs)
        broker.create(0, partitions: setting.partitions)
        for partition in 0..<setting.partitions { broker.setLeader(0, partition, 2) }
        reader = ScriptedReader(windowMilliseconds: setting.limits.retentionMilliseconds, canAskIDs: hasIDs)
        history = SimulatedHistory(setting.limits)
        kept = KeptEvents(setting.limits)
    }

    // MARK: - What it has come to

    /// The incarnation of all logs that it reads; nil where they differ, or before it reads any.
    var incarnation: Int? {
        var found: Int?
        for case let opening? in openings {
            if let found, found != opening.incarnation { return nil }
            found = opening.incarnation
        }
        return found
    }

    /// Whether everything there is was read, of the logs that there are.
    func isCaughtUp(_ topic: SimulatedTopic) -> Bool {
        incarnation == topic.incarnation && isAtTheEnd(topic)
    }

    func isAtTheEnd(_ topic: SimulatedTopic) -> Bool {
        guard openings.count == topic.logs.count else { return false }
        for partition in openings.indices {
            let name = PartitionName(topic: 0, number: Int32(partition))
            guard openings[partition] != nil, let next = reader.tracker.facts(of: name)?.next else { return false }
            if next < topic.starts[partition] { return false }
            if topic.first(partition, from: next) < topic.end(of: partition) { return false }
        }
        return true
    }

    func isMapped(_ record: SimulatedTopic.Record) -> Bool { mapping == 0 || record.entity == 0 }

    /// A copy that can go on apart.
    func copy() -> SimulatedNode {
        var copy = self
        copy.history = history.copy()
        return copy
    }

    func nextOffset(_ partition: Int) -> Int64 { kept.next(partition) }

    /// Whether it has read nothing of a log.
    func isUnread(_ partition: Int) -> Bool {
        guard partition < openings.count, let opening = openings[partition] else { return true }
        return opening.start == 0 && kept.next(partition) == 0
    }

    /// Whether it cannot know of a partition: the brokers that it asks are behind.
    func isUnaware(of partition: Int) -> Bool {
        guard let partitionsTold, partition >= partitionsTold else { return false }
        return partition >= openings.count || openings[partition] == nil
    }

    /// Whether it has read nothing yet of a log that has records: it takes that for empty, and the topic for younger.
    func hasUnreadLog(_ topic: SimulatedTopic) -> Bool {
        topic.logs.indices.contains { partition in
            guard isUnread(partition) else { return false }
            // Or it takes a new log for the one before.
            if partition < openings.count, let opening = openings[partition],
                opening.incarnationAtStart != topic.incarnation
            {
                return true
            }
            return topic.first(partition, from: 0) < topic.end(of: partition)
        }
    }

    // MARK: - What happens to the topic

    mutating func change(_ body: (inout ScriptedBroker) -> Void) { body(&broker) }

    // MARK: - Reading

    mutating func restart(mapping: Int) {
        self.mapping = mapping
        for partition in openings.indices {
            broker.assign([.stop(PartitionName(topic: 0, number: Int32(partition)))])
        }
        reader = ScriptedReader(windowMilliseconds: setting.limits.retentionMilliseconds, canAskIDs: hasIDs)
        history = SimulatedHistory(setting.limits)
        undecided = UndecidedJoins()
        openings = []
        isReady = false
        noticed = nil
        kept = KeptEvents(setting.limits)
    }

    mutating func refresh(_ now: Int64) -> [ScriptedReader.Output] {
        refreshed = now
        var outputs = reader.refresh(&broker, Moment(monotonic: now, wall: now))
        isReady = isReady || reader.tracker.readiness.isReady
        if mutant == .believesStaleAnswer, let partitionsTold, partitionsTold < openings.count {
            outputs.append(.change(.recreated(topic: 0)))
            for partition in openings.indices {
                let name = PartitionName(topic: 0, number: Int32(partition))
                if let facts = reader.tracker.facts(of: name) { outputs.append(.change(.facts(name, facts))) }
            }
        }
        return outputs
    }

    mutating func read(atMost count: Int, _ now: Int64) -> [ScriptedReader.Output] {
        sweep(now)
        history.give(.wake)
        return reader.drain(&broker, atMost: count, Moment(monotonic: now, wall: now))
    }

    mutating func sweep(_ now: Int64) {
        history.give(.sweep(now: now))
        kept.sweep(now: now)
    }

    func isLive(_ name: PartitionName, _ offset: Int64) -> Bool {
        Int(name.number) < openings.count && offset >= openings[Int(name.number)]?.liveFrom ?? 0
    }

    /// A node that has loaded its window once serves clients.
    mutating func noteReady() { isReady = isReady || reader.tracker.readiness.isReady }
    /// A log of which nothing was read is like another: where there are no ids, nobody can tell them apart.
    mutating func noteRecreation(of topic: SimulatedTopic, partitions: Int) {
        guard !hasIDs else { return }
        for (partition, opening) in openings.enumerated() {
            guard let opening, partition < partitions,
                opening.start == 0, kept.next(partition) == 0
            else { continue }
            openings[partition] = Opening(
                incarnation: topic.incarnation + 1, incarnationAtStart: opening.incarnationAtStart, start: 0,
                seenFrom: nil, liveFrom: opening.liveFrom)
        }
    }

    mutating func noteCaughtUp(_ now: Int64) { caughtUp = now }

    // MARK: - What the tracker says has changed

    /// Returns what is wrong with it.
    mutating func handle(_ change: LogChange, _ topic: inout SimulatedTopic, _ now: Int64) -> String? {
        switch change {
        case .found(let name):
            history.give(.found(name, exists: true))
            return nil
        case .identified(let topic, let id):
            if mutant != .ignoresID { history.give(.identified(topic: topic, id: id)) }
            return nil
        case .vanished(let name):
            history.give(.found(name, exists: false))
            return nil
        case .facts(let name, let facts):
            let problem = open(name, facts, &topic, now)
            // What was lost or deleted seems as old as the first good stamp behind it: one that is too late misleads.
            let partition = Int(name.number)
            if let stamp = facts.unread?.stampedBefore, partition < topic.logs.count,
                topic.hasLateRecord(partition, stamped: stamp, margin: setting.margin)
            {
                topic.excuse(partition, from: 0, before: min(facts.start, topic.end(of: partition)))
            }
            let handed = mutant.map { $0.change(facts, now) } ?? facts
            history.give(.facts(name, handed))
            return problem
        case .recreated:
            let isNeeded = openings.contains { $0 != nil && $0?.incarnationAtStart != topic.incarnation }
            openings = []
            noticed = now
            kept.removeAll()
            if mutant != .ignoresRecreation { history.give(.reset(topic: 0, now: now)) }
            return isNeeded ? nil : "everybody is told that the topic was recreated, which it was not"
        case .recordsLost(let name, _):
            let partition = Int(name.number)
            let next = partition < openings.count ? kept.next(partition) : 0
            if partition < openings.count { openings[partition] = nil }
            lost.insert(partition)
            kept.remove(partition)
            if mutant != .ignoresLoss { history.give(.lose(name)) }
            return topic.starts[partition] > next ? nil : "everybody is told that records were lost, which were not"
        }
    }

    /// Notes where reading of a log began, when that is new.
    private mutating func open(
        _ name: PartitionName, _ facts: LogFacts, _ topic: inout SimulatedTopic, _ now: Int64
    ) -> String? {
        let partition = Int(name.number)
        while openings.count <= partition { openings.append(nil) }
        guard openings[partition] == nil else { return nil }
        let window = now - setting.limits.retentionMilliseconds
        let logStart = topic.starts[partition]
        let latest = max(logStart, topic.windowStart(partition, window))
        let first = topic.first(partition, from: logStart)
        let firstStamp = first < topic.end(of: partition) ? topic.records[topic.logs[partition][Int(first)]].stamp : -1
        var seenFrom: Int64?
        // By the issuing node's clock, which may be ahead.
        let found = now + History.maximumClockDifferenceMilliseconds
        if lost.remove(partition) != nil {
            seenFrom = found + 1
        } else if facts.start > 0 {
            if facts.start > first {
                let isBounded = logStart == 0 || firstStamp >= 0
                seenFrom = isBounded ? min(found, window + setting.margin) : found
            } else {
                seenFrom = firstStamp >= 0 && firstStamp <= now ? min(found, firstStamp + setting.margin) : found
            }
        }
        openings[partition] = Opening(
            incarnation: topic.incarnation, incarnationAtStart: topic.incarnation, start: facts.start,
            seenFrom: seenFrom, liveFrom: topic.end(of: partition))
        kept.open(partition, start: facts.start, liveFrom: topic.end(of: partition))
        topic.excuse(partition, before: facts.start, margin: setting.margin)
        // What was deleted is as old as the first record that is left says.
        if logStart > 0, first < topic.end(of: partition), topic.isLate(partition, first, margin: setting.margin) {
            topic.excuse(partition, from: 0, before: logStart)
        }
        return facts.start <= latest ? nil : "partition \(partition) is read from \(facts.start), \(latest) is due"
    }

    /// Hands a record to the history. Returns whether it holds an event that was not read before.
    mutating func handle(
        _ record: SimulatedTopic.Record, _ index: Int, _ partition: PartitionName, offset: Int64, _ now: Int64
    ) -> Bool {
        let isEvent = isMapped(record)
        let isNew = kept.read(record, index, Int(partition.number), offset: offset, isEvent: isEvent, now: now)
        let name = partition
        if isEvent {
            history.give(
                .event(
                    SimulatedNames.event(index, entity: record.entity), SimulatedNames.accounts[record.account], name,
                    offset: offset, timestamp: record.stamp, now: now))
        } else {
            history.give(.skip(name, offset: offset, timestamp: record.stamp, now: now))
        }
        return isNew && isEvent
    }

    // MARK: - Joins

    mutating func add(_ client: Int, _ account: Account, _ cursor: Cursor, _ doubt: Doubt, _ now: Int64) -> Resumption?
    {
        let history = history.current()
        return undecided.add(
            client, account: account, cursor: cursor, doubt: doubt, history: history, now: UInt64(now), wallClock: now)
    }

    /// Reads once more what is asked for, and decides on the joins that wait.
    mutating func decide(_ topic: SimulatedTopic, _ now: Int64) -> Resumption? {
        for probe in undecided.takeProbes() {
            let found = mutant == .absenceIsProof ? .record(timestamp: 7, account: nil) : self.probe(probe, topic)
            undecided.probed(probe, found: found)
        }
        let history = history.current()
        return undecided.decide(history, now: UInt64(now), wallClock: now).first?.1
    }

    private func probe(_ probe: UndecidedJoins<Int>.Probe, _ topic: SimulatedTopic) -> ProbedRecord {
        guard broker.exists(0), Int(probe.partition.number) < broker.partitions(0) else { return .unanswered }
        let log = broker.log(0, Int(probe.partition.number))
        guard let (offset, found) = log.first(from: probe.offset), offset == probe.offset else { return .none }
        let record = topic.records[found.payload]
        return .record(
            timestamp: record.stamp, account: isMapped(record) ? SimulatedNames.accounts[record.account] : nil)
    }
}
