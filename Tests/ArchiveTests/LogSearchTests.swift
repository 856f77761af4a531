// Tests: LogSearch.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// Where a partition goes on, by what was stored of its log and what its leader says.
struct LogSearchTests {
    /// What the leader has: records by their offsets, with their stamps.
    struct Log {
        var start: Int64 = 0
        var end: Int64 = 10
        var records: [Int64: Int64] = [:]
        var isSilent = false

        /// Each record is stamped 100 later than its offset.
        static func whole(_ offsets: Range<Int64>, end: Int64? = nil, stamps: Int64 = 100) -> Log {
            var log = Log(start: offsets.lowerBound, end: end ?? offsets.upperBound)
            for offset in offsets { log.records[offset] = offset + stamps }
            return log
        }

        func changed(_ body: (inout Log) -> Void) -> Log {
            var log = self
            body(&log)
            return log
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var next: Int64? = 8
        var stored = StoredLog(
            known: KnownLog(known: 500), points: [2, 6, 7].map { .init(offset: $0, stamp: $0 + 100) })
        var facts = LogFacts(start: 0, liveFrom: 0, next: 0)
        let log: Log
        let step: LogSearch.Step
        var isDoubtful = false
    }

    private static func facts(
        id: UInt32? = nil, first: Int64? = nil, notBefore: Int64? = nil, wholeAfter: Int64? = nil
    ) -> LogFacts {
        LogFacts(
            start: 0, liveFrom: 0, firstStamp: first, notBefore: notBefore, wholeAfter: wholeAfter, topicID: id, next: 0
        )
    }

    private static func known(_ known: KnownLog, _ offsets: [Int64] = [2, 6, 7]) -> StoredLog {
        StoredLog(known: known, points: offsets.map { .init(offset: $0, stamp: $0 + 100) })
    }

    private static func cut(until: Int64) -> StoredLog {
        StoredLog(known: KnownLog(), points: [.init(offset: 7, stamp: 107)], until: until)
    }

    private static func sure(_ offset: Int64, _ offsets: [Int64] = [2, 4, 7]) -> StoredLog {
        var log = known(KnownLog(known: 500), offsets)
        log.sure = offset
        return log
    }

    private static let other = LogSearch.Step.begin(isOtherLog: true)

    static let rows: [Row] = [
        Row(testDescription: "a new store", next: nil, log: .whole(0..<10), step: .begin(isOtherLog: false)),
        Row(testDescription: "the last record stands where it was", log: .whole(0..<10), step: .found(.goOn(at: 8))),
        Row(testDescription: "and is the end", log: .whole(0..<8), step: .found(.goOn(at: 8))),
        // Compaction and transactions leave nothing there.
        Row(
            testDescription: "the last is gone, one before it stands: what follows is read again",
            log: Log.whole(0..<10).changed { $0.records[7] = nil },
            step: .found(.cutBack(to: 7, since: nil, until: 8))),
        Row(
            testDescription: "a marker stood behind the last", next: 9, stored: known(KnownLog(topicID: 3), [7]),
            facts: facts(id: 3), log: Log.whole(0..<10).changed { $0.records[8] = nil },
            step: .found(.cutBack(to: 8, since: nil, until: 9))),
        Row(
            testDescription: "a marker stood behind the last, and a record stands there since", next: 9,
            stored: known(KnownLog(topicID: 3, known: 400), [7]), facts: facts(id: 3), log: .whole(0..<12),
            step: .found(.cutBack(to: 8, since: nil, until: 9))),
        Row(
            testDescription: "a marker stood behind the last, and the log was cut there", next: 9,
            stored: known(KnownLog(topicID: 3, known: 400), [7]), facts: facts(id: 3, wholeAfter: 401),
            log: .whole(0..<12), step: .found(.cutBack(to: 8, since: nil, until: 9))),
        Row(
            testDescription: "a marker stood behind the last, and nothing says which log it is", next: 9,
            stored: known(KnownLog(), [7]), log: .whole(0..<12), step: .found(.cutBack(to: 8, since: nil, until: 9))),
        Row(
            testDescription: "all are gone, and the topic's id is the same", stored: known(KnownLog(topicID: 3)),
            facts: facts(id: 3), log: Log(), step: .found(.goOn(at: 8))),
        Row(
            testDescription: "all are gone, and nothing says which log it is", stored: known(KnownLog()), log: Log(),
            step: .wait),
        Row(
            testDescription: "and nothing can prove it any more", next: 9, stored: known(KnownLog()),
            log: Log.whole(8..<20).changed { $0.records[8] = nil }, step: other, isDoubtful: true),
        Row(
            testDescription: "all are gone, and the topic was recreated since", facts: facts(notBefore: 501),
            log: Log(),
            step: other, isDoubtful: true),
        Row(
            testDescription: "retention has removed all of it", log: .whole(8..<20), step: .found(.goOn(at: 8))),
        Row(
            testDescription: "and more", log: .whole(12..<20), step: .found(.goOn(at: 8))),
        Row(
            testDescription: "and more, after it was cut back", stored: known(KnownLog(topicID: 3, known: 400)),
            facts: facts(id: 3, wholeAfter: 401), log: .whole(12..<20), step: other, isDoubtful: true),
        // A log that was recreated has grown past the position.
        Row(
            testDescription: "others stand everywhere", log: .whole(0..<10, stamps: 900), step: other, isDoubtful: true),
        Row(
            testDescription: "another id", stored: known(KnownLog(topicID: 3)), facts: facts(id: 4),
            log: .whole(0..<10),
            step: other),
        Row(
            testDescription: "another first record", stored: known(KnownLog(first: 3)), facts: facts(first: 4),
            log: .whole(0..<10), step: other),
        Row(
            testDescription: "it is shorter, with other records", log: .whole(0..<4, stamps: 900), step: other,
            isDoubtful: true),
        Row(testDescription: "it is empty", log: .whole(0..<0), step: other, isDoubtful: true),
        // Cut back.
        Row(
            testDescription: "it ends before the position", log: .whole(0..<5),
            step: .found(.cutBack(to: 3, since: 102, until: 5)), isDoubtful: true),
        Row(
            testDescription: "right behind a record that was stored", log: .whole(0..<7),
            step: .found(.cutBack(to: 7, since: 106, until: 7)), isDoubtful: true),
        Row(
            testDescription: "it was cut, and others were written since",
            log: Log.whole(0..<20).changed { for offset in Int64(5)..<20 { $0.records[offset] = 900 } },
            step: .found(.cutBack(to: 3, since: 102, until: 8)), isDoubtful: true),
        Row(
            testDescription: "the topic's id does not hide it", stored: known(KnownLog(topicID: 3)),
            facts: facts(id: 3),
            log: Log.whole(0..<20).changed { $0.records[7] = 900 },
            step: .found(.cutBack(to: 7, since: 106, until: 8)), isDoubtful: true),
        Row(
            testDescription: "it is cut once more while it is read again", stored: cut(until: 12), log: .whole(0..<10),
            step: .found(.cutBack(to: 8, since: 107, until: 10)), isDoubtful: true),
        Row(
            testDescription: "the node that read it again has ended", stored: cut(until: 10), log: .whole(0..<10),
            step: .found(.goOn(at: 8))),
        // Read after the log was proved last.
        Row(
            testDescription: "the last records are read once more", stored: sure(6), log: .whole(0..<10),
            step: .found(.cutBack(to: 5, since: nil, until: 8))),
        Row(testDescription: "all were proved", stored: sure(8), log: .whole(0..<10), step: .found(.goOn(at: 8))),
        Row(
            testDescription: "it was cut, and was read on behind the first of the others", stored: sure(5),
            log: Log.whole(0..<10).changed { $0.records[4] = 900 },
            step: .found(.cutBack(to: 3, since: 102, until: 8)), isDoubtful: true),
        Row(
            testDescription: "none was proved", stored: sure(0, [7]), log: .whole(0..<10),
            step: .found(.cutBack(to: 0, since: nil, until: 8))),
        Row(
            testDescription: "none was proved, and it was found since that it is another one", stored: sure(0, [7]),
            facts: facts(notBefore: 501), log: .whole(0..<10), step: other, isDoubtful: true),
        // No answer proves nothing.
        Row(testDescription: "silence", log: Log.whole(0..<10).changed { $0.isSilent = true }, step: .wait),
        Row(
            testDescription: "silence, and the same id", stored: known(KnownLog(topicID: 3)), facts: facts(id: 3),
            log: Log.whole(0..<10).changed { $0.isSilent = true }, step: .wait),
        // Stored by a version that noted the stamp alone.
        Row(
            testDescription: "an old position", stored: StoredLog(next: 8, stamp: 107), log: .whole(0..<10),
            step: .found(.goOn(at: 8))),
        Row(
            testDescription: "an old position behind two markers", stored: StoredLog(next: 8, stamp: 105),
            log: Log.whole(0..<10).changed { ($0.records[6], $0.records[7]) = (nil, nil) },
            step: .found(.cutBack(to: 6, since: nil, until: 8))),
        Row(
            testDescription: "an old position in another log", stored: StoredLog(next: 8, stamp: 107),
            log: .whole(0..<10, stamps: 900), step: other, isDoubtful: true),
        Row(
            testDescription: "an old position without stamps", stored: StoredLog(next: 8, stamp: -1),
            log: .whole(0..<10), step: other, isDoubtful: true),
    ]

    @Test(arguments: rows)
    func `a partition goes on where its log is known to be the same`(row: Row) {
        let question = ArchiveFeed.Question(
            partition: PartitionName(topic: 0, number: 0), generation: 0, next: row.next, log: row.stored,
            facts: row.facts)
        var search = LogSearch(question, start: row.log.start, end: row.log.end)
        var asked = 0
        while case .ask(let offset) = search.step {
            asked += 1
            #expect(offset >= row.log.start && offset < row.log.end && asked <= StoredLog.maximumPoints)
            let found = row.log.records[offset].map { LogSearch.Answer.record(stamp: $0) } ?? .absent
            search.add(row.log.isSilent ? .silent : found)
        }
        #expect(search.step == row.step && search.isDoubtful == row.isDoubtful)
    }
}
