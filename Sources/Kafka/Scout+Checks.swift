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
    }

    /// Checks whether the logs are those that the consumer reads, as far as their leaders have answered.
    func check(
        _ ends: [PartitionPlace: Int64], _ anchors: ReadingAnchors, until deadline: ContinuousClock.Instant,
        _ map: inout PartitionMap, _ memory: inout Memory
    ) {
        // A request is sent after this moment, and so proves the log of this moment.
        let now = WallClock.now
        var checks = begin(ends, anchors, map, memory, now: now)
        ask(&checks, until: deadline, &memory)
        for index in checks.indices {
            let place = checks[index].place
            let answers = checks[index].answers
            guard !memory.isEmbedded else {
                checks[index].verdict = answers.end >= checks[index].reading.anchor.next ? .holds : .open
                continue
            }
            checks[index].verdict = memory.history.check(topic: place.topic, partition: place.partition) {
                $0.judge(answers, now: now)
            }
        }
        let logStarts = askLogStarts(checks, until: deadline, &memory)
        judgeRefused(&checks, logStarts, map, &memory)
        settle(&checks, logStarts, until: deadline, now: now, &memory)
        conclude(checks, now: now, &map, &memory)
    }

    private func begin(
        _ ends: [PartitionPlace: Int64], _ anchors: ReadingAnchors, _ map: PartitionMap, _ memory: Memory, now: Int64
    ) -> [Check] {
        ends.compactMap { place, end in
            guard let opening = map.topics[place.topic].partition(at: place.position)?.opening,
                let reading = anchors.partition(
                    place.partition, topic: place.topic, incarnation: map.topics[place.topic].incarnation,
                    turn: opening.turn),
                let questions = memory.history.questions(topic: place.topic, partition: place.partition, now: now)
            else { return nil }
            return Check(
                place: place, reading: reading, end: end, questions: questions, answers: .init(end: end))
        }
    }

    private func ask(_ checks: inout [Check], until deadline: ContinuousClock.Instant, _ memory: inout Memory) {
        // The embedded broker knows no times.
        guard !memory.isEmbedded else { return }
        let witnesses = checks.indices.filter { checks[$0].questions.witness != nil }
        let found = ask(
            witnesses.map { OffsetQuestion(place: checks[$0].place, time: checks[$0].questions.witness!) },
            until: deadline, &memory)
        for (index, answer) in zip(witnesses, found) { checks[index].answers.witness = answer }
        let floors = checks.indices.filter { checks[$0].questions.floor != nil }
        let answers = ask(
            floors.map { OffsetQuestion(place: checks[$0].place, time: checks[$0].questions.floor!) },
            until: deadline, &memory)
        for (index, answer) in zip(floors, answers) { checks[index].answers.floor = answer }
    }

    /// Only for those that are in doubt.
    private func askLogStarts(
        _ checks: [Check], until deadline: ContinuousClock.Instant, _ memory: inout Memory
    ) -> [PartitionPlace: Int64] {
        let places = checks.filter { $0.verdict == .suspicious || $0.reading.refused != nil }.map(\.place)
        return answers(to: places, at: Int64(RD_KAFKA_OFFSET_BEGINNING), until: deadline, &memory)
            .compactMapValues(\.offset)
    }

    /// A position below the start of the log was lost to retention. Any other is not refused by the log that we read.
    private func judgeRefused(
        _ checks: inout [Check], _ logStarts: [PartitionPlace: Int64], _ map: PartitionMap, _ memory: inout Memory
    ) {
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

    /// Reads the records once more that decide.
    private func settle(
        _ checks: inout [Check], _ logStarts: [PartitionPlace: Int64], until deadline: ContinuousClock.Instant,
        now: Int64, _ memory: inout Memory
    ) {
        let suspicious = checks.indices.filter { checks[$0].verdict == .suspicious }
        let places = suspicious.compactMap { index -> LogPeek.Place? in
            let place = checks[index].place
            return memory.history.lastRecord(topic: place.topic, partition: place.partition).map {
                LogPeek.Place(topic: topicName(place.topic), partition: place.partition, offset: $0.offset)
            }
        }
        precondition(places.count == suspicious.count, "a suspicion without a record that settles it")
        let found = peek(at: places, until: deadline, &memory)
        for (index, answer) in zip(suspicious, found) {
            let (place, answers) = (checks[index].place, checks[index].answers)
            checks[index].verdict = memory.history.check(topic: place.topic, partition: place.partition) {
                $0.settle(answer, answers, logStart: logStarts[place], now: now)
            }
        }
    }

    private func conclude(_ checks: [Check], now: Int64, _ map: inout PartitionMap, _ memory: inout Memory) {
        var broken: Set<Int> = []
        for check in checks {
            let place = check.place
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
