// The state of all logs at one moment.
extension LogTracker {
    /// What keeps the node from being ready, now.
    package var readiness: Readiness {
        var readiness = Readiness()
        for (index, topic) in topics.enumerated() {
            switch topic.situation {
            case .present where topic.isUnreadable, .forbidden: readiness.topicsForbidden.append(topic.name)
            case .present:
                guard readiness.partitionUnanswered == nil else { break }
                let first = topic.partitions.firstIndex { !$0.hasAnswered }
                readiness.partitionUnanswered = first.map { name(index, $0) }
            case .unknown, .missing, .gone, .unclear: readiness.topicsMissing.append(topic.name)
            }
        }
        if unloaded > 0 { readiness.offsetsLeft = loading(wall: 0).offsetsLeft }
        return readiness
    }

    /// Whether each partition that was found has answered and has read its window. O(1).
    package var isLoaded: Bool { unloaded == 0 }

    /// How far the window is loaded, by offsets and by the newest time stamps that were read. `wall`: now.
    package func loading(wall: Int64) -> LoadingProgress {
        var progress = LoadingProgress()
        var oldest: Int64?
        for partition in topics.lazy.flatMap(\.partitions) {
            guard let opening = partition.opening else { continue }
            let next = min(partition.next, opening.loadUntil)
            progress.offsetsRead += max(0, next - opening.start)
            guard next < opening.loadUntil else { continue }
            progress.offsetsLeft += opening.loadUntil - next
            if let newest = partition.anchor.newest { oldest = min(oldest ?? .max, newest.timestamp) }
        }
        progress.secondsLeft = oldest.map { max(0, wall - $0) / 1_000 }
        return progress
    }

    /// Whether answers flow. Cheap; ask every half a second or so. `isReading`: false while records wait because of us.
    package mutating func sourceState(_ now: Moment, isReading: Bool = true) -> SourceState {
        var since: Int64?
        for topic in topics.indices {
            for index in topics[topic].partitions.indices {
                if !isReading {
                    topics[topic].partitions[index].watch.moveOn()
                    topics[topic].partitions[index].watch.release()
                }
                guard let stalled = topics[topic].partitions[index].watch.stalledSince(now.monotonic) else { continue }
                since = min(since ?? .max, stalled)
            }
        }
        if !hasState { state = .live(since: now.wall) }
        hasState = true
        switch (state, since) {
        case (.live, let since?): state = .stalled(since: now.wall - (now.monotonic - since))
        case (.stalled, nil): state = .live(since: now.wall)
        case (.live, nil), (.stalled, _?): break
        }
        return state
    }

    /// Whether a question to a partition stayed unanswered that is not stalled yet. The next refresh should come soon: it finds
    /// out whether that was one connection that was cut.
    package func suspectsSilence(_ now: Moment) -> Bool {
        topics.contains { $0.partitions.contains { $0.watch.isSuspected(now.monotonic) } }
    }

    /// The partition that has been stalled for longest, and how many are; nil if none is.
    package func stalledPartitions(_ now: Moment) -> (first: PartitionName, count: Int)? {
        let stalled = allPartitions.compactMap { name in
            self[name]?.watch.stalledSince(now.monotonic).map { (name: name, since: $0) }
        }
        return stalled.min { $0.since < $1.since }.map { ($0.name, stalled.count) }
    }

    /// Whether a transaction holds back a partition's records for too long.
    package func isHeldByTransaction(_ name: PartitionName, _ now: Moment) -> Bool {
        self[name]?.watch.isHeld(now.monotonic) ?? false
    }

    /// The offset of the next record of each partition, nil until a fetch was answered. Offsets have holes, so they do not count
    /// records.
    package var positions: [(partition: PartitionName, next: Int64?)] {
        allPartitions.map { name in (name, self[name].flatMap { $0.hasAnswered ? $0.next : nil }) }
    }

    /// The partitions whose number in the order of their names lies in a range, for callers that process all of them in slices.
    package func partitionStates(_ range: Range<Int>) -> [PartitionState] {
        var states: [PartitionState] = []
        var first = 0
        for (topic, tracked) in topics.enumerated() {
            let here = range.clamped(to: first..<(first + tracked.partitions.count))
            for index in here {
                let partition = tracked.partitions[index - first]
                let isOpen = partition.opening != nil
                states.append(
                    PartitionState(
                        partition: name(topic, index - first), leader: partition.leader.flatMap { $0 < 0 ? nil : $0 },
                        position: isOpen ? partition.next : nil, end: partition.end,
                        newest: partition.anchor.newest?.timestamp))
            }
            first += tracked.partitions.count
        }
        return states
    }

    /// What is known of all logs that are read, in the order of their names.
    package var facts: [LogFacts] { allPartitions.compactMap { facts(of: $0) } }
    package var partitionCount: Int { topics.reduce(0) { $0 + $1.partitions.count } }
    package func topicName(_ index: Int) -> String { topics[index].name }
}

/// How far a partition is read, for an operator.
package struct PartitionState: Sendable {
    package let partition: PartitionName
    /// Nil where none is known.
    package let leader: Int32?
    /// The offset that is read next; nil until it is known where reading begins.
    package let position: Int64?
    /// The log's end when it was last requested; nil before.
    package let end: Int64?
    /// The highest time stamp of a record that was read, in milliseconds since 1970.
    package let newest: Int64?

    package init(partition: PartitionName, leader: Int32?, position: Int64?, end: Int64?, newest: Int64?) {
        self.partition = partition
        self.leader = leader
        self.position = position
        self.end = end
        self.newest = newest
    }
}

/// What is reported to the operator about topics and partitions; named as in the settings.
package enum LogNotice: Equatable, Sendable {
    case topicMissing(topic: String)
    case topicForbidden(topic: String)
    case topicUnreadable(topic: String)
    case topicGone(topic: String)
    case topicFound(topic: String, partitions: Int)
    case topicRecreated(topic: String)
    case partitionsAdded(topic: String, count: Int)
    case partitionWithoutLeader(topic: String, partition: Int32)
    case positionOutOfRange(topic: String, partition: Int32, offset: Int64)
    case batchUnreadable(topic: String, partition: Int32, offset: Int64)
    /// A record came again that was handed over before.
    case recordRepeated(topic: String, partition: Int32, offset: Int64, position: Int64)
    /// A record below our position was never handed over.
    case recordsPassedOver(topic: String, partition: Int32, offset: Int64, position: Int64)
    case partitionTrouble(topic: String, partition: Int32, reason: String)
    case metadataTrouble(reason: String)
    /// The brokers report different topics or partitions, and so the node is not ready.
    case brokersDisagree
}
