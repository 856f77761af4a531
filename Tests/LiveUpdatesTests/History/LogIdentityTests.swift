// Tests: LogInference.swift

import KafkaLogs
import Testing

@testable import LiveUpdates

/// Which log a cursor speaks of: by the topics' ids where both sides have them, else by what else is known.
struct LogIdentityTests {
    private func node(_ id: UInt32?, topics: Int = 1, _ change: (inout LogFacts) -> Void = { _ in }) -> TestHistory {
        let node = TestHistory(topics: topics)
        var facts = LogFacts(born: 1_000, known: node.now, topicID: id, end: 100, endAsked: 1)
        change(&facts)
        node.open(facts)
        return node
    }

    /// A cursor that names the first partition.
    private func cursor(of node: TestHistory) -> [UInt8] {
        node.take(7)
        return node.fresh()
    }

    // MARK: - Ids

    @Test func `the id alone decides where both have one`() {
        let old = cursor(of: node(1))
        // All else speaks for another log, and for the same.
        let same = node(1) { ($0.born, $0.known) = (TestHistory().now + 1, TestHistory().now + 2) }
        same.take(7, account: Account("A2"))
        #expect(same.offsets(old) == [])
        #expect(node(2).refusal(old) == .epoch)
    }

    @Test func `nodes with and without ids understand each other's cursors`() {
        let (with, without) = (node(1), node(nil))
        let fromWith = cursor(of: with)
        let fromWithout = cursor(of: without)
        #expect(without.offsets(fromWith) == [])
        #expect(with.offsets(fromWithout) == [])
        // Where one of them has none, the rest is asked.
        let late = node(nil) { $0.born = with.now + 5 }
        #expect(late.refusal(fromWith) == .epoch)
    }

    @Test func `a cursor of one partition with an id has at most 64 characters`() {
        let node = node(.max) { ($0.start, $0.end) = (1 << 40, 1 << 41) }
        node.take(1 << 40)
        node.take(1 << 40 + 100)
        #expect(node.fresh().count <= 64)
        #expect(Cursor(node.fresh())?.topicIDs != nil)
    }

    @Test func `ids count when those of all topics are known`() {
        let second = PartitionName(topic: 1, number: 0)
        let node = node(1, topics: 2)
        #expect(Cursor(node.fresh())?.topicIDs == nil)
        node.open(second, LogFacts(topicID: nil))
        #expect(Cursor(node.fresh())?.topicIDs == nil)
        node.open(second, LogFacts(topicID: 2))
        let cursor = node.fresh()
        #expect(Cursor(cursor)?.topicIDs != nil)
        // One that the cursor does not name is recreated.
        node.history.reset(topic: 1)
        node.open(second, LogFacts(topicID: 3))
        #expect(node.refusal(cursor) == .epoch)
    }

    @Test func `a log that was cut back keeps its id, and whoever noticed refuses what is older`() {
        let node = node(1) {
            $0.notBefore = $0.known.map { $0 + 10 }
            $0.wholeAfter = $0.notBefore
        }
        let other = self.node(1)
        let old = cursor(of: other)
        #expect(node.refusal(old) == .epoch)
        other.now += 20
        other.change { $0.known = other.now }
        #expect(node.refusal(other.fresh()) == nil)
    }

    @Test func `the id says nothing of what was cut off: another record in place of the last event does`() {
        let cursor = cursor(of: node(1))
        let node = node(1)
        node.take(7, at: 5)
        #expect(node.refusal(cursor) == .epoch)
        // Where nothing of the account is held, nothing more is asked for.
        let other = self.node(1)
        other.take(8, account: Account("A2"))
        #expect(other.offsets(cursor) == [])
    }

    @Test func `the moment of a recreation says nothing against the id of the new topic, whatever the clocks`() {
        let node = node(2) { $0.notBefore = $0.known }
        let other = self.node(2)
        other.now -= 20_000
        #expect(node.refusal(other.fresh()) == nil)
    }

    @Test func `the cursors of a reset have the id of the new topic`() {
        let (node, other) = (node(1), node(1))
        node.history.reset(topic: 0, now: node.now)
        node.history.identify(topic: 0, 2)
        let fresh = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        #expect(Cursor(fresh)?.topicIDs != nil)
        other.now += 1_900
        other.history.reset(topic: 0, now: other.now)
        other.open(LogFacts(notBefore: other.now - 2_000, topicID: 2, endAsked: 2))
        #expect(other.refusal(fresh) == nil)
    }

    /// Without an id, recreated; with one, cut back, which keeps it.
    @Test(arguments: [nil, 1] as [UInt32?])
    func `a cursor of before is refused also while no log of the topic is open again`(id: UInt32?) {
        let node = node(id)
        let before = cursor(of: node)
        node.now += 1_000
        if let id { node.history.identify(topic: 0, id) }
        node.history.reset(topic: 0, now: node.now)
        let fresh = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        // Nobody can be asked: nothing but what is known speaks for it.
        #expect(node.refusal(before, ends: .unknown) == .epoch)
        #expect(node.refusal(fresh, ends: .unknown) == nil)
    }

    // MARK: - Compaction

    @Test(arguments: [
        // What stands at the offset of the account's last event, and whether the cursor is served.
        (ProbedRecord.none, true), (.unanswered, true),
        (.record(timestamp: 5, account: nil), true), (.record(timestamp: 5, account: TestHistory.account), true),
        (.record(timestamp: 6, account: TestHistory.account), false), (.record(timestamp: 6, account: nil), false),
        (.record(timestamp: 5, account: Account("A2")), false),
        (.record(timestamp: 5, account: Account("A2"), left: TestHistory.account), true),
        (.record(timestamp: 6, account: Account("A2"), left: TestHistory.account), false),
        (.record(timestamp: 5, account: Account("A2"), left: Account("A3")), false),
    ]) func `absence proves nothing, another record does`(record: ProbedRecord, isServed: Bool) {
        let issuer = node(nil)
        issuer.take(7, at: 5)
        let cursor = issuer.fresh()
        let node = node(nil)
        node.take(9, account: Account("A2"))
        #expect(node.doubt(cursor) == .record(TestHistory.first, 7))
        #expect(node.refusal(cursor, record: record) == (isServed ? nil : .epoch))
        if isServed { #expect(node.doubt(cursor, record: record) == nil) }
        // Nobody is refused because the broker cannot be asked.
        #expect(node.refusal(cursor, ends: .unknown) == nil)
        #expect(node.doubt(cursor, ends: .unknown) == nil)
    }

    @Test func `where the log does not reach back to the last event nothing has to be read`() {
        let issuer = node(nil)
        let cursor = cursor(of: issuer)
        issuer.take(20, account: Account("A2"))
        let moved = issuer.fresh()
        let node = node(nil) {
            ($0.start, $0.unread, $0.born) = (8, .init(stampedBefore: 1, arrivedBefore: 1), nil)
        }
        #expect(node.doubt(cursor) == nil)
        node.take(20, account: Account("A2"))
        #expect(node.offsets(moved) == [])
    }

    // MARK: - Beginnings

    @Test func `a position at the beginning of a log claims nothing`() {
        let node = node(nil) { ($0.born, $0.known) = (TestHistory().now + 100, TestHistory().now + 200) }
        node.now += 300
        let cursor = Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: node.now,
            positions: [.init(partition: TestHistory.first, offset: 0, known: node.now - 10_000)], fingerprint: nil)
        #expect(node.refusal(cursor.text.bytes) == nil)
        var later = cursor
        later.positions[0].offset = 1
        #expect(node.refusal(later.text.bytes) == .epoch)
    }

    @Test func `a partition that is added under load tells nobody epoch`() {
        // One node finds it empty, the other with its first record.
        let (early, late) = (node(nil), node(nil))
        early.open(TestHistory.second, LogFacts(endAsked: 1))
        early.now += 100
        early.take(0, in: TestHistory.second, at: early.now - 40)
        late.open(
            TestHistory.second,
            LogFacts(born: early.now - 40, known: early.now + 50, end: 1, endAsked: 1))
        late.now = early.now + 100
        late.take(0, in: TestHistory.second, at: early.now - 40)
        #expect(late.offsets(early.fresh()) == [])
        #expect(early.offsets(late.fresh()) == [])
    }

    @Test func `a partition that is added to a topic that was recreated long ago refuses nobody`() {
        let node = node(nil) { ($0.notBefore, $0.born) = (500, 1_000) }
        let cursor = cursor(of: node)
        node.now += TestHistory.hour
        node.open(TestHistory.second, LogFacts(notBefore: 500))
        #expect(node.offsets(cursor) == [])
        node.take(0, in: TestHistory.second, account: Account("A2"))
        #expect(node.offsets(cursor) == [])
    }

    @Test func `after a recreation was noticed a node serves the cursors that it gave then, and none from before`() {
        let node = node(nil)
        let old = node.fresh()
        node.now += 5_000
        node.history.reset(topic: 0, now: node.now)
        node.open(LogFacts(notBefore: node.now - 2_000, endAsked: 2))
        let fresh = node.fresh()
        #expect(node.refusal(old) == .epoch)
        #expect(node.refusal(fresh) == nil)
        // The first record of the new topic comes later.
        node.now += 3_000
        node.take(0)
        #expect(node.offsets(fresh) == [0])
        #expect(node.refusal(old) == .epoch)
    }

    @Test func `a topic that was recreated with records of long ago is no older than the one before`() {
        let node = node(nil)
        let old = node.fresh()
        node.now += 5_000
        node.history.reset(topic: 0, now: node.now)
        node.open(LogFacts(born: 1_000, notBefore: node.now - 5_000, known: node.now, end: 3, endAsked: 2))
        #expect(node.refusal(old) == .epoch)
        #expect(node.refusal(node.fresh()) == nil)
    }

    // MARK: - Empty topics

    @Test func `a cursor that says that its topic had records is of another one than a topic that is empty`() {
        let node = TestHistory()
        for partition in [TestHistory.first, TestHistory.second] {
            node.open(partition, LogFacts(end: 0, endAsked: 50))
        }
        func cursor(_ offset: Int64?, number: Int32 = 5, topicsKnown: Int64?) -> [UInt8] {
            let name = PartitionName(topic: 0, number: number)
            return Cursor(
                epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: node.now,
                readUntil: node.now, topicsKnown: topicsKnown,
                positions: offset.map { [.init(partition: name, offset: $0, known: node.now)] } ?? []
            ).text.bytes
        }
        // One that names nothing, one that names a partition which is no more, and one whose other topics had no record.
        let cursors = [
            cursor(nil, topicsKnown: node.now), cursor(3, topicsKnown: node.now), cursor(3, topicsKnown: nil),
            cursor(0, number: 0, topicsKnown: node.now),
        ]
        let ends = Doubt.ends(.init(partition: TestHistory.first, offset: 1))
        for cursor in cursors {
            #expect(node.doubt(cursor) == ends)
            // An end of before proves nothing, nor does silence.
            #expect(node.doubt(cursor, ends: .since(51)) == ends)
            #expect(node.refusal(cursor, ends: .since(50)) == .epoch)
            #expect(node.refusal(cursor, ends: .unknown) == nil)
        }
        // Nothing speaks against one from before the topic had a record.
        #expect(node.offsets(cursor(nil, topicsKnown: nil)) == [])
        #expect(node.offsets(cursor(0, number: 0, topicsKnown: nil)) == [])
        // Nor against any once there is a record, told or read.
        node.change(TestHistory.second) { $0.end = 1 }
        #expect(node.refusal(cursors[0], ends: .since(50)) == nil)
        node.change(TestHistory.second) { $0.end = 0 }
        node.history.skip(TestHistory.second, offset: 0, timestamp: -1, now: node.now)
        #expect(node.doubt(cursors[0]) == nil)
    }

    // MARK: - What is not read

    @Test func `after another topic was recreated a topic's logs are as complete as before`() {
        let other = PartitionName(topic: 1, number: 0)
        let node = node(nil, topics: 2)
        node.open(other, LogFacts(born: 1_000, known: node.now, end: 10))
        node.take(0)
        node.take(3, in: other)
        node.history.reset(topic: 1)
        node.open(other, LogFacts(born: node.now, notBefore: node.now - 10, known: node.now))
        let cursor = node.fresh()
        node.take(5)
        #expect(node.offsets(cursor) == [5])
        #expect(node.history.size.events == 2)
    }

    // MARK: - Nothing is known

    @Test func `before the cluster is known a cursor is undecided, and there is none to give`() {
        let history = History(limits: HistoryLimits())
        let cursor = cursor(of: node(nil))
        guard case .undecided(.epoch) = history.resume(cursor, account: TestHistory.account, now: 0) else {
            Issue.record("decided by nothing")
            return
        }
        #expect(history.freshCursor(account: TestHistory.account, now: 0) == .none)
        history.begin(Epoch(number: 8))
        guard case .refused(.epoch) = history.resume(cursor, account: TestHistory.account, now: 0) else {
            Issue.record("a cursor of another cluster")
            return
        }
    }

    @Test func `a record of a partition of which nothing is known is read, and nothing before it counts as read`() {
        let node = TestHistory()
        let early = node.fresh()
        node.now += 1
        #expect(
            node.history.append(
                TestHistory.event("5"), account: TestHistory.account, partition: TestHistory.first, offset: 5,
                timestamp: 1, now: node.now) == 1)
        #expect(node.refusal(early) == .expired)
        node.open(LogFacts(known: node.now, end: 6))
        #expect(node.offsets(early) == [5])
    }

    @Test(arguments: [nil, 7] as [UInt32?])
    func `whoever holds a position that was ahead of what was read is refused`(_ id: UInt32?) {
        let node = TestHistory()
        node.open(LogFacts(born: 1_000, known: node.now, topicID: id, end: 8, endAsked: 1))
        for offset in 0..<3 as Range<Int64> { node.take(offset) }
        node.change { $0.next = 8 }
        let ahead = node.fresh()
        #expect(Cursor(ahead)?.positions.map(\.offset) == [8])
        // A record comes at 5 that nobody was given.
        node.now += 1_000
        node.history.lose([TestHistory.first])
        var facts = LogFacts(
            start: 5, unread: .init(arrivedBefore: node.now), born: 1_000, notBefore: node.now + 1,
            known: node.now - 1_000,
            topicID: id, end: 8, endAsked: 1)
        facts.wholeAfter = node.now + 1
        node.open(facts)
        node.take(5)
        #expect(node.refusal(ahead) == .epoch)
        // What is issued once the log was proved again is good.
        node.now += 1_000
        node.change { $0.known = node.now }
        let fresh = node.fresh()
        node.take(6)
        #expect(node.offsets(fresh) == [6])
    }
}
