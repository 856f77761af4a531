import Foundation
import KafkaLogs
import Testing

@testable import Kafka

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Batches that are damaged on disk` {
        /// A topic of four batches, one of which cannot be read.
        struct Case {
            let topic = freshTopic()
            let damage: LogFile.Damage
            /// The batch, from 0.
            let batch: Int
            /// Records of each batch.
            let size: Int

            func values(of batch: Int) -> [String] { (0..<size).map { "\(batch).\($0)" } }
            /// What can be read.
            var values: [String] { (0..<4).filter { $0 != batch }.flatMap(values(of:)) }
        }

        @Test func `everybody is told to resync once, and no other batch is lost`() throws {
            let kafka = try ApacheKafka.cluster(.current)
            let cases = [LogFile.Damage.checksum, .magic, .compression].flatMap { damage -> [Case] in
                // Inside of a batch with an unknown magic byte each question waits for its whole time, twice.
                let size = damage == .magic ? 2 : 5
                return [(0, size), (1, size), (1, 1), (3, size)].map { Case(damage: damage, batch: $0, size: $1) }
            }
            let administrator = try kafka.administrator()
            for one in cases { try administrator.createTopic(one.topic) }
            for batch in 0..<4 { try write(kafka, cases.map { ($0.topic, $0.values(of: batch)) }) }
            let lost = Case(damage: .length, batch: 1, size: 1)
            try administrator.createTopic(lost.topic)
            for batch in 0..<4 { try write(kafka, [(lost.topic, lost.values(of: batch))]) }
            try kafka.run("stop", "all")
            for one in cases + [lost] { try LogFile(kafka, one.topic).damage(one.damage, batch: one.batch) }
            try kafka.run("start-node", "all")

            let reading = try Reading(
                ConsumerSettings(
                    brokers: kafka.plaintext, topics: cases.map(\.topic), retention: .seconds(3_600)))
            func values(_ topic: String) -> [String] {
                reading.entries.filter { $0.topic == topic }.map { $0.value ?? "" }
            }
            let isRead = reading.run(within: .seconds(60)) { reading in
                reading.resyncs.count >= cases.count && reading.isReady
                    && cases.allSatisfy { values($0.topic).count >= $0.values.count }
            }
            #expect(isRead, "\(reading.resyncs.count) resyncs, \(reading.readiness)")
            // A new producer: the one before knows the broker of before.
            try write(kafka, cases.map { ($0.topic, ["behind"]) })
            _ = reading.run { _ in cases.allSatisfy { values($0.topic).last == "behind" } }
            for one in cases {
                #expect(values(one.topic) == one.values + ["behind"], "\(one)")
                let index = try #require(reading.consumer.topics.firstIndex(of: one.topic))
                let name = PartitionName(topic: UInt16(index), number: 0)
                #expect(reading.resyncs.count { $0 == .recordsLost(name, .unreadable) } == 1, "\(one)")
            }
            #expect(
                reading.resyncs.count == cases.count && !reading.isStalled, "\(reading.resyncs), \(reading.notices)")
            try checkStandstill(kafka, lost)
        }

        /// Of a log that the broker cannot read any further, nobody knows what stands behind.
        private func checkStandstill(_ kafka: ApacheKafka, _ lost: Case) throws {
            let reading = try Reading(
                ConsumerSettings(brokers: kafka.plaintext, topics: [lost.topic], retention: .seconds(3_600)))
            try #require(reading.run { $0.entries.count == 1 })
            reading.refreshInterval = .seconds(2)
            let isStalled = reading.run(refreshes: 3) { $0.isStalled }
            #expect(isStalled && !reading.isReady)
            #expect(reading.resyncs.isEmpty && reading.values == ["0.0"])
        }

        /// One batch to each topic.
        private func write(_ kafka: ApacheKafka, _ batches: [(topic: String, values: [String])]) throws {
            // So long nothing is sent but by `flush`.
            let producer = try kafka.producer([("linger.ms", "5000")])
            for (topic, values) in batches {
                for value in values { _ = try producer.produce(topic: topic, partition: 0, value: bytes(value)) }
            }
            guard producer.flush(within: 20_000), producer.failed == 0 else { throw NotDelivered(producer) }
        }
    }
}

/// The one segment of a log on a broker's disk.
struct LogFile {
    /// What is done to a batch; but for the last, the broker sends it all the same.
    enum Damage {
        /// A byte of its last record is another one.
        case checksum
        /// Its magic byte says that it is of a format of the future.
        case magic
        /// Its checksum is right, and its records are said to be compressed, which they are not.
        case compression
        /// Its length is wrong: the broker itself finds nothing behind it.
        case length
    }

    private let url: URL
    private var log: [UInt8]

    init(_ kafka: ApacheKafka, _ topic: String) throws {
        let name = "\(topic)-0/00000000000000000000.log"
        let files = FileManager.default.enumerator(atPath: kafka.description.dir)
        let path = try #require(files?.compactMap { $0 as? String }.first { $0.hasSuffix(name) })
        url = URL(filePath: kafka.description.dir).appending(path: path)
        log = try [UInt8](Data(contentsOf: url))
    }

    /// A batch is its first offset in 8 bytes, its length in 4 and so many bytes: the leader's epoch in 4, the magic byte, the
    /// checksum in 4, and from its byte 21 on what that covers, attributes first.
    consuming func damage(_ damage: Damage, batch: Int) throws {
        var start = 0
        for _ in 0..<batch { start = end(of: start) }
        let end = end(of: start)
        switch damage {
        case .checksum: log[end - 2] ^= 0x55
        case .magic: log[start + 16] = 3
        case .length: log[start + 11] &-= 30
        case .compression:
            log[start + 22] |= 1  // gzip
            let sum = Self.crc32c(log[(start + 21)..<end])
            for index in 0..<4 { log[start + 17 + index] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * index)) }
        }
        try Data(log).write(to: url)
    }

    private func end(of start: Int) -> Int {
        start + 12 + log[(start + 8)..<(start + 12)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// RFC 3720, appendix B.4.
    private static func crc32c(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 0 ? 0 : 0x82F6_3B78) }
        }
        return ~sum
    }
}
