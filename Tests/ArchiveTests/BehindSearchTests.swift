// Tests: BehindSearch.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// Where a partition goes on, by what its leader answers, from the first question to the last.
struct BehindSearchTests {
    private static let partition = PartitionName(topic: 0, number: 0)

    struct Row: Sendable {
        /// What is stored; its last record is stamped 70.
        var next: Int64?
        var isEmbedded = false
        /// Nil: no answer.
        var bounds: Range<Int64>?
        /// What stands where the last stored record did.
        var found = LogSearch.Answer.record(stamp: 70)
        var first = OffsetAnswer.silent
        /// Nil: it stays open.
        var resolution: ArchiveFeed.Resolution?
    }

    static let rows: [Row] = [
        // Nothing is stored: from the oldest record that is kept.
        Row(bounds: 3..<9, first: .offset(4), resolution: .goOn(at: 4)),
        Row(bounds: 3..<9, first: .offset(1), resolution: .goOn(at: 3)),
        Row(bounds: 3..<9, first: .end, resolution: .goOn(at: 9)),
        Row(isEmbedded: true, bounds: 3..<9, first: .end, resolution: .goOn(at: 3)),
        Row(bounds: 3..<9, first: .silent),
        Row(bounds: nil, first: .offset(4)),
        // It goes on where it was.
        Row(next: 5, bounds: 0..<9, resolution: .goOn(at: 5)),
        Row(next: 5, bounds: 0..<9, found: .silent),
        // Another record stands there: said once.
        Row(next: 5, bounds: 0..<9, found: .record(stamp: 80), first: .offset(0)),
    ]

    @Test(arguments: rows) func `a partition goes on where its log says`(_ row: Row) {
        var turns = BehindTurns()
        #expect(Self.search(row, &turns, now: 0) == row.resolution)
    }

    @Test func `a log with another record is another one once its leader has said so twice, a second apart`() {
        var turns = BehindTurns()
        let row = Row(next: 5, bounds: 0..<9, found: .record(stamp: 80), first: .offset(2))
        let found = [0, 999, 1_000].map { Self.search(row, &turns, now: $0) }
        #expect(found == [nil, nil, .otherLog(from: 2)])
    }

    @Test func `who does not answer has its pause, and who answers has none`() {
        var turns = BehindTurns()
        _ = Self.search(Row(next: 5, bounds: nil), &turns, now: 0)
        #expect(turns.isSilent(Self.partition))
        _ = Self.search(Row(next: 5, bounds: 0..<9), &turns, now: 0)
        #expect(!turns.isSilent(Self.partition))
    }

    private static func search(_ row: Row, _ turns: inout BehindTurns, now: UInt64) -> ArchiveFeed.Resolution? {
        let points = row.next.map { [StoredLog.Point(offset: $0 - 1, stamp: 70)] } ?? []
        let question = ArchiveFeed.Question(
            partition: partition, generation: 0, next: row.next, log: StoredLog(points: points),
            facts: LogFacts(start: 0, liveFrom: 0, next: 0))
        var search = BehindSearch(question, keptFrom: 50, isEmbedded: row.isEmbedded)
        while let asked = search.question {
            switch asked {
            case .bounds: search.receive(bounds: row.bounds, &turns, now: now)
            case .record(let offset):
                search.receive(record: offset + 1 == row.next ? row.found : .absent, &turns, now: now)
            case .first(let time): search.receive(first: time == 50 ? row.first : .silent, &turns, now: now)
            }
        }
        return search.resolution
    }
}
