// Tests: Landmarks.swift

import KafkaLogs
import Testing

@testable import LiveUpdates

/// The cursor of an account that had no events says which record of anybody its node had read last, and is judged by it.
struct LandmarkTests {
    private static let others = Account("A2")
    private let node = TestHistory()

    /// A node that has read records of another account at these offsets, each in a period of its own. All nodes
    /// take their logs for as old as time, so that nothing but a record tells one from another.
    private func node(reading offsets: [Int64], start: Int64 = 0, later by: Int64 = 0) -> TestHistory {
        let node = TestHistory()
        node.open(LogFacts(start: start, born: 1, known: node.now, end: 100, endAsked: 1))
        for offset in offsets {
            let stamp = node.now + by + offset * 700_000
            node.history.append(
                TestHistory.event("\(offset)"), account: Self.others, partition: TestHistory.first, offset: offset,
                timestamp: stamp, now: stamp)
        }
        node.now += TestHistory.hour * 2 + by
        node.change { $0.known = node.now }
        return node
    }

    @Test func `another record in its place refuses the cursor, the same one does not`() {
        let old = node(reading: [0, 1, 2]).fresh()
        #expect(node(reading: [0, 1, 2, 3]).offsets(old) == [])
        #expect(node(reading: [0, 1, 2, 3], later: 1).refusal(old) == .epoch)
    }

    @Test func `a node that does not hold it reads the record once more`() {
        let issuer = node(reading: [0, 1, 2])
        let old = issuer.fresh()
        // Of one period only the last record is a landmark.
        let node = TestHistory()
        node.open(LogFacts(born: 1, known: node.now, end: 100, endAsked: 1))
        for offset in 0..<4 { node.take(Int64(offset), account: Self.others) }
        node.now = issuer.now
        node.change { $0.known = node.now }
        #expect(node.doubt(old) == .record(TestHistory.first, 2))
        let stamp = TestHistory().now + 1_400_000
        func answer(_ timestamp: Int64) -> ProbedRecord { .record(timestamp: timestamp, account: Self.others) }
        #expect(node.refusal(old, record: answer(stamp)) == nil)
        #expect(node.refusal(old, record: answer(stamp + 1)) == .epoch)
        // Compacted, or left out by the mapping, or nobody answers: nobody is refused because of that.
        #expect(node.refusal(old, record: ProbedRecord.none) == nil)
        #expect(node.refusal(old, record: .record(timestamp: stamp, account: nil)) == nil)
        #expect(node.refusal(old, record: .unanswered) == nil)
    }

    @Test func `a log that ends before it is in doubt until its end was asked for`() {
        let old = node(reading: [0, 1, 2]).fresh()
        let node = TestHistory()
        node.open(LogFacts(born: 1, known: node.now + TestHistory.hour * 2, end: 1, endAsked: 1))
        node.take(0, account: Self.others)
        node.now += TestHistory.hour * 2
        #expect(node.doubt(old) == .ends(PartitionFloor(partition: TestHistory.first, offset: 3)))
        node.change { $0.endAsked = 5 }
        #expect(node.refusal(old, ends: .since(5)) == .ahead)
    }

    @Test func `an account's own event counts before it`() throws {
        let node = node(reading: [0, 1, 2])
        node.take(3)
        let cursor = try #require(Cursor(node.fresh()))
        #expect(cursor.fingerprint?.offset == 3)
        #expect(cursor.fingerprint?.fits(node.now) == true)
        #expect(cursor.fingerprint?.fitsAnyAccount(node.now) == false)
    }

    @Test func `a landmark is no proof that the account's own event stands there`() {
        let node = node(reading: [0, 1, 2])
        let stamp = TestHistory().now + 1_400_000
        let own = Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: node.now,
            topicsKnown: node.now,
            positions: [Cursor.Position(partition: TestHistory.first, offset: 3, known: node.now)],
            fingerprint: Cursor.Fingerprint(partition: TestHistory.first, offset: 2, timestamp: stamp)
        ).text.bytes
        #expect(node.doubt(own) == .record(TestHistory.first, 2))
        #expect(node.refusal(own, record: .record(timestamp: stamp, account: Self.others)) == .epoch)
    }

    @Test func `with ids it tells of what was cut off and written again`() {
        func with(_ node: TestHistory) -> TestHistory {
            node.change { $0.topicID = 9 }
            return node
        }
        let old = with(node(reading: [0, 1, 2])).fresh()
        #expect(with(node(reading: [0, 1, 2])).refusal(old) == nil)
        #expect(with(node(reading: [0, 1, 2], later: 1)).refusal(old) == .epoch)
    }

    @Test func `the cursor of a topic of one partition stays within 64 characters`() throws {
        let node = TestHistory()
        node.open(LogFacts(start: 1 << 40, known: node.now, topicID: .max, end: 1 << 41, endAsked: 1))
        for step in 0..<1_000 { node.take(1 << 40 + Int64(step), account: Self.others) }
        let cursor = node.fresh()
        #expect(cursor.count <= 64)
        #expect(try #require(Cursor(cursor)).fingerprint?.offset == 1 << 40 + 999)
    }

    @Test func `nothing is said of a log that was forgotten, or of which the account's next event is to come`() {
        let node = node(reading: [0, 1, 2])
        node.history.lose([TestHistory.first])
        #expect(Cursor(node.fresh())?.fingerprint == nil)
        // Before the first record there is none.
        let other = self.node(reading: [5])
        other.now += TestHistory.hour
        other.take(6)
        let before = other.history.cursor(
            at: StreamPosition(sequence: 0), account: TestHistory.account, now: other.now)
        #expect(Cursor(before.bytes)?.fingerprint?.offset == 5)
    }

    @Test func `the last record of each period is kept, and the very last one`() {
        var landmarks = Landmarks(periodMilliseconds: 10)
        #expect(landmarks.settled(at: 0) == nil)
        #expect(landmarks.newest(before: .max) == nil)
        #expect(landmarks.landmark(at: 0) == nil)
        for offset in 0..<400 as Range<Int64> {
            // Two records of each period.
            let begins = landmarks.read(offset, timestamp: offset, arrival: offset * 5)
            #expect(begins == (offset % 2 == 0))
        }
        func landmark(_ offset: Int64) -> Landmark { Landmark(offset: offset, timestamp: offset) }
        let kept = (0..<400 as Range<Int64>).filter { landmarks.landmark(at: $0) != nil }
        #expect(kept == Array(stride(from: 399 - 2 * Int64(Landmarks.periods), through: 399, by: 2)))
        // Of the period that goes on there may be more.
        #expect(landmarks.settled(at: 1_999) == landmark(397))
        #expect(landmarks.settled(at: 2_000) == landmark(399))
        #expect(landmarks.newest(before: 400) == landmark(399))
        #expect(landmarks.newest(before: 399) == landmark(397))
        #expect(landmarks.newest(before: 397) == landmark(395))
        #expect(landmarks.newest(before: 143) == nil)
        // A clock that was set back begins none.
        let isLate = landmarks.read(400, timestamp: 5, arrival: 1_989)
        #expect(!isLate)
        #expect(landmarks.landmark(at: 400) == Landmark(offset: 400, timestamp: 5))
    }

    @Test func `where a period is over its last record is said, however much came since`() throws {
        let node = TestHistory { $0.retentionMilliseconds = 128_000 }
        node.open(LogFacts(born: 1, known: node.now, end: 100, endAsked: 1))
        node.now += 1_000 - node.now % 1_000
        func said(_ node: TestHistory) throws -> [Int64] {
            let cursor = try #require(Cursor(node.fresh()))
            return [try #require(cursor.fingerprint).offset, try #require(cursor.positions.first).offset]
        }
        for offset in 0..<3 as Range<Int64> { node.take(offset, account: Self.others) }
        // The first period is not over yet: the last record is all there is.
        #expect(try said(node) == [2, 3])
        node.now += 1_000
        #expect(try said(node) == [2, 3])
        for offset in 3..<6 as Range<Int64> { node.take(offset, account: Self.others) }
        #expect(try said(node) == [2, 3])
        node.now += 1_000
        #expect(try said(node) == [5, 6])
    }
}
