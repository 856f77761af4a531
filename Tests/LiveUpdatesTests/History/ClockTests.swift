// Tests: History+Reading.swift, PartitionTable.swift

import Testing

@testable import LiveUpdates

/// A clock that was ahead for a while: what was learned by it claims nothing once it is right again.
struct ClockTests {
    private static let year = 365 * TestHistory.day

    /// Both read two partitions in which the account has nothing yet; the clock of the first is a year ahead.
    private func nodes() -> (ahead: TestHistory, right: TestHistory) {
        let (ahead, right) = (TestHistory(), TestHistory { $0.maximumEventsPerAccount = 1 })
        ahead.now += Self.year
        for node in [ahead, right] {
            node.openWhole()
            node.openWhole(TestHistory.second)
        }
        return (ahead, right)
    }

    private func setBack(_ node: TestHistory) {
        node.now -= Self.year
        node.history.clockShows(node.now)
    }

    @Test func `its cursors are refused by who has the right time`() {
        let (ahead, right) = nodes()
        #expect(right.refusal(ahead.fresh()) == .ahead)
    }

    @Test func `what came between its last question and now is not claimed as read`() throws {
        let (ahead, right) = nodes()
        ahead.refresh()
        setBack(ahead)
        // Its brokers cannot be asked, and these do not reach it.
        let cursor = ahead.history.freshCursor(account: TestHistory.account, now: ahead.now).bytes
        #expect(try #require(Cursor(cursor)).readUntil == .min)
        for node in [ahead, right] { node.now += 1_000 }
        for offset in 0..<2 { right.take(Int64(offset), in: TestHistory.second) }
        #expect(right.refusal(cursor) == .expired)
    }

    @Test func `it claims again what it has asked since, and moments before that were never wrong`() throws {
        let (ahead, _) = nodes()
        ahead.refresh()
        setBack(ahead)
        ahead.change { $0.endMoment = ahead.now }
        #expect(ahead.history.readUntil() == .min)
        ahead.refresh()
        #expect(ahead.history.readUntil() == ahead.now)
        // Slewed, by less than clocks differ.
        ahead.now -= 60_000
        ahead.history.clockShows(ahead.now)
        #expect(ahead.history.readUntil() == ahead.now + 60_000)
    }

    @Test func `a partition that was found meanwhile is not claimed as read either`() {
        let (ahead, _) = nodes()
        ahead.refresh()
        ahead.history.find(PartitionName(topic: 0, number: 2))
        setBack(ahead)
        ahead.refresh()
        #expect(ahead.history.readUntil() == .min)
    }

    @Test func `what was noted by a clock that was behind is taken for as young as it may be`() {
        let (behind, right) = (TestHistory { $0.maximumEventsPerAccount = 1 }, TestHistory())
        behind.now -= Self.year
        for node in [behind, right] {
            node.openWhole()
            node.openWhole(TestHistory.second)
        }
        let cursor = right.fresh()
        for offset in 0..<2 { behind.take(Int64(offset), in: TestHistory.second) }
        behind.now += Self.year
        behind.history.clockWasSet(forward: Self.year)
        #expect(behind.refusal(cursor) == .expired)
        // Its own, of now, names what the account has.
        behind.change(TestHistory.second) { $0.known = behind.now }
        #expect(behind.offsets(behind.fresh()) == [])
    }

    @Test func `a log that was found to begin later by a clock that was behind refuses who may lack its beginning`() {
        let behind = TestHistory()
        behind.now -= Self.year
        let unread = LogFacts.Unread(stampedBefore: nil, arrivedBefore: behind.now)
        behind.open(LogFacts(start: 50, unread: unread, known: behind.now, end: 50, endAsked: 1))
        behind.now += Self.year
        let right = TestHistory()
        right.openWhole()
        let cursor = right.fresh(Account("A2"))
        #expect(behind.refusal(cursor, account: Account("A2")) == nil)
        behind.history.clockWasSet(forward: Self.year)
        #expect(behind.refusal(cursor, account: Account("A2")) == .expired)
    }

    @Test func `what proved a log to be the one that is read is not of a moment to come`() {
        let (ahead, _) = nodes()
        ahead.take(0)
        #expect(ahead.history.partitions.facts[0].known == ahead.now)
        setBack(ahead)
        #expect(ahead.history.partitions.facts[0].known == nil)
        ahead.change { $0.known = ahead.now }
        #expect(ahead.history.partitions.facts[0].known == ahead.now)
    }
}
