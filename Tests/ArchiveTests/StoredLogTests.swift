// Tests: StoredLog.swift

import KafkaLogs
import TestHarness
import Testing

@testable import Archive

struct StoredLogTests {
    @Test(arguments: [
        StoredLog(), StoredLog(known: KnownLog(topicID: .max, first: 0, known: .max), until: 9),
        StoredLog(
            known: KnownLog(first: -1), points: [.init(offset: 0, stamp: 0), .init(offset: 1 << 61, stamp: .max)]),
        StoredLog(known: KnownLog(topicID: 1), points: [.init(offset: 3, stamp: 4)], until: 1 << 61),
        StoredLog(known: KnownLog(first: 2), points: [.init(offset: 3, stamp: 4)], until: 5, sure: 4),
    ])
    func `what is stored is read as it was`(log: StoredLog) {
        #expect(StoredLog(log.bytes) == log)
    }

    @Test(arguments: [[], [1], [0, 0], [2, 0], [1, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]])
    func `bytes of another version, or cut ones, say nothing`(bytes: [UInt8]) {
        #expect(StoredLog(bytes) == nil)
    }

    @Test func `a gap begins behind the last record that was proved to be of the log`() {
        var log = StoredLog(points: [2, 5].map { .init(offset: $0, stamp: $0 + 100) })
        #expect(log.sureStamp(at: 8) == nil, "nobody has noted it")
        // How far it is proved, and the stamp; nil: that of the last record.
        let rows: [(Int64, Int64?)] = [(0, -1), (2, -1), (3, 102), (5, 102), (6, 105), (7, 105), (8, nil), (9, nil)]
        for (offset, stamp) in rows {
            log.sure = offset
            #expect(log.sureStamp(at: 8) == stamp, "\(offset)")
        }
        #expect(log.newest.map(\.offset) == [5])
        log.prove(before: 7)
        #expect(log.sure == 9)
        log.sure = 2
        #expect(log.newest.map(\.offset) == [2, 5])
        log.sure = 9
        log.cut(at: 4)
        #expect(log.sure == 4)
        log.prove(before: 6)
        #expect(log.sure == 6)
    }

    @Test func `points are few, and close to each other near the end`() {
        var generator = SeededGenerator(seed: 7)
        var log = StoredLog()
        var offset: Int64 = 0
        for _ in 0..<5_000 {
            offset += 1 + Int64(generator.below(40))
            log.add(.init(offset: offset, stamp: offset))
            #expect(log.points.count <= StoredLog.maximumPoints && log.points.last?.offset == offset)
            // Whatever is lost, a point stands before it, at most some times as far from the end.
            for lost in [100, 1_000, 10_000] as [Int64] where offset > 20 * lost {
                let point = log.points.last { $0.offset < offset - lost }
                #expect(offset - (point?.offset ?? 0) <= 16 * lost)
            }
        }
        // What goes back, or has no stamp, is none.
        let before = log
        log.add(.init(offset: offset, stamp: 1))
        log.add(.init(offset: offset + 1, stamp: -1))
        #expect(log == before)
        log.cut(at: 5)
        #expect(log.points.allSatisfy { $0.offset < 5 })
    }
}
