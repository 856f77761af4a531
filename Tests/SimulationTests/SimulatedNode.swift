import KafkaLogs
import LiveUpdates
import ScriptedBroker

/// A node: the real tracker and the real history, and beside them what they must have come to by the design's own words.
struct SimulatedNode {
    var broker: ScriptedBroker
    private var reader: ScriptedReader
    var history: SimulatedHistory
    var undecided = UndecidedJoins<Int>()
    var mapping = 0
    /// By partition.
    var openings: [Opening?] = []
    /// Cursors issued from then on have seen the quiet topic's record; nil where it is read here.
    var quietSeenFrom: Int64?
    /// Partitions of which records were lost, until they are read again.
    var lost: Set<Int> = []
    var kept: KeptEvents
    /// The last moment at which it had read everything, and known of everything.
    private(set) var caughtUp: Int64 = 0
    private var changesSeen = -1
    private(set) var refreshed: Int64 = 0
    /// When it noticed last that the topic was recreated.
    var noticed: Int64?
    private(set) var isReady = false
    /// How many partitions the brokers that it asks tell of, while they are behind.
    var partitionsTold: Int?
    private(set) var mutant: RuleMutant?
    /// The topic when a refresh began between whose answers something else happens.
    var asked: SimulatedTopic?
    /// Partitions that were cut back below what it has read, or may know of: it may say that the topic was recreated.
    var cutBack: Set<Int> = []
    /// Partitions that have had another leader since the last refresh.
    private(set) var elections: Set<Int> = []
    /// Whether it has read records that an unclean election lost since, and does not know that yet.
    var hasReadWhatIsLost = false
    /// The eras of the topic that it saw begin.
    var erasSeen: Set<Int> = []
    let setting: SimulationSetting
    let hasIDs: Bool
    private let clock: Int64

    init(_ setting: SimulationSetting, node: Int, mutant: RuleMutant?) {
        self.setting = setting
        self.mutant = mutant
        hasIDs = setting.ids.contains(node)
        clock = setting.clock(node)
        broker = ScriptedBroker(brokers: setting.brokers, topics: setting.topicNames.count, hasTopicIDs: hasIDs)
        broker.create(0, partitions: setting.partitions)
        if setting.hasQuietTopic {
            broker.create(1, partitions: 1)
            broker.setLeader(1, 0, 2)
            broker.append(1, 0, ScriptedRecord(timestamp: Simulation.beginning - 10_000, payload: 0))
        }
        for partition in 0..<setting.partitions { broker.setLeader(0, partition, 2) }
        reader = Self.reader(setting, hasIDs)
        history = SimulatedHistory(setting.limits, topics: setting.topicNames.count)
        kept = KeptEvents(setting.limits)
    }

    private static func reader(_ setting: SimulationSetting, _ hasIDs: Bool) -> ScriptedReader {
        ScriptedReader(
            topics: setting.topicNames, windowMilliseconds: setting.limits.retentionMilliseconds, canAskIDs: hasIDs)
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
            if next < topic.starts[partition] || next > topic.end(of: partition) { return false }
            if topic.first(partition, from: next) < topic.end(of: partition) { return false }
        }
        return true
    }

    func facts(of name: PartitionName) -> LogFacts? { reader.tracker.facts(of: name) }
    /// What brokers have told of the topics.
    var topicAnswers: [TopicAnswers] { reader.tracker.topicAnswers }

    func isMapped(_ record: SimulatedTopic.Record) -> Bool { mapping == 0 || record.entity == 0 }

    /// A copy that can go on apart.
    func copy() -> SimulatedNode {
        var copy = self
        copy.history = history.copy()
        return copy
    }

    func nextOffset(_ partition: Int) -> Int64 { kept.next(partition) }

    /// Whether it holds all that the account has from an offset on, as far as it has read.
    func remembers(_ account: Int, _ partition: Int, _ offset: Int64) -> Bool {
        // By a limit on bytes any account may have given way.
        guard !setting.isByteLimited, partition < openings.count, let opening = openings[partition]
        else { return false }
        return offset >= opening.start && !kept.hasLetGo(account, partition, from: offset, isFiltered: false)
    }

    /// Whether it has read nothing of a log.
    func isUnread(_ partition: Int) -> Bool {
        guard partition < openings.count, let opening = openings[partition] else { return true }
        return opening.start == 0 && kept.next(partition) == 0
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
        if setting.hasQuietTopic { broker.assign([.stop(PartitionName(topic: 1, number: 0))]) }
        reader = Self.reader(setting, hasIDs)
        history = SimulatedHistory(setting.limits, topics: setting.topicNames.count)
        undecided = UndecidedJoins()
        openings = []
        quietSeenFrom = nil
        isReady = false
        noticed = nil
        asked = nil
        cutBack = []
        hasReadWhatIsLost = false
        erasSeen = []
        kept = KeptEvents(setting.limits)
    }

    var isRefreshing: Bool { reader.isRefreshing }

    /// So many answers of a refresh, at most to its end.
    mutating func refreshPart(_ answers: Int, _ topic: SimulatedTopic, _ now: Int64) -> [ScriptedReader.Output] {
        var outputs: [ScriptedReader.Output] = []
        if !reader.isRefreshing { asked = topic }
        for _ in 0..<answers {
            outputs += reader.refreshStep(&broker, Moment(monotonic: now, wall: now + clock))
            if !reader.isRefreshing { break }
        }
        isReady = isReady || reader.tracker.readiness.isReady
        return outputs
    }

    /// A whole refresh at one moment.
    mutating func refresh(_ now: Int64) -> [ScriptedReader.Output] {
        refreshed = now
        asked = nil
        elections = []
        var outputs = reader.refresh(&broker, Moment(monotonic: now, wall: now + clock))
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
        sweep(now + clock)
        history.give(.wake)
        return reader.drain(&broker, atMost: count, Moment(monotonic: now, wall: now + clock))
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

    /// Whether it stands behind an offset and knows no record there that could be missing: it has read none, and that before its
    /// start is gone.
    func hasNothing(of partition: Int, behind offset: Int64, _ topic: SimulatedTopic) -> Bool {
        guard partition < openings.count, let start = openings[partition]?.start else { return false }
        let next = reader.tracker.facts(of: PartitionName(topic: 0, number: Int32(partition)))?.next ?? 0
        guard next > offset, kept.next(partition) <= max(offset, start) else { return false }
        return next > start || topic.first(partition, from: start - 1) >= start
    }

    /// A log is cut back to an offset.
    mutating func noteCut(of partition: Int, to offset: Int64) {
        let facts = reader.tracker.facts(of: PartitionName(topic: 0, number: Int32(partition)))
        elections.insert(partition)
        if reader.isRefreshing || max(facts?.next ?? 0, facts?.end ?? 0) > offset { cutBack.insert(partition) }
        guard partition < openings.count, openings[partition] != nil else { return }
        // Without ids a log that is empty again is another one: that it had records is what cursors say of it.
        let isEmptied = !setting.hasIDs && offset == 0 && facts?.end ?? 0 > 0
        if isEmptied || kept.next(partition) > offset { hasReadWhatIsLost = true }
    }

    mutating func noteCaughtUp(_ topic: SimulatedTopic, _ now: Int64) {
        caughtUp = now
        changesSeen = topic.changes
    }

    /// Whether it has read, and knows, all there is at this moment: to refresh or to read once more changes nothing.
    func isDone(_ topic: SimulatedTopic, _ now: Int64) -> Bool {
        caughtUp == now && changesSeen == topic.changes && !isRefreshing && !hasReadWhatIsLost && isCaughtUp(topic)
    }

    /// Whether its consumer brings nothing.
    var hasNothingToRead: Bool {
        var broker = broker
        return broker.fetch(1).isEmpty
    }

    // MARK: - Joins

    mutating func add(
        _ client: Int, _ account: Account, _ cursor: Cursor, _ filter: EntityFilter?, _ doubt: Doubt, _ now: Int64
    ) -> Resumption? {
        let history = history.current()
        return undecided.add(
            client, account: account, cursor: cursor, entities: filter, doubt: doubt, history: history,
            now: UInt64(now), wallClock: now + clock)
    }

    /// Reads once more what is asked for, and decides on the joins that wait.
    mutating func decide(_ topic: SimulatedTopic, _ now: Int64) -> Resumption? {
        for probe in undecided.takeProbes() {
            let found = self.probe(probe, topic)
            undecided.probed(probe, found: mutant.map { $0.change(found) } ?? found)
        }
        let history = history.current()
        return undecided.decide(history, now: UInt64(now), wallClock: now + clock).first?.1
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
