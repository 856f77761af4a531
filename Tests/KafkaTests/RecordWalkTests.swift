// Tests: ProbeClient+Records.swift, RecordWalk.swift

import KafkaLogs
import Testing

@testable import Kafka

/// Records that are read one by one, several of one partition in one request.
struct RecordWalkTests {
    private static let name = PartitionName(topic: 0, number: 0)

    /// What comes of a partition, and what is done then.
    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The offsets that are asked for.
        let asked: [Int64]
        let steps: [(message: RecordAnswer, at: Int64, then: RecordWalk.Step)]
        let answers: [RecordAnswer]
    }

    private static func record(_ offset: Int64, _ timestamp: Int64 = 7) -> RecordAnswer {
        .record(RecordMark(offset: offset, timestamp: timestamp, check: 0))
    }

    private static let rows = [
        Row(
            testDescription: "one question, answered by the first record at it or behind it", asked: [5],
            steps: [(record(8), 8, .release)], answers: [record(8)]),
        Row(
            testDescription: "near ones are reached by reading on, in the order of their offsets", asked: [105, 5, 9],
            steps: [
                (record(5), 5, .readOn), (record(6), 6, .readOn), (record(9), 9, .readOn), (record(104), 104, .readOn),
                (record(105), 105, .release),
            ], answers: [record(105), record(5), record(9)]),
        Row(
            testDescription: "the farthest that is near, and the nearest that is far", asked: [0, 100, 201],
            steps: [(record(0), 0, .readOn), (record(100), 100, .read(at: 201)), (record(201), 201, .release)],
            answers: [record(0), record(100), record(201)]),
        Row(
            testDescription: "one record answers all up to it", asked: [5, 6, 7, 8],
            steps: [(record(7), 7, .readOn), (record(8), 8, .release)],
            answers: [record(7), record(7), record(7), record(8)]),
        Row(
            testDescription: "what comes late of a position that was left changes nothing", asked: [0, 500],
            steps: [
                (record(0), 0, .read(at: 500)), (record(1), 1, .readOn), (.end(at: 2), 2, .readOn),
                (record(500), 500, .release), (record(501), 501, .readOn),
            ], answers: [record(0), record(500)]),
        Row(
            testDescription: "the end answers what stands before it, and what is behind it is asked for by itself",
            asked: [3, 10, 11],
            steps: [
                (record(3), 3, .readOn), (.end(at: 10), 10, .read(at: 11)), (.outOfRange, 11, .release),
            ], answers: [record(3), .end(at: 10), .outOfRange]),
        Row(
            testDescription: "an end before a near question answers it not", asked: [3, 20],
            steps: [(record(3), 3, .readOn), (.end(at: 4), 4, .read(at: 20)), (.outOfRange, 20, .release)],
            answers: [record(3), .outOfRange]),
        Row(
            testDescription: "a batch that cannot be read on the way says nothing of the question", asked: [3, 20],
            steps: [(record(3), 3, .readOn), (.unreadable, 10, .read(at: 20)), (record(20), 20, .release)],
            answers: [record(3), record(20)]),
        Row(
            testDescription: "a question in a batch that cannot be read hides none behind it", asked: [3, 4, 9],
            steps: [
                (.unreadable, 3, .read(at: 4)), (.unreadable, 3, .read(at: 9)), (record(9), 9, .release),
            ], answers: [.unreadable, .unreadable, record(9)]),
        Row(
            testDescription: "an offset that was not asked for is out of range: asked once more, then believed",
            asked: [3, 9],
            steps: [
                (.outOfRange, 77, .read(at: 3)), (.outOfRange, 78, .read(at: 9)), (.outOfRange, 79, .read(at: 9)),
                (record(9), 9, .release),
            ], answers: [.outOfRange, record(9)]),
        Row(
            testDescription: "the last offset that there is", asked: [0, .max],
            steps: [(record(0), 0, .read(at: .max)), (.outOfRange, .max, .release)],
            answers: [record(0), .outOfRange]),
    ]

    @Test(arguments: rows) private func `questions of one partition`(_ row: Row) {
        var walk = RecordWalk(row.asked.map { RecordQuestion(partition: Self.name, offset: $0) })
        #expect(walk.starts.map(\.offset) == [row.asked.min()])
        for (message, offset, then) in row.steps {
            #expect(walk.take(message, of: Self.name, at: offset) == then, "\(message) at \(offset)")
        }
        #expect(walk.isOver)
        #expect(walk.answers == row.answers)
    }

    @Test func `partitions do not wait for each other, and what has not come is silent`() {
        let names = (0..<3).map { PartitionName(topic: 0, number: $0) }
        var walk = RecordWalk(
            [(0, 5), (1, 50), (1, 5), (2, 5)].map { RecordQuestion(partition: names[$0.0], offset: $0.1) })
        #expect(Set(walk.starts.map(\.partition)) == Set(names))
        #expect(walk.take(Self.record(5), of: names[2], at: 5) == .release)
        #expect(walk.take(Self.record(5), of: names[1], at: 5) == .readOn)
        #expect(!walk.isOver)
        #expect(walk.answers == [.silent, .silent, Self.record(5), Self.record(5)])
    }

    @Test(arguments: [RecordWalk.maximumStamps - 1, RecordWalk.maximumStamps])
    func `so many records at most are read for a good time stamp`(_ bad: Int) {
        var walk = RecordWalk([RecordQuestion(partition: Self.name, offset: 0, stampedUntil: 1_000)])
        for offset in 0..<Int64(bad) - 1 {
            #expect(walk.take(Self.record(offset, 2_000), of: Self.name, at: offset) == .readOn)
        }
        let isLast = bad == RecordWalk.maximumStamps
        let step = walk.take(Self.record(Int64(bad) - 1, 2_000), of: Self.name, at: Int64(bad) - 1)
        #expect(step == (isLast ? .release : .readOn))
        if !isLast { _ = walk.take(Self.record(Int64(bad), 900), of: Self.name, at: Int64(bad)) }
        let first = RecordMark(offset: 0, timestamp: 2_000, check: 0)
        #expect(walk.answers == [.firstRecord(first, goodStamp: isLast ? nil : 900)])
    }

    @Test func `records of one partition are read in one request, wherever they stand and whoever asks first`() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t")
        let producer = try Producer(brokers: cluster.bootstrap)
        let values = (0..<2_000).map { bytes("\($0)") }
        for value in values { _ = try producer.produce(topic: "t", partition: 0, value: value) }
        try #require(producer.flush(within: 60_000))
        let consumer = try Consumer(ConsumerSettings(brokers: cluster.bootstrap, topics: ["t"]))
        let name = PartitionName(topic: 0, number: 0)
        // Beside each other, far from each other, the same one twice, and one beyond the end, out of order.
        let offsets: [Int64] = [1_999, 700, 3, 4, 4, 1_400, 702, 5_000] + (0..<48).map { 40 * $0 + 11 }
        let questions = offsets.map { RecordQuestion(partition: name, offset: $0) }
        var exact: [Int: Int64] = [:]
        let answers = consumer.probes.records(questions, timeout: 10_000) { exact[$0] = $1.offset }
        for (index, offset) in offsets.enumerated() {
            switch answers[index] {
            case .record(let mark):
                #expect(mark.offset == offset)
                #expect(exact[index] == offset)
            case .outOfRange: #expect(offset == 5_000)
            default: Issue.record("\(offset): \(answers[index])")
            }
        }
    }
}
