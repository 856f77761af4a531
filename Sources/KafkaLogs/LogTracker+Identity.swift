// Ids of topics (KIP-516): whether the log that each leader has is of the topic that is read.
extension LogTracker {
    /// If all leaders that report an id report a former one for this long, it is the topic's after all. A broker that leads is
    /// behind its controller for much less time, by orders of magnitude; monotonic milliseconds.
    static let formerIDPatience: Int64 = 10_000

    mutating func askTopicIDs(_ now: Moment) -> Probe? {
        var questions: [TopicIDQuestion] = []
        for topic in topics.indices {
            let leaders = Set(topics[topic].partitions.compactMap(\.leader))
            questions += leaders.sorted().map { TopicIDQuestion(topic: topic, broker: $0) }
        }
        guard canAskIDs, !questions.isEmpty else { return askLogEnds(now) }
        return ask(.topicIDs(questions), .topicIDs(questions), timeout: Self.metadataTimeout)
    }

    /// Each leader reports the id of the topic whose logs it has. All answers are collected before anything follows from one.
    mutating func identify(_ questions: [TopicIDQuestion], _ answers: [TopicIDAnswer], _ now: Moment) {
        var lacking: Set<Int> = []
        for (question, answer) in zip(questions, answers) {
            switch answer {
            case .id(let id): refresh?.topicIDs[question.topic, default: [:]][question.broker] = id
            case .unknownTopic where refresh?.doubtful.contains(question.topic) == true:
                lacking.insert(question.topic)
            case .unknownTopic, .none, .silent: break
            }
        }
        for topic in topics.indices {
            let reported = Set((refresh?.topicIDs[topic] ?? [:]).values)
            // A leader that lacks the topic is behind those that report its id.
            let isHeld = topics[topic].id.map(reported.contains) ?? false
            if lacking.contains(topic), !isHeld { leaderLacks(topic, now) }
            noteReturn(topic, reported, now)
            if !reported.isEmpty { identify(topic, reported, now) }
        }
    }

    /// A topic may be recreated between the answer about its id and that about its logs. Its log is then not the one that the id
    /// was reported for, and does not keep it. The leaders are asked for the id once more before that is believed.
    mutating func askBrokenTopicIDs(_ broken: Set<Int>, _ now: Moment) -> Probe? {
        guard let refresh, !refresh.hasAskedBroken else { return nil }
        var questions: [TopicIDQuestion] = []
        for topic in broken.intersection(refresh.identified).sorted() {
            let leaders = Set(topics[topic].partitions.compactMap(\.leader))
            questions += leaders.sorted().map { TopicIDQuestion(topic: topic, broker: $0) }
        }
        guard !questions.isEmpty else { return nil }
        self.refresh?.hasAskedBroken = true
        return ask(.brokenTopicIDs(questions), .topicIDs(questions), timeout: timeLeft(now))
    }

    /// Another id recreates the topic, as in the step for all topics; no id, or the same, changes nothing. The next refresh opens
    /// its logs: the ends that were reported in this one may be those of the former logs.
    mutating func identifyBroken(_ questions: [TopicIDQuestion], _ answers: [TopicIDAnswer], _ now: Moment) {
        for (question, answer) in zip(questions, answers) {
            if case .id(let id) = answer { refresh?.topicIDs[question.topic, default: [:]][question.broker] = id }
        }
        for topic in Set(questions.map(\.topic)).sorted() {
            let before = topics[topic].incarnation
            identify(topic, Set((refresh?.topicIDs[topic] ?? [:]).values), now)
            guard topics[topic].incarnation != before else { continue }
            wantsRefresh = true
            for number in topics[topic].partitions.indices {
                let partition = name(topic, number)
                refresh?.ends[partition] = nil
            }
        }
    }

    private mutating func identify(_ topic: Int, _ reported: Set<TopicID>, _ now: Moment) {
        guard let asked = refresh?.began.wall else { return }
        // A leader may not know yet what is known here already.
        let present = reported.subtracting(topics[topic].formerIDs)
        guard let mine = topics[topic].id else {
            let isOpen = topics[topic].partitions.contains { $0.lastOpening != nil }
            switch (present.first, isOpen) {
            case (nil, _): break
            // Which of them is behind its controller is not known yet.
            case (_?, let isOpen) where present.count > 1:
                if !isOpen {
                    refresh?.disputed.insert(topic)
                    notices.append(.brokersDisagree)
                }
            // The id proves nothing yet of logs that were opened without it.
            case (let id?, true): refresh?.firstIDs[topic] = id
            case (let id?, false): confirm(id, of: topic, asked)
            }
            return
        }
        let others = present.subtracting([mine])
        if let id = others.max(by: { ($0.high, $0.low) < ($1.high, $1.low) }) {
            recreate(topic, now)
            confirm(id, of: topic, asked)
            note(.identified(topic: UInt16(topic), id: id.hash))
        } else if present.contains(mine) {
            confirm(mine, of: topic, asked)
        }
    }

    private mutating func confirm(_ id: TopicID, of topic: Int, _ asked: Int64) {
        topics[topic].id = id
        topics[topic].identifiedAt = asked
        refresh?.identified.insert(topic)
    }

    /// One leader that was behind may have caused the present id to be retired: it reported an id late, or lacked the topic.
    private mutating func noteReturn(_ topic: Int, _ reported: Set<TopicID>, _ now: Moment) {
        guard reported.count == 1, let id = reported.first, topics[topic].formerIDs.contains(id) else {
            topics[topic].returning = nil
            return
        }
        let before = topics[topic].returning
        let since = before?.id == id ? before?.since ?? now.monotonic : now.monotonic
        topics[topic].returning = (id, since)
        guard now.monotonic - since >= Self.formerIDPatience else { return }
        topics[topic].returning = nil
        topics[topic].formerIDs.removeAll { $0 == id }
    }

    // MARK: - What follows for a partition

    /// Whether the partition's own leader has reported in this refresh that its log is of the topic that is read, and reported
    /// the same of the log that was opened. Another leader's report does not prove it. Nor does its own, if it reported no id
    /// when the log was opened: it may have had the former log.
    func isIdentified(_ name: PartitionName) -> Bool {
        let topic = Int(name.topic)
        guard refresh?.identified.contains(topic) == true, let reported = reportedID(name) else { return false }
        return reported == topics[topic].id && reported == self[name]?.provedID
    }

    /// Whether its leader is behind its controller, or ahead of all others: it has reported another topic's id, and what it
    /// reports of a log concerns that topic. A leader that reports no id is believed, as in a cluster without ids.
    func isOfAnotherTopic(_ name: PartitionName) -> Bool {
        let topic = Int(name.topic)
        if refresh?.disputed.contains(topic) == true { return true }
        guard let reported = reportedID(name) else { return false }
        return topics[topic].id.map { reported != $0 } ?? topics[topic].formerIDs.contains(reported)
    }

    func reportedID(_ name: PartitionName) -> TopicID? {
        self[name]?.leader.flatMap { refresh?.topicIDs[Int(name.topic)]?[$0] }
    }
}
