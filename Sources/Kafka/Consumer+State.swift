extension Consumer {
    /// What has gathered for the operator since the last call. Take it after each drain and each map.
    package func takeNotices() -> [KafkaNotice] {
        let (notices, allBrokersDown) = handle.client.notices.take()
        return reach.sort(notices, allBrokersDown: allBrokersDown, at: .now)
    }

    /// What keeps the node from being ready, now. What goes away after the node was ready is for the caller to judge.
    package var readiness: Readiness {
        var readiness = Readiness()
        for topic in topics {
            switch topic.situation {
            case .present where topic.isUnreadable, .forbidden:
                readiness.topicsForbidden.append(topic.name)
            case .present:
                for (number, partition) in topic.partitions.enumerated() where !partition.hasAnswered {
                    readiness.partitionsUnanswered.append((topic.name, Int32(number)))
                }
            case .unknown, .missing, .gone, .unclear:
                readiness.topicsMissing.append(topic.name)
            }
        }
        return readiness
    }

    /// Since when no broker can be reached, or nil.
    package var unreachableSince: ContinuousClock.Instant? { reach.downSince }

    /// The offset of the next record of each partition: one past the last that was seen, or the end that was reached;
    /// nil where nothing was answered yet. Offsets have holes, so it is no count of anything.
    package var positions: [(topic: String, partition: Int32, next: Int64?)] {
        topics.flatMap { topic in
            topic.partitions.enumerated().map { (topic.name, Int32($0.offset), $0.element.next) }
        }
    }
}
