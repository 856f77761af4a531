// Tests: ControlWriter.swift

import Kafka
import Testing

@testable import Gateway

/// How long `revoke` and `erase` wait for brokers, on a clock that only they move.
struct ControlWriterTests {
    /// Brokers that answer at a moment, in ms since the begin; nil: never. To wait for them is all that takes time.
    private final class Brokers: ControlProducer {
        let leadersAt, acknowledgedAt, failedAt: UInt64?
        private(set) var now: UInt64 = 0
        private(set) var sent = 0

        let answer: Producer.TopicAnswer
        let lastWord: String

        init(_ row: Row) {
            (leadersAt, acknowledgedAt, failedAt) = (row.leadersAt, row.acknowledgedAt, row.failedAt)
            (answer, lastWord) = (row.answer, row.lastWord)
        }

        private func hasCome(_ moment: UInt64?) -> Bool { moment.map { now >= $0 } ?? false }

        func learnLeaders(of topic: String, within milliseconds: Int32) -> Producer.TopicAnswer {
            now = hasCome(leadersAt) ? now : min(leadersAt ?? .max, now + UInt64(milliseconds))
            return hasCome(leadersAt) ? .known : answer
        }

        func send(topic: String, key: [UInt8], value: [UInt8]) throws(KafkaError) { sent += 1 }

        func poll(_ milliseconds: Int32) { now += UInt64(milliseconds) }

        func takeNotices() -> [KafkaNotice] { [] }

        var delivered: Int { sent > 0 && hasCome(acknowledgedAt) ? 1 : 0 }
        var lastFailure: String? { hasCome(failedAt) ? lastWord : nil }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let leadersAt, acknowledgedAt: UInt64?
        var failedAt: UInt64?
        /// What is said of the topic before its leaders are known.
        var answer = Producer.TopicAnswer.none
        var lastWord = "broken"
        /// Nil: it is written.
        let failure: String?
    }

    static let rows = [
        Row(testDescription: "at once", leadersAt: 0, acknowledgedAt: 0, failure: nil),
        Row(testDescription: "late", leadersAt: 6_000, acknowledgedAt: 9_000, failure: nil),
        Row(testDescription: "at the last moment", leadersAt: 0, acknowledgedAt: 10_000, failure: nil),
        Row(
            testDescription: "too late", leadersAt: 0, acknowledgedAt: 10_001,
            failure: "no broker has acknowledged it"),
        Row(testDescription: "never", leadersAt: 0, acknowledgedAt: nil, failure: "no broker has acknowledged it"),
        Row(
            testDescription: "leaders at the last moment", leadersAt: 10_000, acknowledgedAt: nil,
            failure: "no broker has acknowledged it"),
        Row(
            testDescription: "no leaders", leadersAt: nil, acknowledgedAt: nil,
            failure: "no broker answers"),
        Row(
            testDescription: "no topic", leadersAt: nil, acknowledgedAt: nil, answer: .missing,
            failure: "there is no such topic: create control, or correct control.topic"),
        Row(
            testDescription: "no right to see", leadersAt: nil, acknowledgedAt: nil, answer: .forbidden,
            failure: "we may not see the topic: grant Describe and Write on control to the user of kafka.settings"),
        Row(
            testDescription: "no right to write", leadersAt: 0, acknowledgedAt: nil, failedAt: 0,
            lastWord: "Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED)",
            failure: """
                Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED): grant Write on control to the user of \
                kafka.settings
                """),
        Row(testDescription: "refused", leadersAt: 0, acknowledgedAt: nil, failedAt: 300, failure: "broken"),
    ]

    @Test(arguments: rows) func `all of it takes ten seconds at most`(_ row: Row) {
        let brokers = Brokers(row)
        var failure: String?
        do throws(ControlWriter.Failure) {
            try ControlWriter.write(
                key: [1], value: [2], to: "control", until: ControlWriter.timeoutMilliseconds, brokers
            ) { brokers.now }
        } catch {
            guard case .notAcknowledged(let reason) = error else { return #expect(Bool(false), "\(error)") }
            failure = reason
        }
        #expect(failure == row.failure)
        #expect(brokers.now <= 10_000 && brokers.sent == (row.leadersAt == nil ? 0 : 1))
    }
}
