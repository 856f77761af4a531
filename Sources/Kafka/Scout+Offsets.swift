import CRdKafka

extension Scout {
    /// Asks one leader for the ends of its partitions and for the beginnings that are still open: at most two requests.
    ///
    /// A look at a healthy cluster thereby proves that each leader answers, which metadata, told by any node, does not.
    func askOffsets(of leader: Int32, _ map: inout PartitionMap, _ memory: inout Memory) {
        var beginnings: [Place] = []
        var ends: [Place] = []
        for (index, topic) in map.topics.enumerated() {
            guard case .present(let partitions) = topic.state else { continue }
            for (position, partition) in partitions.enumerated() where partition.leader == leader {
                let place = Place(topic: index, position: position, partition: partition.number)
                ends.append(place)
                if memory.history.openAnchor(topic: index, partition: partition.number) == .beginning {
                    beginnings.append(place)
                }
            }
        }
        let timeout =
            memory.silentLeaders.contains(leader)
            ? Self.silentLeaderTimeoutMilliseconds : Self.offsetsTimeoutMilliseconds
        guard let found = offsets(ends[...], at: Int64(RD_KAFKA_OFFSET_END), timeout, map) else {
            memory.silentLeaders.insert(leader)
            return
        }
        memory.silentLeaders.remove(leader)
        for (place, end) in zip(ends, found) {
            guard let end else { continue }
            map.topics[place.topic].setPartition(at: place.position) { $0.end = end }
            if memory.history.openAnchor(topic: place.topic, partition: place.partition) == .end {
                settle(place, at: end, &map, &memory)
            }
        }
        guard !beginnings.isEmpty,
            let found = offsets(beginnings[...], at: Int64(RD_KAFKA_OFFSET_BEGINNING), timeout, map)
        else { return }
        for (place, beginning) in zip(beginnings, found) {
            if let beginning { settle(place, at: beginning, &map, &memory) }
        }
    }

    struct Place {
        var topic: Int
        var position: Int
        var partition: Int32
    }

    private func settle(_ place: Place, at start: Int64, _ map: inout PartitionMap, _ memory: inout Memory) {
        memory.history.resolve(topic: place.topic, partition: place.partition, start: start)
        map.topics[place.topic].setPartition(at: place.position) { $0.start = start }
    }

    /// One partition that fails makes the whole answer fail in librdkafka, so halves are asked until it stands alone: a
    /// new partition whose leader is not yet up to date must not keep the others waiting.
    private func offsets(
        _ places: ArraySlice<Place>, at time: Int64, _ timeout: Int32, _ map: PartitionMap
    ) -> [Int64?]? {
        switch ask(places, at: time, timeout, map) {
        case .answered(let offsets): return offsets
        case .silent: return nil
        case .refused where places.count == 1: return [nil]
        case .refused:
            let middle = places.startIndex + places.count / 2
            guard let first = offsets(places[..<middle], at: time, timeout, map),
                let second = offsets(places[middle...], at: time, timeout, map)
            else { return nil }
            return first + second
        }
    }

    private enum Answer {
        case answered([Int64?])
        /// The leader answered with an error about some partition.
        case refused
        /// The leader did not answer.
        case silent
    }

    /// The offsets that stand for `time` (ListOffsets: −1 is the end, −2 the beginning), in the order of `places`.
    ///
    /// With `isolation.level=read_committed` the end is the last stable offset, so a transaction that is open now and
    /// commits later lies wholly behind it (KIP-98).
    private func ask(
        _ places: ArraySlice<Place>, at time: Int64, _ timeout: Int32, _ map: PartitionMap
    ) -> Answer {
        guard let list = unsafe rd_kafka_topic_partition_list_new(Int32(places.count)) else { return .silent }
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for place in places {
            let entry = unsafe rd_kafka_topic_partition_list_add(list, map.topics[place.topic].name, place.partition)
            unsafe entry?.pointee.offset = time
        }
        let code = unsafe rd_kafka_offsets_for_times(pointer, list, timeout)
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: break
        case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
            RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
            return .silent
        default: return .refused
        }
        return .answered(
            (0..<places.count).map { index in
                let entry = unsafe list.pointee.elems[index]
                let answered = unsafe entry.err == RD_KAFKA_RESP_ERR_NO_ERROR && entry.offset >= 0
                return answered ? unsafe entry.offset : nil
            })
    }
}

extension PartitionMap.Topic {
    mutating func setPartition(at position: Int, _ change: (inout PartitionMap.Partition) -> Void) {
        guard case .present(var partitions) = state else { return }
        change(&partitions[position])
        state = .present(partitions)
    }
}
