import CRdKafka

extension Consumer {
    /// Makes librdkafka give up as it would by itself, so that what follows can be tried.
    package func injectFatalError(_ reason: String) {
        unsafe rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR__FATAL, reason)
    }

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
        readiness.offsetsLeft = loading.offsetsLeft
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

    /// What is known of each partition that is read. Take it after each map; between two maps only `next`, and `born`
    /// and `known` when a first record was read, can change: `factsVersion` tells.
    package var partitionFacts: [PartitionFacts] {
        topics.flatMap { topic in
            topic.partitions.enumerated().compactMap { number, partition in
                partition.opening.map { opening in
                    PartitionFacts(
                        topic: topic.name, number: Int32(number), start: opening.start, began: opening.began,
                        born: opening.born, notBefore: opening.bornFloor == .min ? nil : opening.bornFloor,
                        found: opening.found, known: max(partition.known, opening.found),
                        next: partition.next,
                        end: partition.end, isEndNew: partition.endLook == looks,
                        loadUntil: opening.loadUntil)
                }
            }
        }
    }

    /// How far the window is loaded, by offsets and by the newest time stamps that were read.
    package var loading: LoadingProgress {
        var progress = LoadingProgress()
        var oldest: Int64?
        for partition in topics.lazy.flatMap(\.partitions) {
            guard let opening = partition.opening else { continue }
            let next = min(partition.next ?? opening.start, opening.loadUntil)
            progress.offsetsRead += max(0, next - opening.start)
            guard next < opening.loadUntil else { continue }
            progress.offsetsLeft += opening.loadUntil - next
            if let newest = partition.anchor.newest { oldest = min(oldest ?? .max, newest.timestamp) }
        }
        progress.secondsLeft = oldest.map { max(0, WallClock.now - $0) / 1_000 }
        return progress
    }

    /// What happened to the logs since the last call. Take it after each map, before what is drained next.
    package func takeEvents() -> [SourceEvent] {
        defer { events = [] }
        return events
    }

    /// Whether answers flow, by what drains and maps have told until now. Cheap; ask every second or so.
    package func sourceState(at now: ContinuousClock.Instant = .now) -> SourceState {
        sourceWatch.judge(topics.lazy.flatMap(\.partitions).map(\.watch), at: now, wall: WallClock.now)
    }

    /// What is read at this moment, for the scout's next look.
    package var anchors: ReadingAnchors {
        var anchors = ReadingAnchors()
        anchors.topics = topics.map { topic in
            ReadingAnchors.Topic(
                incarnation: topic.incarnation,
                partitions: topic.partitions.map { partition in
                    guard partition.isAssigned, let opening = partition.opening else { return nil }
                    return .init(turn: opening.turn, anchor: partition.anchor, refused: partition.refused)
                })
        }
        return anchors
    }
}
