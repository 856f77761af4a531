import KafkaLogs
import LiveUpdates
import ScriptedBroker

// What becomes of it when the tracker says that something has changed, and when a record is read.
extension SimulatedNode {
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
        case .facts(let name, let facts) where name.topic != 0:
            // Its one record stands before the window, or is read.
            if facts.start == 0 { quietSeenFrom = nil } else { quietSeenFrom = quietSeenFrom ?? windowSeenFrom(now) }
            history.give(.facts(name, mutant.map { $0.change(facts, now) } ?? facts))
            return nil
        case .recreated(topic: 1...), .recordsLost(PartitionName(topic: 1, number: 0), _):
            return "of the topic to which nothing happened everybody is told that it was recreated"
        case .facts(let name, let facts):
            let problem = open(name, facts, &topic, now)
            // What was lost or deleted seems as old as the first good stamp behind it: one that is too late misleads.
            let partition = Int(name.number)
            if let stamp = facts.unread?.stampedBefore, partition < topic.logs.count,
                topic.hasLateRecord(partition, stamped: stamp, margin: setting.allowedDelay)
            {
                topic.excuse(partition, from: 0, before: min(facts.start, topic.end(of: partition)))
            }
            let handed = mutant.map { $0.change(facts, now) } ?? facts
            history.give(.facts(name, handed))
            return problem
        case .recreated:
            let isAnother = openings.contains { $0 != nil && $0?.incarnationAtStart != topic.incarnation }
            let isNeeded = isAnother || !cutBack.isEmpty
            for cut in topic.cuts where !isAnother && cutBack.contains(cut.partition) { erasSeen.insert(cut.era) }
            cutBack = []
            hasReadWhatIsLost = false
            // What is opened now is opened by what its leaders tell after that.
            if asked != nil { asked = topic }
            openings = []
            noticed = now
            kept.removeAll()
            if mutant != .ignoresRecreation { history.give(.reset(topic: 0, now: now)) }
            return isNeeded ? nil : "everybody is told that the topic was recreated, which it was not"
        case .recordsLost(let name, _):
            let partition = Int(name.number)
            let next = partition < openings.count ? kept.next(partition) : 0
            let opening = partition < openings.count ? openings[partition] : nil
            if partition < openings.count { openings[partition] = nil }
            lost.insert(partition)
            kept.remove(partition)
            if mutant != .ignoresLoss { history.give(.lose(name)) }
            guard partition < topic.starts.count, !cutBack.contains(partition),
                opening.map({ $0.incarnationAtStart == topic.incarnation }) ?? true
            else { return nil }
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
        if let asked, hasIDs ? facts.topicID != topicID : asked.era != topic.era {
            // By answers of which some are of what the topic was before.
            openings[partition] = Opening(
                incarnation: -1, incarnationAtStart: -1, start: facts.start, seenFrom: .max, liveFrom: facts.liveFrom)
            kept.open(partition, start: facts.start, liveFrom: facts.liveFrom)
            return nil
        }
        let window = now - setting.limits.retentionMilliseconds
        let logStart = topic.starts[partition]
        let latest = max(logStart, topic.windowStart(partition, window))
        let first = topic.first(partition, from: logStart)
        let firstStamp = first < topic.end(of: partition) ? topic.records[topic.logs[partition][Int(first)]].stamp : -1
        var seenFrom: Int64?
        let found = foundFrom(now)
        if lost.remove(partition) != nil {
            seenFrom = found + 1
        } else if facts.start > 0 {
            if facts.start > first {
                let isBounded = logStart == 0 || firstStamp >= 0
                seenFrom = isBounded ? windowSeenFrom(now) : found
            } else {
                seenFrom = firstStamp >= 0 && firstStamp <= now ? min(found, firstStamp + setting.margin) : found
            }
        }
        // Of a refresh that takes its time, the moment is not known at which the leader told the end and the start.
        let latestEnd = topic.end(of: partition)
        let earliestEnd = asked.map { partition < $0.logs.count ? $0.end(of: partition) : 0 } ?? latestEnd
        if earliestEnd < latestEnd, facts.start > 0 { seenFrom = found + 1 }
        // What it finds while it serves clients counts as arrived then.
        let liveFrom = isReady ? facts.start : min(max(facts.liveFrom, earliestEnd), latestEnd)
        openings[partition] = Opening(
            incarnation: topic.incarnation, incarnationAtStart: topic.incarnation, start: facts.start,
            seenFrom: seenFrom, liveFrom: liveFrom)
        kept.open(partition, start: facts.start, liveFrom: liveFrom)
        topic.excuse(partition, before: facts.start, margin: setting.allowedDelay)
        // What was deleted is as old as the first record that is left says.
        if logStart > 0, first < topic.end(of: partition), topic.isLate(partition, first, margin: setting.allowedDelay)
        {
            topic.excuse(partition, from: 0, before: logStart)
        }
        return facts.start <= latest ? nil : "partition \(partition) is read from \(facts.start), \(latest) is due"
    }

    /// By the issuing node's clock, which may be ahead.
    private func foundFrom(_ now: Int64) -> Int64 { now + History.maximumClockDifferenceMilliseconds }

    /// Cursors issued from then on have seen what stands before a window that begins now.
    private func windowSeenFrom(_ now: Int64) -> Int64 {
        min(foundFrom(now), now - setting.limits.retentionMilliseconds + setting.margin)
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

    /// Of the topic as it is now, as the leader of its first partition tells it.
    private var topicID: UInt32? {
        let question = TopicIDQuestion(topic: 0, broker: broker.log(0, 0).leader ?? 1)
        guard case .topicIDs(let answers) = broker.answer(Probe(question: .topicIDs([question]), timeout: 0)),
            case .id(let id)? = answers.first
        else { return nil }
        return id.hash
    }
}
