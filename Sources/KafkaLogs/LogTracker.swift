/// What is known of the logs that a node reads: the one owner of each of these facts.
///
/// It receives the answers of brokers from those who ask: the metadata refresh (`Probe`, `ProbeAnswer`) and the consumer
/// (records, ends of partitions, errors). It returns what to ask next, what to read (`Assignment`), what has changed
/// (`LogChange`) and what to report to the operator (`LogNotice`). No I/O, no clock, no librdkafka.
package struct LogTracker {
    /// How far back reading begins, in milliseconds; nil: at the end.
    let window: Int64?
    /// Whether the library can ask for topic ids.
    let canAskIDs: Bool
    var topics: [TrackedTopic]
    /// The cluster's id; nil until a broker has answered, empty if it has none.
    package internal(set) var clusterID: String?
    /// Whether it is the broker within librdkafka, which cannot find offsets by time.
    var isEmbedded: Bool { clusterID?.hasPrefix("mockCluster") == true }
    /// `host:port` by broker.
    package internal(set) var brokers: [Int32: String] = [:]
    var agreement = StartAgreement()
    /// The refresh in progress.
    var refresh: Refresh?
    /// Records that were read again without a suspicion, of all refreshes.
    var reread = 0

    // MARK: Results that the caller has yet to fetch

    var assignments: [Assignment] = []
    /// What the consumer was instructed to read.
    private var assigned: Set<PartitionName> = []
    /// Changes other than facts, in order; facts of the partitions in `changed` follow them.
    var events: [LogChange] = []
    var changed: [PartitionName] = []
    var notices: [LogNotice] = []
    /// Whether a caller waits for what the next refresh will find.
    package internal(set) var wantsRefresh = false
    /// Since the start.
    package internal(set) var recordsBelow = RecordsBelow()

    /// The record that is being handed over: facts count it as not handed over yet.
    var current: (partition: PartitionName, offset: Int64)?
    var state = SourceState.live(since: 0)
    var hasState = false
    /// Partitions that have not answered a fetch yet, or have not read their window.
    var unloaded = 0

    /// Topics are identified by their index in `topics`. These are sorted by their bytes, and each occurs once.
    package init(topics: [String], windowMilliseconds: Int64?, canAskIDs: Bool) {
        precondition(topics.count <= UInt16.max, "a topic's index has 16 bits")
        self.topics = topics.map { TrackedTopic(name: $0) }
        window = windowMilliseconds
        self.canAskIDs = canAskIDs
    }

    // MARK: - Results

    /// What the consumer must do, each partition once: first what it stops to read, then what it reads from where.
    package mutating func takeAssignments() -> [Assignment] {
        guard !assignments.isEmpty else { return [] }
        var wanted: [PartitionName: Int64?] = [:]
        for assignment in assignments {
            switch assignment {
            case .stop(let name): wanted[name] = .some(nil)
            case .read(let name, let offset): wanted[name] = offset
            }
        }
        assignments = []
        var (stopped, begun): ([Assignment], [Assignment]) = ([], [])
        for (name, offset) in wanted.sorted(by: { $0.key < $1.key }) {
            if assigned.remove(name) != nil { stopped.append(.stop(name)) }
            guard let offset else { continue }
            assigned.insert(name)
            begun.append(.read(name, at: offset))
            self[name]?.isOutdated = false
        }
        return stopped + begun
    }

    package var hasChanges: Bool { !events.isEmpty || !changed.isEmpty }

    /// What has changed since the last call. The receiver of the records calls this before it is handed the next record.
    package mutating func takeChanges() -> [LogChange] {
        guard hasChanges else { return [] }
        var changes = events
        events = []
        for name in changed {
            guard let partition = self[name], partition.isChanged else { continue }
            self[name]?.isChanged = false
            if let facts = facts(of: name) { changes.append(.facts(name, facts)) }
        }
        changed = []
        return changes
    }

    package mutating func takeNotices() -> [LogNotice] {
        defer { notices = [] }
        return notices
    }

    /// Notes a loss or a new log; the facts of its partitions follow.
    mutating func note(_ event: LogChange) { events.append(event) }

    mutating func change(_ name: PartitionName) {
        guard self[name] != nil else { return }
        self[name]?.isChanged = true
        changed.append(name)
    }

    /// What is known of the log of a partition; nil until it is read.
    package func facts(of name: PartitionName) -> LogFacts? {
        guard let partition = self[name], let opening = partition.opening else { return nil }
        var next = partition.next
        if let current, current.partition == name { next = current.offset }
        let topic = topics[Int(name.topic)]
        return LogFacts(
            start: opening.start, unread: opening.unread, liveFrom: opening.liveFrom, born: opening.born,
            firstStamp: opening.firstStamp, notBefore: Self.moment(after: topic.lastKnownBefore, partition.wrongUntil),
            wholeAfter: Self.moment(after: topic.lastWhole, partition.wrongUntil),
            known: partition.known, topicID: topic.id?.hash,
            next: next, end: partition.end, endAsked: partition.endAsked, endMoment: partition.endMoment)
    }

    private static func moment(after first: Int64?, _ second: Int64?) -> Int64? {
        guard let first, let second else { return (first ?? second).map { $0 + 1 } }
        return max(first, second) + 1
    }

    /// By topic, in how many refreshes brokers have reported its partitions, and how many it has.
    package var topicAnswers: [TopicAnswers] {
        topics.map { TopicAnswers(count: $0.answers, partitions: $0.partitions.count) }
    }

    /// Nil where there is no such partition, as far as is known.
    subscript(name: PartitionName) -> TrackedPartition? {
        get {
            let (topic, number) = (Int(name.topic), Int(name.number))
            guard topic < topics.count, number >= 0, number < topics[topic].partitions.count else { return nil }
            return topics[topic].partitions[number]
        }
        _modify {
            let (topic, number) = (Int(name.topic), Int(name.number))
            guard topic < topics.count, number >= 0, number < topics[topic].partitions.count else {
                var absent: TrackedPartition?
                yield &absent
                return
            }
            var partition: TrackedPartition? = topics[topic].partitions[number]
            yield &partition
            if let partition { topics[topic].partitions[number] = partition }
        }
    }

    func name(_ topic: Int, _ number: Int) -> PartitionName {
        PartitionName(topic: UInt16(topic), number: Int32(number))
    }

    var allPartitions: [PartitionName] {
        topics.indices.flatMap { topic in topics[topic].partitions.indices.map { name(topic, $0) } }
    }
}
