import CRdKafka

/// What is asked of the leader of a partition: the offset that stands for a time.
struct OffsetQuestion {
    var place: PartitionPlace
    /// Milliseconds since 1970, or `RD_KAFKA_OFFSET_END`, or `RD_KAFKA_OFFSET_BEGINNING`.
    var time: Int64
}

/// A partition within a map.
struct PartitionPlace: Hashable {
    var topic: Int
    var position: Int
    var partition: Int32
    var leader: Int32
}

enum OffsetAnswer: Equatable {
    case offset(Int64)
    /// No record has that time or a later one.
    case end
    /// The leader answered with an error about the partition.
    case refused
    /// The leader did not answer.
    case silent

    var offset: Int64? {
        if case .offset(let offset) = self { return offset }
        return nil
    }
}

extension Scout {
    /// Asks all leaders at once; if that fails, one after the other, so that one that is silent does not hide what the
    /// others say. Those that were silent the last time come last and share what is left of the time.
    func ask(
        _ questions: [OffsetQuestion], of client: ClientHandle, until deadline: ContinuousClock.Instant,
        _ silent: inout Set<Int32>
    ) -> [OffsetAnswer] {
        var answers = [OffsetAnswer](repeating: .silent, count: questions.count)
        let leaders = Dictionary(grouping: questions.indices) { questions[$0].place.leader }
        let willing = questions.indices.filter { !silent.contains(questions[$0].place.leader) }
        var left = leaders.keys.sorted { (silent.contains($0) ? 1 : 0, $0) < (silent.contains($1) ? 1 : 0, $1) }
        if !willing.isEmpty,
            case .answered(let found) = request(willing.map { questions[$0] }, of: client, until: deadline, share: 2)
        {
            for (index, answer) in zip(willing, found) { answers[index] = answer }
            left.removeAll { !silent.contains($0) }
        }
        for (position, leader) in left.enumerated() {
            let indices = leaders[leader]!
            let share = left.count - position
            guard let found = ask(indices.map { questions[$0] }[...], of: client, until: deadline, share: share) else {
                silent.insert(leader)
                continue
            }
            silent.remove(leader)
            for (index, answer) in zip(indices, found) { answers[index] = answer }
        }
        return answers
    }

    /// The same where nobody needs to know who was silent.
    func ask(
        _ questions: [OffsetQuestion], of client: ClientHandle, until deadline: ContinuousClock.Instant
    ) -> [OffsetAnswer] {
        guard !questions.isEmpty else { return [] }
        var silent: Set<Int32> = []
        return ask(questions, of: client, until: deadline, &silent)
    }

    /// One partition that fails makes the whole answer fail in librdkafka, so halves are asked until it stands alone: a
    /// new partition whose leader is not yet up to date must not keep the others waiting.
    private func ask(
        _ questions: ArraySlice<OffsetQuestion>, of client: ClientHandle, until deadline: ContinuousClock.Instant,
        share: Int
    ) -> [OffsetAnswer]? {
        switch request(Array(questions), of: client, until: deadline, share: share) {
        case .answered(let answers): return answers
        case .silent: return nil
        case .refused where questions.count == 1: return [.refused]
        case .refused:
            let middle = questions.startIndex + questions.count / 2
            guard let first = ask(questions[..<middle], of: client, until: deadline, share: share),
                let second = ask(questions[middle...], of: client, until: deadline, share: share)
            else { return nil }
            return first + second
        }
    }

    private enum Reply {
        case answered([OffsetAnswer])
        case refused, silent
    }

    /// Asks within a share of the time that is left. What a cut connection loses is asked again: a new one takes 0.1 s.
    private func request(
        _ questions: [OffsetQuestion], of client: ClientHandle, until deadline: ContinuousClock.Instant, share: Int
    ) -> Reply {
        let now = ContinuousClock.now
        let end = now + max((deadline - now) / share, Self.shortestWait)
        while true {
            let left = max((end - .now).milliseconds, Self.shortestWait.milliseconds)
            let (code, answers) = request(questions, of: client, within: Int32(left))
            switch code {
            case RD_KAFKA_RESP_ERR_NO_ERROR: return .answered(answers)
            case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE: return .silent
            case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
                guard end - .now > Self.shortestWait else { return .silent }
                pause(Self.shortestWait / 4)
            default: return .refused
            }
        }
    }

    /// The offsets that stand for the times, in the order of the questions.
    ///
    /// With `isolation.level=read_committed`, as the consumer has it, the end is the last stable offset, so a transaction that is open now and
    /// commits later lies wholly behind it (KIP-98), and no time stands for a record behind it.
    private func request(
        _ questions: [OffsetQuestion], of client: ClientHandle, within milliseconds: Int32
    ) -> (rd_kafka_resp_err_t, [OffsetAnswer]) {
        guard let list = unsafe rd_kafka_topic_partition_list_new(Int32(questions.count)) else {
            return (RD_KAFKA_RESP_ERR__TIMED_OUT, [])
        }
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for question in questions {
            let entry = unsafe rd_kafka_topic_partition_list_add(
                list, topicName(question.place.topic), question.place.partition)
            unsafe entry?.pointee.offset = question.time
        }
        let code = unsafe rd_kafka_offsets_for_times(client.pointer, list, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return (code, []) }
        let answers = questions.indices.map { index in
            let entry = unsafe list.pointee.elems[index]
            guard unsafe entry.err == RD_KAFKA_RESP_ERR_NO_ERROR else { return OffsetAnswer.refused }
            let offset = unsafe entry.offset
            if offset >= 0 { return .offset(offset) }
            return offset == Int64(RD_KAFKA_OFFSET_END) ? .end : .refused
        }
        return (code, answers)
    }
}

extension PartitionMap.Topic {
    mutating func setPartition(at position: Int, _ change: (inout PartitionMap.Partition) -> Void) {
        guard case .present(var partitions) = state else { return }
        change(&partitions[position])
        state = .present(partitions)
    }
}
