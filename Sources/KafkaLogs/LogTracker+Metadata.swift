/// Whether two brokers report the same of the topics. At the start nothing is read until they do.
///
/// A broker may be behind its controller. If one answer were believed, topics that exist would count as missing, and partitions
/// that always existed would count as added.
struct StartAgreement {
    /// If no second broker answers for this long, one that answered the same twice is believed; monotonic milliseconds.
    static let patience: Int64 = 10_000

    private(set) var isReached = false
    /// What each broker reported last, without its leaders; −1 is a broker that is not known.
    private var shapes: [Int32: [TopicShape]] = [:]
    private var since: Int64?
    private var attempts = 0

    /// Adds an answer; returns which broker to ask in addition, nil for any. `asked`: the broker that was asked for it.
    mutating func add(_ answer: MetadataAnswer, asked: Int32?, now: Int64) -> Int32? {
        since = since ?? now
        let broker = asked ?? answer.broker ?? -1
        let shape = answer.topics.map(TopicShape.init)
        let isSingle = answer.brokers.count <= 1
        let isRepeated = shapes[broker] == shape || isSingle && shapes[-1] == shape
        shapes[broker] = shape
        // With one broker, or where no other one answers, the same answer twice is the best evidence there is.
        let isAlone = isSingle || now - (since ?? now) >= Self.patience
        let isConfirmed = shapes.contains { $0.key >= 0 && broker >= 0 && $0.key != broker && $0.value == shape }
        isReached = isConfirmed || isAlone && isRepeated
        attempts += 1
        let candidates = isSingle ? [] : answer.brokers.keys.sorted().filter { $0 != broker }
        return candidates.isEmpty ? nil : candidates[attempts % candidates.count]
    }
}

/// What two answers have to agree on.
enum TopicShape: Equatable {
    case present(partitions: Int)
    case missing, forbidden, unclear

    init(_ metadata: TopicMetadata) {
        switch metadata {
        case .present(let leaders): self = .present(partitions: leaders.count)
        case .missing: self = .missing
        case .forbidden: self = .forbidden
        case .unclear: self = .unclear
        }
    }
}

extension LogTracker {
    /// Refreshes between two reminders of a situation that lasts: 30 s at one refresh in 2 s.
    static let refreshesBetweenReminders = 15
    /// How many second answers one refresh requests at the start.
    static let maximumSecondAnswers = 3

    mutating func adopt(_ answer: MetadataAnswer, _ now: Moment) -> Probe? {
        clusterID = answer.clusterID
        brokers = answer.brokers
        refresh?.metadata = answer.topics
        guard agreement.isReached else { return agree(answer, asked: nil, now) }
        for (topic, metadata) in answer.topics.enumerated() {
            if takesAway(metadata, topic) { refresh?.doubtful.insert(topic) } else { adopt(metadata, topic, now) }
        }
        return askLeaders(now)
    }

    /// Whether something that is read would be gone: one answer does not prove that.
    private func takesAway(_ metadata: TopicMetadata, _ topic: Int) -> Bool {
        let opened = topics[topic].partitions.lastIndex { $0.lastOpening != nil }
        guard let opened else { return false }
        return switch metadata {
        case .present(let leaders): leaders.count <= opened
        case .missing: true
        case .forbidden, .unclear: false
        }
    }

    // MARK: - At the start

    private mutating func agree(_ answer: MetadataAnswer, asked: Int32?, _ now: Moment) -> Probe? {
        let next = agreement.add(answer, asked: asked, now: now.monotonic)
        if agreement.isReached {
            for (topic, metadata) in answer.topics.enumerated() { adopt(metadata, topic, now) }
            return askTopicIDs(now)
        }
        guard let asked = refresh?.secondAnswers, asked < Self.maximumSecondAnswers else {
            notices.append(.brokersDisagree)
            return finish(now)
        }
        refresh?.secondAnswers = asked + 1
        return ask(.secondMetadata(broker: next), .metadata(from: next), timeout: Self.metadataTimeout)
    }

    // MARK: - What an answer lacks, confirmed by its leader

    /// The leaders report the id in the next step. Where there is no id, their own metadata must confirm what is lacking.
    private mutating func askLeaders(_ now: Moment) -> Probe? {
        guard let doubtful = refresh?.doubtful, !doubtful.isEmpty else { return askTopicIDs(now) }
        var leaders: [Int32] = []
        for topic in doubtful.sorted() where topics[topic].id == nil {
            guard let leader = leaderToAsk(topic), !leaders.contains(leader) else { continue }
            leaders.append(leader)
        }
        refresh?.leadersToAsk = Array(leaders.prefix(Refresh.maximumLeadersAsked))
        return askSecondMetadata(now)
    }

    /// The broker that led a partition of it last; another broker if that one has left the cluster.
    private func leaderToAsk(_ topic: Int) -> Int32? {
        let leader = topics[topic].partitions.last { $0.lastOpening != nil }?.leader
        if let leader, brokers[leader] != nil { return leader }
        return brokers.keys.min()
    }

    mutating func askSecondMetadata(_ now: Moment) -> Probe? {
        guard agreement.isReached else { return finish(now) }
        guard let leader = refresh?.leadersToAsk.popLast() else { return askTopicIDs(now) }
        return ask(.secondMetadata(broker: leader), .metadata(from: leader), timeout: Self.metadataTimeout)
    }

    mutating func adoptSecond(_ answer: MetadataAnswer, of broker: Int32?, _ now: Moment) -> Probe? {
        guard agreement.isReached else { return agree(answer, asked: broker, now) }
        for topic in (refresh?.doubtful ?? []).sorted() where leaderToAsk(topic) == broker {
            refresh?.doubtful.remove(topic)
            guard takesAway(answer.topics[topic], topic) else { continue }
            forget(topic)
            adopt(answer.topics[topic], topic, now)
        }
        return askSecondMetadata(now)
    }

    /// Its leader itself reports that the topic, or a partition of it, no longer exists. What comes under its name is another log.
    mutating func leaderLacks(_ topic: Int, _ now: Moment) {
        forget(topic)
        enter(.gone, .topicGone(topic: topics[topic].name), topic)
    }

    // MARK: - Adopting

    mutating func adopt(_ metadata: TopicMetadata, _ topic: Int, _ now: Moment) {
        switch metadata {
        case .present, .missing: topics[topic].answers += 1
        case .forbidden, .unclear: break
        }
        switch metadata {
        case .present(let leaders): adopt(leaders, topic, now)
        case .missing:
            let had = topics[topic].situation == .present || topics[topic].situation == .gone
            topics[topic].isSeen = true
            if !topics[topic].partitions.isEmpty { forget(topic) }
            enter(
                had ? .gone : .missing,
                had ? .topicGone(topic: topics[topic].name) : .topicMissing(topic: topics[topic].name), topic)
        case .forbidden: enter(.forbidden, .topicForbidden(topic: topics[topic].name), topic)
        case .unclear(let text):
            if topics[topic].situation == .unknown { topics[topic].situation = .unclear }
            notices.append(.metadataTrouble(reason: "\(topics[topic].name): \(text)"))
        }
    }

    private mutating func adopt(_ leaders: [Int32?], _ topic: Int, _ now: Moment) {
        let before = topics[topic].partitions.count
        let label = topics[topic].name
        // Partitions that were there when the topic was first found are read from the start of the window, others from their own.
        let origin: Origin = topics[topic].isSeen ? .logStart : .window
        topics[topic].isSeen = true
        if leaders.count < before, topics[topic].partitions[leaders.count...].allSatisfy({ $0.lastOpening == nil }) {
            for number in leaders.count..<before { note(.vanished(name(topic, number))) }
            topics[topic].partitions.removeLast(before - leaders.count)
        }
        while topics[topic].partitions.count < leaders.count {
            topics[topic].partitions.append(TrackedPartition(origin: origin, now: now.monotonic))
        }
        if topics[topic].owesRecreated {
            topics[topic].owesRecreated = false
            note(.recreated(topic: UInt16(topic)))
            // A topic that had gone is reported as found.
            if topics[topic].situation == .present { notices.append(.topicRecreated(topic: label)) }
        }
        switch topics[topic].situation {
        case .missing, .gone: notices.append(.topicFound(topic: label, partitions: leaders.count))
        case .present where before > 0 && leaders.count > before:
            notices.append(.partitionsAdded(topic: label, count: leaders.count - before))
        default: break
        }
        topics[topic].situation = .present
        for (number, leader) in leaders.enumerated() where number < topics[topic].partitions.count {
            topics[topic].partitions[number].leader = leader
            if leader == nil {
                topics[topic].partitions[number].watch.fallSilent(at: now.monotonic)
                notices.append(.partitionWithoutLeader(topic: label, partition: Int32(number)))
            }
            if !topics[topic].partitions[number].isFoundReported, topics[topic].partitions[number].opening == nil {
                topics[topic].partitions[number].isFoundReported = true
                note(.found(name(topic, number)))
            }
        }
    }

    /// Drops the topic's logs. What comes next under its name is another one, read from its start. `isBroken`: the records of a
    /// log show that. `cutBackNoticed`: when one was found to be cut back (wall clock). The id is not known to have changed then,
    /// and so does not show what was lost.
    mutating func forget(_ topic: Int, isBroken: Bool = false, cutBackNoticed: Int64? = nil) {
        let isCutBack = cutBackNoticed != nil
        let openings = topics[topic].partitions.compactMap(\.lastOpening)
        if let opened = openings.map(\.opened).max() {
            topics[topic].owesRecreated = true
            // What was read since the id was reported, or since the earliest of the last proofs of the logs, may be of the logs
            // that have the names now. Of a log that was cut back, everything that was read before counts as lost. Where a record
            // is another one now, what was read was not of the log that is there.
            let proved = topics[topic].partitions.compactMap { partition in
                partition.opening == nil ? nil : isBroken ? partition.known : partition.provedAt
            }
            let known = isCutBack ? proved.max() : topics[topic].identifiedAt ?? proved.min()
            topics[topic].lastKnownBefore = max(topics[topic].lastKnownBefore ?? .min, known ?? opened)
            // Another node may have read, and proved, what is lost, until this node noticed the loss.
            topics[topic].lastWhole = cutBackNoticed
        }
        for index in topics[topic].partitions.indices { stop(name(topic, index)) }
        topics[topic].partitions = []
        topics[topic].isUnreadable = false
        topics[topic].incarnation += 1
        if let id = topics[topic].id, !isCutBack { topics[topic].formerIDs = topics[topic].formerIDs.suffix(7) + [id] }
        topics[topic].id = nil
        topics[topic].identifiedAt = nil
    }

    /// Each name of the topic has another log, which exists and is read from its start. `keepsID`: a log was cut back, which does
    /// not change the topic's id. `isBroken`: its records show that, not its id.
    mutating func recreate(_ topic: Int, keepsID: Bool = false, isBroken: Bool = false, _ now: Moment) {
        let id = topics[topic].id
        let isCutBack = isBroken && id != nil
        if keepsID { topics[topic].id = nil }
        var leaders = topics[topic].partitions.map(\.leader)
        if case .present(let latest)? = refresh?.metadata[topic] { leaders = latest }
        forget(topic, isBroken: isBroken, cutBackNoticed: isCutBack ? now.wall : nil)
        if keepsID { topics[topic].id = id }
        adopt(leaders, topic, now)
        if keepsID, let id { note(.identified(topic: UInt16(topic), id: id.hash)) }
    }

    /// Reports a situation when it begins, and again from time to time while it lasts.
    private mutating func enter(_ situation: TopicSituation, _ notice: LogNotice, _ topic: Int) {
        topics[topic].refreshesSinceNotice += 1
        let lasts = topics[topic].situation == situation
        if lasts, topics[topic].refreshesSinceNotice < Self.refreshesBetweenReminders { return }
        topics[topic].situation = situation
        topics[topic].refreshesSinceNotice = 0
        notices.append(notice)
    }
}
