import CRdKafka

extension Consumer {
    /// Takes over what a look found: assigns partitions that are new, drops those that have gone, leaves all others
    /// untouched.
    ///
    /// Returns at once: librdkafka is told, no broker is asked. A map may be adopted twice.
    package func adopt(_ map: PartitionMap) {
        if let failure = map.failure {
            handle.client.notices.postAllBrokersDown()
            tell(.library, [(.facility, "metadata"), (.reason, failure)])
            return
        }
        reach.heard = true
        var changes = AssignmentChanges()
        for (index, topic) in map.topics.enumerated() {
            precondition(topic.name == topics[index].name, "a map of another consumer")
            adopt(topic, at: index, &changes)
        }
        resetPositions(&changes)
        apply(changes)
    }

    private func adopt(_ topic: PartitionMap.Topic, at index: Int, _ changes: inout AssignmentChanges) {
        let known = topics[index].incarnation
        if topic.incarnation > known {
            topics[index].incarnation = topic.incarnation
            forget(index, &changes)
        }
        switch topic.state {
        case .present(let partitions):
            if topic.incarnation > known, topics[index].situation == .present {
                tell(.topicMadeAnew, [(.topic, topic.name)])
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
            let state = topics[index].partitions[Int(partition.number)]
            if partition.leader == nil {
                tell(.partitionWithoutLeader, [(.topic, topic.name), (.partition, String(partition.number))])
            }
            if !state.isAssigned, let start = partition.start {
                changes.add(topic: index, partition: partition.number, at: start)
            }
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

    /// The log does not hold our position: read on from its start, with one notice.
    func lost(position: Int64, topic index: Int, partition: Int32) {
        guard topics[index].partitions.indices.contains(Int(partition)) else { return }
        topics[index].partitions[Int(partition)].awaitsReset = true
        var changes = AssignmentChanges()
        resetPositions(&changes)
        apply(changes)
    }

    /// Those whose last reset is too recent wait for the next map.
    private func resetPositions(_ changes: inout AssignmentChanges) {
        let now = ContinuousClock.now
        for index in topics.indices {
            for number in topics[index].partitions.indices where topics[index].partitions[number].awaitsReset {
                let state = topics[index].partitions[number]
                guard state.isAssigned else { continue }
                if let resetAt = state.resetAt, now - resetAt < Self.resetPause { continue }
                changes.remove(topic: index, partition: Int32(number))
                changes.add(topic: index, partition: Int32(number), at: Int64(RD_KAFKA_OFFSET_BEGINNING))
                tell(
                    .positionOutOfRange,
                    [
                        (.topic, topics[index].name), (.partition, String(number)),
                        (.offset, state.next.map { String($0) } ?? "unknown"),
                    ])
                topics[index].partitions[number].resetAt = now
                topics[index].partitions[number].awaitsReset = false
            }
        }
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
            topics[place.topic].partitions[Int(place.partition)].next = place.offset < 0 ? nil : place.offset
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
    }

    private(set) var removed: [Place] = []
    private(set) var added: [Place] = []

    mutating func remove(topic: Int, partition: Int32) {
        removed.append(Place(topic: topic, partition: partition, offset: Int64(RD_KAFKA_OFFSET_INVALID)))
    }

    mutating func add(topic: Int, partition: Int32, at offset: Int64) {
        added.append(Place(topic: topic, partition: partition, offset: offset))
    }
}
