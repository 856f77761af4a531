import Testing

@testable import LiveUpdates

/// What an event's age counts from: when it arrived, not the time stamp that its producer gave it.
struct ArrivalTests {
    static let stamps: [Int64] = [.max, .max - 1, 1 << 62, .min, .min + 1, -2, -1, 0, 1]

    @Test(arguments: stamps, stamps) func `no time stamp traps, whatever follows it`(first: Int64, second: Int64) throws
    {
        for isLive in [true, false] {
            let node = TestHistory { $0.maximumEventsPerAccount = 3 }
            node.open(LogFacts(liveFrom: isLive ? 0 : 100))
            node.openWhole(TestHistory.second)
            let cursor = node.fresh()
            node.take(0, at: first)
            node.take(1, at: second)
            node.take(0, in: TestHistory.second, at: first)
            // What was loaded with a time stamp of 1970 is older than the window.
            let isOld = !isLive && first >= 0 && first <= 1
            let expected = isOld ? nil : [first, second, first]
            let replay = try #require(node.replay(cursor))
            #expect(expected == nil || replay.map(\.timestamp) == expected)
            #expect(node.offsets(node.fresh()) == [])
            node.take(1, in: TestHistory.second, at: second)
            node.now += TestHistory.day + 1
            node.history.sweep(now: node.now)
            #expect(node.history.size.events == 0)
        }
    }

    @Test(arguments: stamps) func `a bad time stamp of a log's first record makes no cursor one of another log`(
        stamp: Int64
    ) {
        let node = TestHistory()
        node.openWhole()
        node.take(0, at: stamp)
        let cursor = node.fresh()
        let other = TestHistory()
        other.now = node.now + 5_000
        other.openWhole()
        other.take(0, at: stamp)
        #expect(other.offsets(cursor) == [])
    }

    @Test func `a late record in a partition that the cursor does not name is served`() {
        let node = TestHistory {
            $0.retentionMilliseconds = 60_000
            $0.maximumTimestampDelayMilliseconds = 30_000
        }
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        let cursor = node.fresh()
        node.now += 1_000
        node.take(0, in: TestHistory.second, at: node.now - TestHistory.hour)
        node.history.sweep(now: node.now)
        #expect(node.offsets(cursor) == [0])
        // It goes when it has been held for as long as any other.
        node.now += 60_000
        node.history.sweep(now: node.now)
        #expect(node.offsets(cursor) == [0])
        node.history.sweep(now: node.now + 1)
        #expect(node.refusal(cursor) == .expired)
    }

    @Test func `what was loaded arrived with the highest time stamp before it, and never in the future`() {
        let node = TestHistory()
        node.open(LogFacts(liveFrom: 3))
        let start = node.now - TestHistory.hour
        node.take(0, at: start)
        node.take(1, at: start - 10 * TestHistory.hour)
        node.take(2, at: node.now + TestHistory.day)
        node.take(3, at: start)
        let part = node.history.logs[TestHistory.account]?.parts.first
        var arrivals: [Int64] = []
        if let part {
            var walk = PartitionLog.Walk(part)
            while let entry = walk.next() { arrivals.append(entry.mark.arrival) }
        }
        #expect(arrivals == [start, start, node.now, node.now])
    }

    /// By how much; less than the delay is covered by it.
    @Test(arguments: [TestHistory.hour / 2, 2 * TestHistory.hour, TestHistory.day, 30 * TestHistory.day])
    func `what comes after the clock was set back did not come before`(_ back: Int64) {
        let node = TestHistory { $0.maximumEventsPerAccount = 1 }
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        let cursor = node.fresh()
        node.now -= back
        node.take(0, in: TestHistory.second)
        node.take(1, in: TestHistory.second)
        // Whoever comes back when the clock shows the same time again lacks the first of them.
        node.now += back
        #expect(node.refusal(cursor) == .expired)
    }

    @Test func `a clock that was ahead for a while lets nothing go too early, and everything in time`() {
        let node = TestHistory()
        node.openWhole()
        let born = node.now
        node.now += 10 * TestHistory.day
        node.take(0, at: born)
        node.now -= 10 * TestHistory.day
        node.take(1)
        node.history.sweep(now: node.now)
        let cursor = node.fresh()
        node.take(2)
        #expect(node.offsets(cursor) == [2] && node.history.size.events == 3)
        node.now += 11 * TestHistory.day + 1
        node.history.sweep(now: node.now)
        #expect(node.history.size.events == 0 && node.refusal(cursor) == .expired)
    }

    @Test(arguments: [10, 1_000]) func `letting go keeps up with any rate, and no account inside the window gives way`(
        accounts: Int
    ) {
        let node = TestHistory {
            $0.retentionMilliseconds = 1_000
            $0.maximumTimestampDelayMilliseconds = 500
        }
        node.openWhole()
        let quiet = Account("quiet")
        var most = 0
        // 20,000 events a second for three windows.
        for turn in 0..<60_000 {
            if turn % 20 == 0 { node.now += 1 }
            let isQuiet = turn == 45_000
            node.history.append(
                TestHistory.event("\(turn)"), account: isQuiet ? quiet : Account("\(turn % accounts)-\(turn / 9_000)"),
                partition: TestHistory.first, offset: Int64(turn), timestamp: node.now, now: node.now)
            most = max(most, node.history.size.events)
        }
        #expect(most <= 20_000 + 20 + 2)
        #expect(node.history.logs[quiet]?.count == 1)
        // While nothing comes, sweeps do it.
        node.now += 1_001
        for _ in 0..<20_000 / History.maximumSwept + 1 { node.history.sweep(now: node.now) }
        #expect(node.history.size == HistorySize())
    }

    @Test func `what is too old goes in time, when something younger stood before it`() {
        let node = TestHistory {
            $0.retentionMilliseconds = 60_000
            $0.maximumTimestampDelayMilliseconds = 30_000
            $0.maximumEventsPerAccount = 2
        }
        node.open(LogFacts(liveFrom: 2))
        node.openWhole(TestHistory.second)
        // Loaded: the first has no stamp and counts from now, the second is 10 s short of the window's end.
        node.take(0, at: -1)
        node.take(1, at: node.now - 50_000)
        // The first goes: the log is full.
        node.take(0, in: TestHistory.second, at: node.now + 1)
        node.now += 10_001
        node.history.sweep(now: node.now)
        #expect(node.history.size.events == 1)
        let held = node.history.logs[TestHistory.account]?.parts.filter { $0.count > 0 }.map(\.partition)
        #expect(held == [TestHistory.second])
    }

    @Test func `one record lets go a bounded number of events, however many are due`() {
        let node = TestHistory { $0.maximumEventsPerAccount = 10_000 }
        node.openWhole()
        for offset in 0..<5_000 { node.take(Int64(offset)) }
        node.now += 2 * TestHistory.day
        node.take(5_000)
        #expect(node.history.size.events == 4_999)
        node.history.sweep(now: node.now)
        #expect(node.history.size.events == 4_999 - History.maximumSwept)
    }
}
