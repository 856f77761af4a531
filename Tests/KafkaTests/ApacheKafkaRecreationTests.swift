// Tests: ProbeClient+Offsets.swift, ProbeClient+Records.swift, ProbeClient+TopicIDs.swift

import KafkaLogs
import Testing

@testable import Kafka

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Logs that are recreated` {
        @Test func `at once and longer than our position: noticed within 10 s, read from the beginning, told once`()
            throws
        {
            try checkRecreatedLonger(try ApacheKafka.cluster(.current))
        }
    }
}

/// How a log and the one after it look to whoever goes by time stamps.
private enum Likeness: CaseIterable {
    /// As it comes: the new records are newer.
    case ordinary
    /// A record from the future stands in the old log.
    case future
    /// The new log was filled with time stamps from before those of the old one.
    case older
    /// The same time stamps at the same offsets, but other records.
    case sameTimes
    /// One record, and then five.
    case tiny
    /// Both written in transactions, of which some were aborted.
    case transactions

    var count: Int { self == .tiny ? 1 : 50 }
}

/// Every topic but the last is deleted and recreated while nothing is fetched.
func checkRecreatedLonger(_ kafka: ApacheKafka) throws {
    let administrator = try kafka.administrator()
    let names = Likeness.allCases.map { _ in freshTopic() }
    let steady = freshTopic()
    for name in names + [steady] { try administrator.createTopic(name) }
    try write(kafka, names, "old", 0, times: 1)
    try kafka.producer().send(steady, 0, "steady")
    let reading = try Reading(
        ConsumerSettings(brokers: kafka.faults, topics: names + [steady], retention: .seconds(3_600)))
    let count = Likeness.allCases.map(\.count).reduce(1, +)
    try #require(reading.run { $0.isReady && $0.entries.count == count })
    // What a node has read is what it knows its log by, once a refresh has seen it.
    let known = WallClock.now
    let isKnown = reading.run { $0.isKnown(after: known) }
    try #require(isKnown, "\(reading.facts)")
    let sorted = (names + [steady]).sorted()
    let ids = sorted.indices.map { reading.facts(ofTopic: $0)?.topicID }
    #expect(ids.allSatisfy { ($0 != nil) == KafkaLibrary.canAskTopicIDs })

    try kafka.run("fault", "all", "refuse")
    for name in names { try administrator.deleteTopic(name) }
    for name in names {
        // The broker may take a moment to let go of the name.
        try repeating(for: .seconds(10)) { try administrator.createTopic(name) }
    }
    try write(kafka, names, "new", -600_000, times: 3)
    try kafka.run("fault", "all", "pass")
    let isNoticed = reading.run { reading in
        names.allSatisfy { reading.recreated.contains($0) }
    }
    #expect(isNoticed, "\(reading.recreated) of \(names)")
    for (name, likeness) in zip(names, Likeness.allCases) {
        let expected = likeness.count * 3
        let isComplete = reading.run { reading in
            reading.entries.count { $0.topic == name && $0.value?.hasPrefix("new") == true } >= expected
                && reading.entries.last { $0.topic == name }?.value == "new \(expected - 1)"
        }
        #expect(isComplete, "\(likeness)")
        let read = reading.entries.filter { $0.topic == name }.compactMap(\.value)
        #expect(read.suffix(expected) == (0..<expected).map { "new \($0)" }, "\(likeness)")
    }
    reading.run(for: .seconds(1))
    #expect(Set(reading.recreated).count == reading.resyncs.count, "each once")
    #expect(!reading.recreated.contains(steady))
    for (index, name) in sorted.enumerated() where name != steady {
        let facts = try #require(reading.facts(ofTopic: index))
        #expect(facts.start == 0 && facts.unread == nil)
        if let id = ids[index] {
            #expect(facts.topicID != nil && facts.topicID != id, "the id alone tells the new log from the old one")
        } else {
            #expect(facts.notBefore ?? .min > known, "after the last moment at which the old one was known")
        }
    }
}

extension Reading {
    /// Of the topic's first partition; topics are in the order of their names.
    fileprivate func facts(ofTopic index: Int) -> LogFacts? {
        consumer.tracker.facts(of: PartitionName(topic: UInt16(index), number: 0))
    }
}

private func write(_ kafka: ApacheKafka, _ names: [String], _ word: String, _ shift: Int64, times: Int) throws {
    let now = WallClock.now
    let producer = try kafka.producer()
    for (name, likeness) in zip(names, Likeness.allCases) {
        guard likeness != .transactions else {
            try writeTransactions(kafka, name, word, likeness.count * times)
            continue
        }
        for number in 0..<likeness.count * times {
            var time = now + Int64(number)
            switch likeness {
            case .future where number == 3 && word == "old": time += 3_000_000  // Kafka 4 refuses more than an hour.
            case .older: time += shift
            // The same for old and new, whenever they are written.
            case .sameTimes: time = now / 600_000 * 600_000 - 600_000 + Int64(number)
            default: break
            }
            _ = try producer.produce(topic: name, partition: 0, value: bytes("\(word) \(number)"), timestamp: time)
        }
    }
    guard producer.flush(within: 20_000), producer.failed == 0 else {
        throw NotDelivered(producer)
    }
}

private func writeTransactions(_ kafka: ApacheKafka, _ name: String, _ word: String, _ count: Int) throws {
    let producer = try kafka.producer([("transactional.id", name)])
    try producer.beginTransactions()
    for number in 0..<count {
        if number % 25 == 0 {
            try producer.beginTransaction()
            try producer.send(name, 0, "aborted")
            try producer.abortTransaction()
            try producer.beginTransaction()
        }
        try producer.send(name, 0, "\(word) \(number)")
        if number % 25 == 24 { try producer.commitTransaction() }
    }
    guard producer.failed == 0 else { throw NotDelivered(producer) }
}

/// Until it works, or the time is up.
func repeating(for limit: Duration, _ body: () throws -> Void) throws {
    let end = ContinuousClock.now + limit
    while true {
        do {
            return try body()
        } catch {
            guard ContinuousClock.now < end else { throw error }
        }
    }
}
