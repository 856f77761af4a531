// Tests: LogInference.swift, PartitionTable+Claims.swift
import KafkaLogs
import Testing

@testable import LiveUpdates

/// Cursors of topics that are young, or whose first records say so: nobody is refused for that alone.
struct FirstRecordTests {
    private static let other = PartitionName(topic: 1, number: 0)

    /// Of a log whose first record is stamped so many ms after now; what it is known by was read now.
    private func node(ahead: Int64) -> TestHistory {
        let node = TestHistory()
        node.open(LogFacts(known: node.now, end: 1, endAsked: 1))
        node.change { $0.firstStamp = node.now + ahead }
        return node
    }

    /// Another node that reads the same log an hour later, or another one: all it has are the stamps.
    private func later(than node: TestHistory, firstStamp: Int64, born: Int64) -> TestHistory {
        let later = TestHistory()
        later.now = node.now + TestHistory.hour
        later.open(LogFacts(born: born, known: later.now, end: 2, endAsked: 1))
        later.change { $0.firstStamp = firstStamp }
        return later
    }

    @Test(
        arguments: [
            // How far the first record is stamped ahead; whether the cursor says which one it is.
            (0, false), (1, true), (50 * 60_000, true), (.max - 1_795_240_000_000, true),
        ] as [(Int64, Bool)])
    func `a first record that is stamped ahead makes no log younger than a cursor`(_ ahead: Int64, isSaid: Bool) {
        let node = node(ahead: ahead)
        let fresh = node.fresh()
        #expect(Cursor(fresh)?.firstRecords.isEmpty == !isSaid && fresh.count <= 64)
        let stamp = node.now + ahead
        // Its own stamp has become a good one, or that of a record behind it counts.
        for born in [stamp, node.now + 5_000] where isSaid {
            #expect(later(than: node, firstStamp: stamp, born: born).offsets(fresh) == [])
            #expect(later(than: node, firstStamp: stamp - 1, born: born).refusal(fresh) == .epoch)
        }
        // Nobody knows the first record where the log was trimmed.
        let trimmed = later(than: node, firstStamp: stamp, born: 0)
        trimmed.change { ($0.firstStamp, $0.born) = (nil, nil) }
        #expect(trimmed.offsets(fresh) == [])
    }

    @Test func `a record that has no stamp is not named, nor where ids decide`() {
        let node = node(ahead: 5)
        node.change { $0.firstStamp = -1 }
        #expect(Cursor(node.fresh())?.firstRecords == [])
        node.change { ($0.firstStamp, $0.topicID) = (node.now + 5, 7) }
        #expect(Cursor(node.fresh())?.firstRecords == [])
    }

    // MARK: - Two topics

    /// The second topic is old, the first was found to be recreated a moment ago.
    private var recreated: TestHistory {
        let node = TestHistory(topics: 2)
        node.open(Self.other, LogFacts(start: 5, born: 1_000, known: node.now, end: 5, endAsked: 1))
        node.open(LogFacts(born: 2_000, known: node.now, end: 3, endAsked: 1))
        node.now += 1_000
        node.history.reset(topic: 0, now: node.now)
        return node
    }

    @Test func `a cursor that comes with a reset is good when the recreated topic gets its first record`() {
        let node = recreated
        let atOnce = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.open(LogFacts(notBefore: node.now - 1_500, end: 0, endAsked: 2))
        let opened = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.now += 3_000
        node.take(0)
        // The other topic is still known as of four seconds ago.
        let afterwards = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.now += 1
        #expect(node.offsets(atOnce) == [0] && node.offsets(opened) == [0] && node.offsets(afterwards) == [])
    }

    @Test func `while no moment says it of all topics, a cursor names a log of each`() {
        let node = recreated
        let cursor = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        #expect(Cursor(cursor)?.topicsKnown == nil)
        #expect(Cursor(cursor)?.positions.map(\.partition) == [Self.other])
        // So one that is recreated then is found out.
        node.now += 5_000
        node.open(Self.other, LogFacts(start: 5, born: node.now - 2_000, known: node.now, end: 6, endAsked: 3))
        #expect(node.refusal(cursor) == .epoch)
    }
}
