// Tests: History+Resuming.swift, History.swift, PartitionTable.swift, Resumption.swift, StreamPosition.swift

import Testing

@testable import LiveUpdates

/// The rules by which a cursor is served or refused (DESIGN, "Cursor, epoch, log"), both sides of each boundary.
struct ResumeRuleTests {
    let node = TestHistory { $0.maximumEventsPerAccount = 5 }

    /// A cursor as another node with the same epoch would have made it.
    func foreign(
        _ positions: [(PartitionName, Int64)], issue: Int64? = nil, known: Int64? = nil, epoch: UInt32 = 7,
        account: Account = TestHistory.account, topicsKnown: Int64? = nil, fingerprint: Cursor.Fingerprint? = nil
    ) -> [UInt8] {
        Cursor(
            epoch: Epoch(number: epoch), accountCheck: Cursor.check(of: account), issue: issue ?? node.now,
            topicsKnown: topicsKnown,
            positions: positions.map { Cursor.Position(partition: $0.0, offset: $0.1, known: known ?? node.now) },
            fingerprint: fingerprint
        ).text.bytes
    }

    // MARK: - (a) and (b): named partitions

    @Test func `a quiet account's cursor moves on with what is read for others`() {
        node.openWhole()
        node.take(0)
        for offset in 1...20 { node.take(Int64(offset), account: Account("A2")) }
        node.history.skip(TestHistory.first, offset: 29, timestamp: -1, now: node.now)
        let cursor = Cursor(node.fresh())
        #expect(cursor?.positions.map(\.offset) == [30])
        #expect(node.offsets(node.fresh()) == [])
    }

    @Test func `a node that began to read at the position serves it, one that began behind it refuses`() {
        node.open(
            LogFacts(
                start: 100, unread: .init(stampedBefore: node.now - TestHistory.day, arrivedBefore: node.now),
                known: node.now))
        node.take(105)
        #expect(node.offsets(foreign([(TestHistory.first, 100)])) == [105])
        #expect(node.refusal(foreign([(TestHistory.first, 99)])) == .expired)
    }

    @Test func `what was let go of a forgotten account refuses whoever may have needed it`() {
        let small = TestHistory { $0.maximumLogBytes = 1_000 }
        small.openWhole()
        small.change(TestHistory.first) { ($0.end, $0.endAsked) = (100, 1) }
        let early = small.fresh(Account("B0"))
        for offset in 0..<20 { small.take(Int64(offset), account: Account("B\(offset)")) }
        #expect(small.history.size.bytes <= 1_000)
        #expect(small.refusal(early, account: Account("B0")) == .expired)
        #expect(
            small.refusal(foreign([(TestHistory.first, 3)], account: Account("B2")), account: Account("B2")) == .expired
        )
        // The last ones are still there.
        #expect(
            small.offsets(foreign([(TestHistory.first, 19)], account: Account("B19")), account: Account("B19")) == [19])
    }

    // MARK: - (c): partitions that are not named

    @Test func `all that is held of a partition that the cursor does not name is served`() {
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        let cursor = node.fresh()
        node.now += 10
        node.take(0, in: TestHistory.second)
        node.take(1, in: TestHistory.second)
        #expect(node.offsets(cursor) == [0, 1])
    }

    @Test(arguments: [true, false]) func `what was let go there is compared by its arrival and the delay`(isLive: Bool)
    {
        node.openWhole()
        node.open(TestHistory.second, LogFacts(liveFrom: isLive ? 0 : 10))
        let stamp = node.now - TestHistory.hour
        for offset in 0...5 { node.take(Int64(offset), in: TestHistory.second, at: stamp) }
        // The first of them is gone. A cursor from after its delay has had it; one from within may not have.
        let arrival = isLive ? node.now : stamp
        node.now += 3 * TestHistory.hour
        #expect(node.offsets(foreign([], issue: arrival + TestHistory.hour + 1)) == [1, 2, 3, 4, 5])
        #expect(node.refusal(foreign([], issue: arrival + TestHistory.hour)) == .expired)
    }

    @Test func `a window that began within the margin before the issue may have missed something`() {
        let began = node.now - TestHistory.hour
        let unread = LogFacts.Unread(stampedBefore: began, arrivedBefore: node.now + 5)
        node.open(LogFacts(start: 100, unread: unread, known: node.now))
        #expect(node.offsets(foreign([], issue: node.now)) == [])
        #expect(node.refusal(foreign([], issue: node.now - 1)) == .expired)
    }

    @Test func `a log that is read from its beginning has missed nothing`() {
        node.openWhole()
        node.take(0)
        #expect(node.offsets(foreign([], issue: 1)) == [0])
    }

    // MARK: - (d): nodes behind and beyond

    @Test func `a node that is behind leaves out what the other one gave`() throws {
        node.openWhole()
        node.take(0)
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (10, 1) }
        guard case .accepted(let position, let floors) = node.resume(foreign([(TestHistory.first, 5)])) else {
            Issue.record("a node that lags does not refuse")
            return
        }
        #expect(floors == [PartitionFloor(partition: TestHistory.first, offset: 5)])
        for offset in 1...6 { node.take(Int64(offset)) }
        guard
            case .page(let events, let rest, true) = node.history.read(
                account: TestHistory.account, from: position, limit: 9, entities: nil, now: node.now, withCursors: false
            )
        else {
            Issue.record("what is held is given")
            return
        }
        #expect(events.map(\.offset) == [5, 6])
        #expect(rest.floors.isEmpty)
    }

    @Test func `only what lies beyond the broker's end is ahead, and only after a fresh look`() {
        node.openWhole()
        node.take(0)
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (10, 1) }
        let beyond = foreign([(TestHistory.first, 11)])
        guard case .undecided = node.resume(beyond) else {
            Issue.record("the end may have moved since the last look")
            return
        }
        #expect(node.refusal(beyond, ends: .since(1)) == .ahead)
        guard case .undecided = node.resume(beyond, ends: .since(2)) else {
            Issue.record("its leader was not heard since")
            return
        }
        #expect(node.refusal(beyond, ends: .unknown) == nil)
        #expect(node.offsets(foreign([(TestHistory.first, 10)])) == [])
        let unknown = foreign([(PartitionName(topic: 0, number: 9), 1)])
        guard case .undecided = node.resume(unknown) else {
            Issue.record("the partition may be new")
            return
        }
        #expect(
            node.doubt(unknown, ends: .since(1))
                == .ends(PartitionFloor(partition: PartitionName(topic: 0, number: 9), offset: 1)))
        #expect(node.refusal(unknown, ends: .unknown) == nil)
    }

    @Test func `a cursor from more than a minute in the future is ahead`() {
        node.openWhole()
        #expect(node.offsets(foreign([], issue: node.now + 60_000)) == [])
        #expect(node.refusal(foreign([], issue: node.now + 60_001)) == .ahead)
    }

    // MARK: - (e): topics recreated

    @Test func `a cursor whose node knew the log only before it was born is of another one`() {
        let born = node.now
        node.open(LogFacts(born: born, known: born + 5))
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (100, 1) }
        node.now += 10_000
        #expect(node.offsets(foreign([(TestHistory.first, 50)], known: born)) == [])
        #expect(node.refusal(foreign([(TestHistory.first, 50)], known: born - 1)) == .epoch)
    }

    @Test func `a log found recreated is none that was known before`() {
        let noticed = node.now
        node.open(LogFacts(born: noticed - 5_000, notBefore: noticed - 8_000, known: noticed))
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (100, 1) }
        #expect(node.refusal(foreign([(TestHistory.first, 9)], known: noticed - 5_001)) == .epoch)
        let late = TestHistory()
        late.open(LogFacts(born: noticed - 9_000, notBefore: noticed - 8_000, known: noticed))
        late.change { ($0.end, $0.endAsked) = (100, 1) }
        #expect(late.refusal(foreign([(TestHistory.first, 9)], known: noticed - 8_001)) == .epoch)
        #expect(late.refusal(foreign([(TestHistory.first, 9)], known: noticed - 8_000)) == nil)
    }

    @Test func `a cursor from before the first record of a topic that was recreated is refused by whoever noticed`() {
        let noticed = node.now
        node.open(LogFacts(born: noticed - 3_000, notBefore: noticed - 8_000, known: noticed))
        #expect(node.refusal(foreign([], issue: noticed - 3_001)) == .epoch)
        #expect(node.refusal(foreign([], issue: noticed - 3_000)) == nil)
        // Of a topic that was not seen being recreated, its first record proves nothing against a cursor that names nothing.
        let other = TestHistory()
        other.open(LogFacts(born: noticed - 3_000, known: noticed))
        #expect(other.refusal(foreign([], issue: noticed - 3_001)) == nil)
    }

    @Test func `the account's last event must be the one that it was`() {
        node.openWhole()
        for offset in 0..<3 { node.take(Int64(offset)) }
        func marked(_ offset: Int64, _ timestamp: Int64) -> [UInt8] {
            foreign(
                [(TestHistory.first, 3)],
                fingerprint: Cursor.Fingerprint(
                    partition: TestHistory.first, offset: offset, timestamp: timestamp))
        }
        #expect(node.offsets(marked(2, node.now)) == [])
        #expect(node.refusal(marked(2, node.now + 1)) == .epoch)
        node.history.skip(TestHistory.first, offset: 9, timestamp: -1, now: node.now)
        #expect(node.refusal(marked(1, node.now - 1)) == .epoch)
        // Where the log no longer reaches back to it, nothing can be said.
        for offset in 10..<15 { node.take(Int64(offset)) }
        let old = foreign(
            [(TestHistory.first, 12)],
            fingerprint: Cursor.Fingerprint(partition: TestHistory.first, offset: 2, timestamp: 1))
        #expect(node.offsets(old) == [12, 13, 14])
    }

    @Test func `an account without events notices that the topic was recreated`() {
        let other = TestHistory()
        other.openWhole()
        other.take(0, account: Account("A2"))
        let cursor = other.fresh()
        node.now += 1_000
        node.open(LogFacts(born: node.now, known: node.now))
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (10, 1) }
        #expect(node.refusal(cursor) == .epoch)
        // A partition that was added to the same topic proves nothing.
        let same = TestHistory()
        same.openWhole(born: other.now)
        same.change(TestHistory.first) { ($0.end, $0.endAsked) = (1, 1) }
        same.open(TestHistory.second, LogFacts(born: node.now, known: node.now))
        #expect(same.offsets(cursor) == [])
    }

    @Test
    func `a cursor that names nothing is of another topic if its node knew all only before this one had a record`() {
        let start = node.now - 5_000
        node.open(LogFacts(born: start, known: node.now, end: 10))
        #expect(node.refusal(foreign([], topicsKnown: start - 1)) == .epoch)
        #expect(node.offsets(foreign([], topicsKnown: start)) == [])
        #expect(node.offsets(foreign([], topicsKnown: start + 1)) == [])
        // A cursor may be of a node to which a topic said nothing yet.
        #expect(node.offsets(foreign([], topicsKnown: nil)) == [])
        // A partition whose first record is not known may be as old as any.
        node.open(TestHistory.second, LogFacts(known: node.now, end: 10))
        #expect(node.offsets(foreign([], topicsKnown: start - 1)) == [])
    }

    @Test func `of the partitions of a topic the one that was there first decides`() {
        let start = node.now - 5_000
        node.open(TestHistory.second, LogFacts(born: start + 500, known: node.now))
        node.open(LogFacts(born: start, known: node.now))
        node.change(TestHistory.first) { ($0.end, $0.endAsked) = (10, 1) }
        #expect(node.refusal(foreign([], topicsKnown: start - 1)) == .epoch)
        #expect(node.offsets(foreign([], topicsKnown: start)) == [])
        // Each topic has to have been known.
        node.open(PartitionName(topic: 1, number: 0), LogFacts(born: start + 200, known: node.now))
        node.change(PartitionName(topic: 1, number: 0)) { ($0.end, $0.endAsked) = (1, 1) }
        #expect(node.refusal(foreign([], topicsKnown: start + 199)) == .epoch)
        #expect(node.offsets(foreign([], topicsKnown: start + 200)) == [])
    }

    @Test func `two nodes that began on an empty topic agree on it`() {
        let early = TestHistory()
        early.openWhole()
        let quiet = early.fresh()
        node.now += 10_000
        node.openWhole()
        #expect(node.offsets(quiet) == [])
        early.now = node.now + 1_000
        early.take(0, account: Account("A2"))
        let later = early.fresh()
        node.now = early.now + 5
        node.take(0, account: Account("A2"), at: early.now)
        #expect(node.offsets(later) == [])
        #expect(node.offsets(quiet) == [])
    }

    // MARK: - The epoch

    @Test func `a cursor of another epoch is refused though all else of it fits`() {
        node.openWhole()
        for offset in 0..<3 { node.take(Int64(offset)) }
        #expect(node.refusal(foreign([(TestHistory.first, 2)])) == nil)
        #expect(node.refusal(foreign([(TestHistory.first, 2)], epoch: 8)) == .epoch)
    }

    // MARK: - The order of the answers

    @Test func `of several reasons the first is given`() {
        node.open(
            LogFacts(start: 50, unread: .init(arrivedBefore: node.now), notBefore: node.now, known: node.now))
        let future = node.now + 3_600_000
        let other = Account("A2")
        #expect(node.refusal(foreign([(TestHistory.first, 1)], known: 1, epoch: 8, account: other)) == .invalid)
        #expect(node.refusal(foreign([(TestHistory.first, 1)], issue: future, epoch: 8)) == .epoch)
        #expect(node.refusal(foreign([(TestHistory.first, 1)], issue: future, known: 1)) == .epoch)
        #expect(node.refusal(foreign([(TestHistory.first, 1)], issue: future, known: future)) == .expired)
        #expect(node.refusal(foreign([(TestHistory.first, 50)], issue: future, known: future)) == .ahead)
        #expect(node.refusal([]) == .invalid)
    }
}
