import CRdKafka

extension Scout {
    /// Looks for the first record of a log so often; then the log counts as no older than the look.
    static let maximumPeeks = 3

    /// Finds where reading begins, for the partitions of which that is not known yet.
    ///
    /// The ends were asked before: a record that comes between the two requests then lies behind the end, and is read in
    /// any case. A partition whose window is empty is read from its end.
    func open(
        _ ends: [PartitionPlace: Int64], until deadline: ContinuousClock.Instant, _ map: inout PartitionMap,
        _ memory: inout Memory
    ) {
        let now = WallClock.now
        let places = ends.keys.filter { memory.history.openOrigin(topic: $0.topic, partition: $0.partition) != nil }
        guard !places.isEmpty else { return }
        let windowed = places.filter {
            retention != nil && memory.history.openOrigin(topic: $0.topic, partition: $0.partition) == .window
        }
        let windowStart = now - (retention?.milliseconds ?? 0)
        let beginnings = answers(to: places, at: Int64(RD_KAFKA_OFFSET_BEGINNING), until: deadline)
        // The embedded broker knows no times and answers −1 to all of them: its window is empty.
        let firsts = answers(to: windowed, at: windowStart, until: deadline)
        var openings: [PartitionPlace: Opening] = [:]
        for place in places {
            guard let end = ends[place], let logStart = beginnings[place]?.offset else { continue }
            let origin = memory.history.openOrigin(topic: place.topic, partition: place.partition)
            let start: Int64
            switch (origin, firsts[place]) {
            case (.beginning, _): start = logStart
            case (_, .offset(let first)?): start = min(first, end)
            case (_, .end?): start = end
            case (_, .none) where retention == nil: start = end
            default: continue
            }
            var opening = Opening(
                start: start, loadUntil: origin == .window ? end : start, began: now, born: now, found: now)
            opening.isAtLogStart = start == logStart
            if firsts[place] != nil {
                opening.windowStart = windowStart
                if !opening.isAtLogStart { opening.began = windowStart }
            }
            if start == 0 { opening.began = nil }
            openings[place] = opening
        }
        findBirths(&openings, beginnings.compactMapValues(\.offset), until: deadline, now: now, &memory)
        for (place, opening) in openings {
            memory.history.resolve(topic: place.topic, partition: place.partition, opening)
        }
        for topic in map.topics.indices { map.topics[topic] = memory.history.renew(map.topics[topic], topic: topic) }
    }

    /// Reads the first records of those logs of which the consumer will not; those of which that fails are left for the
    /// next look.
    private func findBirths(
        _ openings: inout [PartitionPlace: Opening], _ logStarts: [PartitionPlace: Int64],
        until deadline: ContinuousClock.Instant, now: Int64, _ memory: inout Memory
    ) {
        guard retention != nil, !memory.isEmbedded, memory.failedPeeks < Self.maximumPeeks else { return }
        let places = openings.filter { !$0.value.isAtLogStart }.map(\.key)
        let found = side.records(
            at: places.map {
                SideClient.Place(topic: topicName($0.topic), partition: $0.partition, offset: logStarts[$0] ?? 0)
            }, until: deadline)
        memory.failedPeeks = found.contains(.silent) ? memory.failedPeeks + 1 : 0
        for (place, answer) in zip(places, found) {
            switch answer {
            case .record(let mark) where mark.timestamp >= 0: openings[place]?.born = min(mark.timestamp, now)
            // Nothing is there any longer, or its age is not told: no older than now, for all that can be known.
            case .record, .end: break
            // Retention moved the start meanwhile.
            case .outOfRange, .silent: openings[place] = nil
            }
        }
    }

    func answers(
        to places: [PartitionPlace], at time: Int64, until deadline: ContinuousClock.Instant
    ) -> [PartitionPlace: OffsetAnswer] {
        guard !places.isEmpty else { return [:] }
        let answers = ask(places.map { OffsetQuestion(place: $0, time: time) }, of: side.client, until: deadline)
        return Dictionary(uniqueKeysWithValues: zip(places, answers))
    }
}
