// Tests: KnownLog.swift

import Testing

@testable import KafkaLogs

/// Whether a position that somebody else has noted counts in the log that is read here.
struct KnownLogTests {
    private static func facts(
        id: UInt32? = nil, first: Int64? = nil, born: Int64? = nil, notBefore: Int64? = nil, wholeAfter: Int64? = nil
    ) -> LogFacts {
        LogFacts(
            start: 0, liveFrom: 0, born: born, firstStamp: first, notBefore: notBefore, wholeAfter: wholeAfter,
            known: 900,
            topicID: id, next: 10)
    }

    static let rows: [(noted: KnownLog, facts: LogFacts, verdict: KnownLog.Verdict, why: String)] = [
        (KnownLog(topicID: 7), facts(id: 7), .same, "the topic's id"),
        (KnownLog(topicID: 7, first: 1, known: 800), facts(id: 8, first: 1), .other, "another id, whatever the rest"),
        (KnownLog(topicID: 7, first: 1), facts(id: 7, first: 2), .same, "an id is better than a stamp"),
        (KnownLog(topicID: 7, known: 499), facts(id: 7, wholeAfter: 500), .other, "noted before it was cut back"),
        (KnownLog(topicID: 7), facts(id: 7, wholeAfter: 500), .other, "nobody knows when it was noted"),
        (KnownLog(topicID: 7, known: 500), facts(id: 7, wholeAfter: 500), .same, "noted since"),
        (
            KnownLog(first: 5, known: 4), facts(first: 5, born: 6), .same,
            "the same first record, and clocks that differ"
        ),
        (KnownLog(first: 5), facts(first: 5), .same, "the same first record"),
        (KnownLog(first: 5, known: 800), facts(first: 6), .other, "another first record"),
        (KnownLog(first: 5, known: 499), facts(first: 5, notBefore: 500), .other, "copied after it was noted"),
        (KnownLog(first: 5, known: 500), facts(first: 5, notBefore: 500), .same, "copied before it was noted"),
        (KnownLog(known: 499), facts(born: 500), .other, "it was empty when the other one was known"),
        (KnownLog(known: 500), facts(born: 500), .same, "it was there when the other one was known"),
        (KnownLog(topicID: 7, known: 499), facts(notBefore: 500), .other, "ids are known of one of them alone"),
        (KnownLog(known: 1), facts(), .same, "nothing speaks against it"),
        (KnownLog(), facts(), .open, "nothing is known"),
        (KnownLog(topicID: 7), facts(first: 5), .open, "nothing that both have"),
        (KnownLog(), facts(id: 7, first: 5, born: 5, notBefore: 3), .open, "noted by a version that knew none of it"),
    ]

    @Test(arguments: rows)
    func `a log is told from another of its name`(
        row: (noted: KnownLog, facts: LogFacts, verdict: KnownLog.Verdict, why: String)
    ) {
        #expect(row.noted.verdict(row.facts) == row.verdict, "\(row.why)")
    }

    @Test(arguments: [2_000_000, 10, -1] as [Int64], [false, true])
    func `the first record is known by its own stamp, whether it is read or asked for`(stamp: Int64, isRead: Bool) {
        // One that is stamped ahead has no birth of its own; one that is old stands before the window.
        var node = TestNode()
        if isRead { node.refresh() }
        node.write(1, stamp: stamp)
        node.write(2)
        if !isRead { node.refresh() }
        node.drain()
        #expect(node.facts().map { KnownLog($0).first } == (stamp < 0 ? nil : stamp))
    }
}
