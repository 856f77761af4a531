import CRdKafka

extension Consumer {
    /// Notes what a record shows of its log. Only the first record, and the last of each run, are remembered
    /// whole.
    func take(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, topic index: Int, isLast: Bool,
        at now: ContinuousClock.Instant
    ) {
        let (number, offset) = unsafe (message.pointee.partition, message.pointee.offset)
        guard topics[index].partitions.indices.contains(Int(number)) else { return }
        let timestamp = unsafe rd_kafka_message_timestamp(message, nil)
        if topics[index].partitions[Int(number)].opening?.isAtLogStart == true {
            learnFirst(timestamp, topic: index, partition: number)
        }
        topics[index].partitions[Int(number)].anchor.come(from: unsafe rd_kafka_message_broker_id(message))
        topics[index].partitions[Int(number)].anchor.witness(timestamp, at: offset)
        if topics[index].partitions[Int(number)].anchor.first == nil {
            topics[index].partitions[Int(number)].anchor.first = unsafe RecordMark(message)
        }
        if isLast { topics[index].partitions[Int(number)].anchor.last = unsafe RecordMark(message) }
        topics[index].advance(number, to: offset + 1, at: now)
    }

    /// Reading began at the start of the log, and this is the time stamp of its first record; nil if it has none that
    /// anybody sees. Whoever reads the first record knows the log from then on.
    func learnFirst(_ timestamp: Int64?, topic index: Int, partition number: Int32) {
        guard topics[index].partitions.indices.contains(Int(number)),
            var opening = topics[index].partitions[Int(number)].opening, opening.isAtLogStart
        else { return }
        let now = WallClock.now
        if let timestamp {
            opening.isAtLogStart = false
            if timestamp >= 0 {
                opening.born = max(min(timestamp, opening.born), opening.bornFloor)
                opening.began = opening.began.map { min(timestamp, $0) }
            }
        }
        topics[index].partitions[Int(number)].opening = opening
        topics[index].partitions[Int(number)].known = max(topics[index].partitions[Int(number)].known, now)
        factsVersion += 1
    }
}
