import CRdKafka

extension Scout {
    /// An opened partition that is checked in this look.
    private struct Check {
        var place: PartitionPlace
        var reading: ReadingAnchors.Partition
        var end: Int64
        var questions: (floor: Int64?, witness: Int64?)
        var answers: AnchorCheck.Answers
        var verdict = AnchorCheck.Verdict.open
        var isHandoverKept = false
    }

    /// Checks whether the logs are those that the consumer reads, as far as their leaders have answered.
    func check(
        _ ends: [PartitionPlace: Int64], _ anchors: ReadingAnchors, until deadline: ContinuousClock.Instant,
        _ map: inout PartitionMap, _ memory: inout Memory
    ) {
        // A request is sent after this moment, and so proves the log of this moment.
        let now = WallClock.now
        var checks = begin(ends, anchors, map, &memory, now: now)
        if !memory.isEmbedded { ask(&checks, until: deadline) }
        for index in checks.indices {
            let place = checks[index].place
            let answers = checks[index].answers
            // The embedded broker knows no times.
            guard !memory.isEmbedded else {
                checks[index].verdict = answers.end >= checks[index].reading.anchor.next ? .holds : .open
                continue
            }
            checks[index].verdict = memory.history.check(topic: place.topic, partition: place.partition) {
                $0.judge(answers, now: now)
            }
        }
        judgeRefused(&checks, until: deadline, &memory)
        if !memory.isEmbedded { judgeHandovers(&checks, until: deadline) }
        settle(&checks, until: deadline, now: now, &memory)
        conclude(checks, now: now, &map, &memory)
    }

    private func begin(
        _ ends: [PartitionPlace: Int64], _ anchors: ReadingAnchors, _ map: PartitionMap, _ memory: inout Memory,
        now: Int64
    ) -> [Check] {
        ends.compactMap { place, end in
            guard let opening = map.topics[place.topic].partition(at: place.position)?.opening,
                let reading = anchors.partition(
                    place.partition, topic: place.topic, incarnation: map.topics[place.topic].incarnation,
                    turn: opening.turn),
                let questions = memory.history.questions(
                    topic: place.topic, partition: place.partition, first: reading.anchor.first, now: now)
            else { return nil }
            return Check(
                place: place, reading: reading, end: end, questions: questions, answers: .init(end: end))
        }
    }

    private func ask(_ checks: inout [Check], until deadline: ContinuousClock.Instant) {
        let witnesses = checks.indices.filter { checks[$0].questions.witness != nil }
        let found = ask(
            witnesses.map { OffsetQuestion(place: checks[$0].place, time: checks[$0].questions.witness!) },
            of: side.client, until: deadline)
        for (index, answer) in zip(witnesses, found) { checks[index].answers.witness = answer }
        let floors = checks.indices.filter { checks[$0].questions.floor != nil }
        let answers = ask(
            floors.map { OffsetQuestion(place: checks[$0].place, time: checks[$0].questions.floor!) },
            of: side.client, until: deadline)
        for (index, answer) in zip(floors, answers) { checks[index].answers.floor = answer }
    }

    private func askLogStarts(
        _ places: [PartitionPlace], until deadline: ContinuousClock.Instant
    ) -> [PartitionPlace: Int64] {
        answers(to: places, at: Int64(RD_KAFKA_OFFSET_BEGINNING), until: deadline).compactMapValues(\.offset)
    }

    /// A position below the start of the log was lost to retention. Any other is not refused by the log that we read.
    private func judgeRefused(
        _ checks: inout [Check], until deadline: ContinuousClock.Instant, _ memory: inout Memory
    ) {
        let places = checks.filter { $0.reading.refused != nil }.map(\.place)
        let logStarts = askLogStarts(places, until: deadline)
        for index in checks.indices {
            let place = checks[index].place
            guard let refused = checks[index].reading.refused, let logStart = logStarts[place] else { continue }
            if refused < logStart {
                memory.history.reopen(topic: place.topic, partition: place.partition)
                checks[index].verdict = .open
            } else if checks[index].verdict != .broken {
                let hasLast = memory.history.lastRecord(topic: place.topic, partition: place.partition) != nil
                checks[index].verdict = hasLast ? .suspicious : .broken
            }
        }
    }

    /// Reads once more what was read last from the node before. Whoever leads without having had it has another record
    /// there, or will have; and nothing else need show it, where all that is missing was read after the last look and
    /// the log was longer than our position before the first fetch.
    private func judgeHandovers(_ checks: inout [Check], until deadline: ContinuousClock.Instant) {
        let chosen = checks.indices.filter { checks[$0].reading.anchor.handover != nil }
        guard !chosen.isEmpty else { return }
        let marks = chosen.map { checks[$0].reading.anchor.handover! }
        let found = side.records(
            at: zip(chosen, marks).map { index, mark in
                let place = checks[index].place
                return SideClient.Place(
                    topic: topicName(place.topic), partition: place.partition, offset: mark.offset)
            }, until: deadline)
        for ((index, mark), answer) in zip(zip(chosen, marks), found) {
            switch mark.isKept(answer, end: checks[index].end) {
            case true?: checks[index].isHandoverKept = true
            case false?: checks[index].verdict = .broken
            case nil: break
            }
        }
    }

    /// Reads the records once more that decide, and some others in turn: a log that was made anew with the same time stamps
    /// at the same offsets raises no suspicion.
    private func settle(
        _ checks: inout [Check], until deadline: ContinuousClock.Instant, now: Int64, _ memory: inout Memory
    ) {
        let chosen = checks.indices.filter { checks[$0].verdict == .suspicious } + patrol(checks, &memory)
        let places = chosen.compactMap { index -> SideClient.Place? in
            let place = checks[index].place
            return memory.history.lastRecord(topic: place.topic, partition: place.partition).map {
                SideClient.Place(topic: topicName(place.topic), partition: place.partition, offset: $0.offset)
            }
        }
        precondition(places.count == chosen.count, "a suspicion without a record that settles it")
        let found = side.records(at: places, until: deadline)
        let outOfRange = zip(chosen, found).filter { $1 == .outOfRange }.map { checks[$0.0].place }
        let logStarts = askLogStarts(outOfRange, until: deadline)
        for (index, answer) in zip(chosen, found) {
            // What was not in doubt does not get so by silence.
            if checks[index].verdict == .holds, answer == .silent { continue }
            let (place, answers) = (checks[index].place, checks[index].answers)
            checks[index].verdict = memory.history.check(topic: place.topic, partition: place.partition) {
                $0.settle(answer, answers, logStart: logStarts[place], now: now)
            }
        }
    }

    /// Those whose turn it is of the ones that are not in doubt.
    private func patrol(_ checks: [Check], _ memory: inout Memory) -> [Int] {
        let willing = checks.indices.filter { index in
            let place = checks[index].place
            return checks[index].verdict == .holds && !memory.isEmbedded
                && memory.history.lastRecord(topic: place.topic, partition: place.partition) != nil
        }.sorted {
            (checks[$0].place.topic, checks[$0].place.partition) < (checks[$1].place.topic, checks[$1].place.partition)
        }
        guard !willing.isEmpty else { return [] }
        let count = min(Self.patrolsPerLook, willing.count)
        defer { memory.patrolled &+= count }
        return (0..<count).map { willing[(memory.patrolled &+ $0) % willing.count] }
    }

    private func conclude(_ checks: [Check], now: Int64, _ map: inout PartitionMap, _ memory: inout Memory) {
        var broken: Set<Int> = []
        for check in checks {
            let place = check.place
            if check.isHandoverKept {
                map.topics[place.topic].setPartition(at: place.position) {
                    $0.handoverKept = check.reading.anchor.handover
                }
            }
            switch check.verdict {
            case .broken: broken.insert(place.topic)
            case .holds:
                let gone = memory.history.hold(
                    check.reading.anchor, topic: place.topic, partition: place.partition, check.answers, known: now)
                map.topics[place.topic].setPartition(at: place.position) {
                    $0.known = now
                    $0.witnessGone = gone
                }
            case .open, .suspicious: break
            }
        }
        for topic in broken { memory.history.breakLogs(topic: topic) }
        for topic in map.topics.indices { map.topics[topic] = memory.history.renew(map.topics[topic], topic: topic) }
    }
}

extension PartitionMap.Topic {
    func partition(at position: Int) -> PartitionMap.Partition? {
        guard case .present(let partitions) = state else { return nil }
        return partitions[position]
    }
}
