import CRdKafka

extension Consumer {
    /// Takes over what a look found: assigns partitions that are new, drops those that have gone, leaves all others
    /// untouched.
    ///
    /// Returns at once: librdkafka is told, no broker is asked. A map may be adopted twice.
    package func adopt(_ map: PartitionMap) {
        clusterID = map.clusterID ?? clusterID
        factsVersion += 1
        looks += 1
        hear(map)
        if let failure = map.failure {
            tell(.library, [(.facility, "metadata"), (.reason, failure)])
            return
        }
        reach.heard = true
        var changes = AssignmentChanges()
        for (index, topic) in map.topics.enumerated() {
            precondition(topic.name == topics[index].name, "a map of another consumer")
            adopt(topic, at: index, &changes)
        }
        apply(changes)
    }

    /// Notes which leaders have answered the look, and which have not.
    private func hear(_ map: PartitionMap) {
        var isAnyHeard = false
        for (index, topic) in map.topics.enumerated() {
            guard case .present(let partitions) = topic.state, topic.incarnation == topics[index].incarnation else {
                continue
            }
            for partition in partitions where topics[index].partitions.indices.contains(Int(partition.number)) {
                if let heardAt = partition.heardAt {
                    isAnyHeard = true
                    topics[index].partitions[Int(partition.number)].watch.hear(at: heardAt)
                } else {
                    topics[index].partitions[Int(partition.number)].watch.isSilent = true
                }
            }
        }
        if map.failure != nil, !isAnyHeard { handle.client.notices.postAllBrokersDown() }
    }

    private func adopt(_ topic: PartitionMap.Topic, at index: Int, _ changes: inout AssignmentChanges) {
        if topic.incarnation > topics[index].incarnation {
            topics[index].incarnation = topic.incarnation
            topics[index].owesMadeAnew = true
            forget(index, &changes)
        }
        switch topic.state {
        case .present(let partitions):
            if topics[index].owesMadeAnew {
                topics[index].owesMadeAnew = false
                events.append(.madeAnew(topic: topic.name))
                // One that had gone is told as found.
                if topics[index].situation == .present { tell(.topicMadeAnew, [(.topic, topic.name)]) }
            }
            adopt(partitions, of: topic, at: index, &changes)
        case .missing:
            let had = topics[index].situation == .present || topics[index].situation == .gone
            forget(index, &changes)
            enter(had ? .gone : .missing, telling: had ? .topicGone : .topicMissing, index)
        case .forbidden:
            enter(.forbidden, telling: .topicForbidden, index)
        case .unclear(let text):
            if topics[index].situation == .unknown { topics[index].situation = .unclear }
            tell(.library, [(.facility, "metadata"), (.reason, "\(topic.name): \(text)")])
        }
    }

    private func adopt(
        _ partitions: [PartitionMap.Partition], of topic: PartitionMap.Topic, at index: Int,
        _ changes: inout AssignmentChanges
    ) {
        let before = topics[index].partitions.count
        let count = Int(partitions.map(\.number).max() ?? -1) + 1
        if count > before {
            topics[index].partitions += Array(repeating: .init(), count: count - before)
        }
        switch topics[index].situation {
        case .missing, .gone:
            tell(.topicFound, [(.topic, topic.name), (.count, String(count))])
        case .present where before > 0 && count > before:
            tell(.partitionsAdded, [(.topic, topic.name), (.count, String(count - before))])
        default: break
        }
        topics[index].situation = .present
        for partition in partitions {
            if partition.leader == nil {
                tell(.partitionWithoutLeader, [(.topic, topic.name), (.partition, String(partition.number))])
            }
            adopt(partition, at: index, &changes)
        }
    }

    private func adopt(_ partition: PartitionMap.Partition, at index: Int, _ changes: inout AssignmentChanges) {
        let number = Int(partition.number)
        let state = topics[index].partitions[number]
        if let end = partition.end {
            topics[index].partitions[number].end = end
            topics[index].partitions[number].endLook = looks
        }
        guard let opening = partition.opening else { return }
        if let old = state.opening, opening.turn > old.turn {
            if state.isAssigned { changes.remove(topic: index, partition: partition.number) }
            let name = topics[index].name
            events.append(.positionsLost(topic: name, partition: partition.number))
            tell(
                .positionOutOfRange,
                [
                    (.topic, name), (.partition, String(number)),
                    (.offset, state.next.map { String($0) } ?? "unknown"),
                ])
            changes.add(topic: index, partition: partition.number, at: opening)
        } else if !state.isAssigned {
            changes.add(topic: index, partition: partition.number, at: opening)
        } else {
            if let known = partition.known {
                topics[index].partitions[number].known = max(known, state.known)
                // The log is the one that refused the position: it was not the log's fault, so once more.
                if state.refused != nil { retry(partition.number, topic: index, &changes) }
            }
            if let kept = partition.handoverKept, kept == state.anchor.handover {
                topics[index].partitions[number].anchor.handover = nil
            }
            if let gone = partition.witnessGone { topics[index].partitions[number].anchor.replaceWitness(gone) }
        }
    }

    /// Drops the topic's partitions; what comes next under its name is another log.
    private func forget(_ index: Int, _ changes: inout AssignmentChanges) {
        for (number, partition) in topics[index].partitions.enumerated() where partition.isAssigned {
            changes.remove(topic: index, partition: Int32(number))
        }
        topics[index].partitions = []
        topics[index].isUnreadable = false
    }

    /// Tells a situation when it begins, and again now and then while it lasts.
    private func enter(_ situation: TopicReading.Situation, telling cause: KafkaCause, _ index: Int) {
        topics[index].looksSinceTold += 1
        let lasts = topics[index].situation == situation
        if lasts, topics[index].looksSinceTold < Self.looksBetweenReminders { return }
        topics[index].situation = situation
        topics[index].looksSinceTold = 0
        tell(cause, [(.topic, topics[index].name)])
    }

    /// The log does not hold our position: the scout finds out at its next look whether it has moved on without us, or
    /// is another one. Until then the partition stands still, and so does librdkafka.
    func refused(position: Int64, topic index: Int, partition: Int32) {
        guard topics[index].partitions.indices.contains(Int(partition)) else { return }
        // Since librdkafka 2.1: the leader says that its log was cut back (KIP-320), of which no position is told.
        let ours = position < 0 ? topics[index].partitions[Int(partition)].next : nil
        topics[index].partitions[Int(partition)].refused = ours ?? position
    }

    /// Goes on where it was, at most once in a while.
    private func retry(_ number: Int32, topic index: Int, _ changes: inout AssignmentChanges) {
        let state = topics[index].partitions[Int(number)]
        guard let next = state.next else { return }
        if let resetAt = state.resetAt, .now - resetAt < Self.resetPause { return }
        changes.remove(topic: index, partition: number)
        changes.resume(topic: index, partition: number, at: next)
        topics[index].partitions[Int(number)].resetAt = .now
        topics[index].partitions[Int(number)].refused = nil
    }

    /// Tells librdkafka. Its own thread does the work; other partitions go on undisturbed.
    private func apply(_ changes: AssignmentChanges) {
        if !changes.removed.isEmpty {
            let failure = unsafe withList(changes.removed) { unsafe rd_kafka_incremental_unassign(handle.pointer, $0) }
            unsafe report(failure, "unassign")
            for place in changes.removed where topics[place.topic].partitions.indices.contains(Int(place.partition)) {
                topics[place.topic].partitions[Int(place.partition)].isAssigned = false
            }
        }
        guard !changes.added.isEmpty else { return }
        let failure = unsafe withList(changes.added) { unsafe rd_kafka_incremental_assign(handle.pointer, $0) }
        guard unsafe report(failure, "assign") else { return }
        for place in changes.added {
            topics[place.topic].partitions[Int(place.partition)].isAssigned = true
            guard let opening = place.opening else { continue }
            topics[place.topic].partitions[Int(place.partition)].begin(at: opening)
        }
    }

    private func withList(
        _ places: [AssignmentChanges.Place],
        _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> OpaquePointer?
    ) -> OpaquePointer? {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(places.count))
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for place in places {
            let entry = unsafe rd_kafka_topic_partition_list_add(list, topics[place.topic].name, place.partition)
            unsafe entry?.pointee.offset = place.offset
        }
        return unsafe body(list)
    }

    /// Whether it went well; if not, the next map tries again.
    @discardableResult
    private func report(_ failure: OpaquePointer?, _ what: String) -> Bool {
        guard let failure = unsafe failure else { return true }
        tell(.trouble, [(.reason, "\(what): \(unsafe String(cString: rd_kafka_error_string(failure)))")])
        unsafe rd_kafka_error_destroy(failure)
        return false
    }
}

/// What an adoption changes, in one request to librdkafka for each direction.
struct AssignmentChanges {
    struct Place {
        var topic: Int
        var partition: Int32
        var offset: Int64
        /// Nil where reading goes on.
        var opening: Opening?
    }

    private(set) var removed: [Place] = []
    private(set) var added: [Place] = []

    mutating func remove(topic: Int, partition: Int32) {
        removed.append(Place(topic: topic, partition: partition, offset: Int64(RD_KAFKA_OFFSET_INVALID)))
    }

    mutating func add(topic: Int, partition: Int32, at opening: Opening) {
        added.append(Place(topic: topic, partition: partition, offset: opening.start, opening: opening))
    }

    mutating func resume(topic: Int, partition: Int32, at offset: Int64) {
        added.append(Place(topic: topic, partition: partition, offset: offset))
    }
}
