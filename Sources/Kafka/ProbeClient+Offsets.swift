import CRdKafka
import Glibc
import KafkaLogs

/// The offset that stands for a time, of one partition.
private struct OffsetQuestion {
    var name: PartitionName
    /// Milliseconds since 1970, or `RD_KAFKA_OFFSET_END`, or `RD_KAFKA_OFFSET_BEGINNING`.
    var time: Int64
    var leader: Int32
}

extension ProbeClient {
    /// The shortest wait for a leader, however many others were silent before it.
    private static let shortestWait = Duration.milliseconds(100)

    func offsets(
        _ names: [PartitionName], _ time: OffsetTime, until deadline: ContinuousClock.Instant, _ memory: inout Memory
    ) -> [OffsetAnswer] {
        var questions: [OffsetQuestion] = []
        questions.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            let time: Int64 =
                switch time {
                case .logEnd: Int64(RD_KAFKA_OFFSET_END)
                case .logStart: Int64(RD_KAFKA_OFFSET_BEGINNING)
                case .times(let times): times[index]
                }
            questions.append(OffsetQuestion(name: name, time: time, leader: memory.leader(of: name)))
        }
        guard time == .logEnd else {
            // Silent leaders are known from the question for the log ends.
            var silent: Set<Int32> = []
            return ask(questions, of: client, until: deadline, &silent)
        }
        let answers = ask(questions, of: handle.client, until: deadline, &memory.silentLeaders)
        remind(handle.client, "reads", &memory.consumersReminder, isAnswered: answers.contains { $0.offset != nil })
        return answers
    }

    /// Asks all leaders at once. If that fails, it asks one after the other, so that a silent leader does not hide the others'
    /// answers. Leaders that were silent the last time come last and share the remaining time.
    private func ask(
        _ questions: [OffsetQuestion], of client: ClientHandle, until deadline: ContinuousClock.Instant,
        _ silent: inout Set<Int32>
    ) -> [OffsetAnswer] {
        var answers = [OffsetAnswer](repeating: .silent, count: questions.count)
        let leaders = Dictionary(grouping: questions.indices) { questions[$0].leader }
        let willing = questions.indices.filter { !silent.contains(questions[$0].leader) }
        var left = leaders.keys.sorted { (silent.contains($0) ? 1 : 0, $0) < (silent.contains($1) ? 1 : 0, $1) }
        if !willing.isEmpty,
            case .answered(let found) = request(willing.map { questions[$0] }, of: client, until: deadline, share: 2)
        {
            for (index, answer) in zip(willing, found) { answers[index] = answer }
            left.removeAll { !silent.contains($0) }
        }
        for (index, leader) in left.enumerated() {
            let indices = leaders[leader] ?? []
            let share = left.count - index
            guard let found = ask(indices.map { questions[$0] }[...], of: client, until: deadline, share: share) else {
                silent.insert(leader)
                continue
            }
            silent.remove(leader)
            for (index, answer) in zip(indices, found) { answers[index] = answer }
        }
        return answers
    }

    /// One failed partition makes the whole answer fail in librdkafka. So halves are asked until that partition is alone: a new
    /// partition whose leader is not yet up to date must not delay the others.
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

    /// Asks within a share of the remaining time. A request lost with its connection is repeated: a new connection needs 0.1 s.
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
                usleep(UInt32(Self.shortestWait.milliseconds * 1_000 / 4))
            default: return .refused
            }
        }
    }

    /// The offsets that stand for the times, in the order of the questions.
    ///
    /// With `isolation.level=read_committed`, as for the consumer, the log end is the last stable offset. So a transaction that
    /// is open now and commits later lies wholly after it (KIP-98), and no time stands for a record after it. An unknown topic or
    /// partition counts as refused: librdkafka knows that from its own metadata, not from the leader.
    private func request(
        _ questions: [OffsetQuestion], of client: ClientHandle, within milliseconds: Int32
    ) -> (rd_kafka_resp_err_t, [OffsetAnswer]) {
        guard let list = unsafe rd_kafka_topic_partition_list_new(Int32(questions.count)) else {
            return (RD_KAFKA_RESP_ERR__TIMED_OUT, [])
        }
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for question in questions {
            let entry = unsafe rd_kafka_topic_partition_list_add(
                list, topicName(Int(question.name.topic)), question.name.number)
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

extension ProbeClient.Memory {
    /// The leader of the partition, or −1 if it is unknown.
    fileprivate func leader(of name: PartitionName) -> Int32 {
        let (topic, number) = (Int(name.topic), Int(name.number))
        guard topic < leaders.count, number < leaders[topic].count else { return -1 }
        return leaders[topic][number] ?? -1
    }
}
