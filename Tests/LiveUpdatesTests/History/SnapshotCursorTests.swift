// Tests: History+Snapshots.swift

import KafkaLogs
import Testing

@testable import LiveUpdates

/// Cursors of positions that a store had, when its page was read.
struct SnapshotCursorTests {
    private static let (first, second) = (TestHistory.first, TestHistory.second)
    private static let other = Account("A2")

    /// What is given after the cursor of these positions, by offset; else why there is none.
    private static func given(
        _ node: TestHistory, _ stored: [PartitionName: Int64], account: Account = TestHistory.account,
        gone: Set<PartitionName> = []
    ) -> String {
        node.refresh()
        node.history.beginWake()
        let log = KnownLog(known: node.now)
        var positions = stored.map { PartitionPosition(partition: $0.key, next: $0.value, log: log) }
        positions += gone.map { PartitionPosition(partition: $0, next: 0, log: KnownLog()) }
        let made = node.history.snapshotCursor(account: account, positions: positions, now: node.now)
        switch made {
        case .cursor(let text):
            let events = node.replay(text.bytes, account: account)
            return events?.map { "\($0.partition.number):\($0.offset)" }.joined(separator: " ") ?? "not served"
        case .behind(let floor): return "behind \(floor.partition.number):\(floor.offset)"
        case .refused(let why): return "\(why)"
        }
    }

    /// Two partitions, read to 6 and 3: the account's events stand at 0, 2 and 4, and at 1.
    private static func node(_ change: (inout HistoryLimits) -> Void = { _ in }) -> TestHistory {
        let node = TestHistory(change)
        for partition in [first, second] { node.openWhole(partition) }
        for offset in 0..<6 { node.take(Int64(offset), account: offset % 2 == 0 ? TestHistory.account : other) }
        for offset in 0..<3 {
            node.take(Int64(offset), in: second, account: offset == 1 ? TestHistory.account : other)
        }
        return node
    }

    @Test(
        arguments: [
            // The store is as far as the node, behind it in one partition or in both, or has nothing.
            ([6, 3], ""), ([5, 3], ""), ([4, 3], "0:4"), ([3, 3], "0:4"), ([6, 1], "1:1"), ([2, 2], "0:2 0:4"),
            ([0, 0], "0:0 0:2 0:4 1:1"), ([6], "1:1"), ([], "0:0 0:2 0:4 1:1"),
            // It is ahead: another node writes it.
            ([7, 3], "behind 0:7"), ([0, 4], "behind 1:4"),
            // A partition that is not known here.
            ([6, 3, 1], "behind 2:1"),
        ] as [([Int64], String)])
    func `exactly what a snapshot does not hold is given`(stored: [Int64], given: String) {
        var positions: [PartitionName: Int64] = [:]
        for (number, next) in stored.enumerated() {
            positions[PartitionName(topic: 0, number: Int32(number))] = next
        }
        #expect(Self.given(Self.node(), positions) == given)
    }

    @Test(
        arguments: [
            // The topic was recreated and has grown past what is stored of the log before.
            (KnownLog(topicID: 8, known: .max), false, false), (KnownLog(topicID: 7, known: 1), true, false),
            // Known since it was cut back, and not.
            (KnownLog(topicID: 7, known: 99), true, false), (KnownLog(topicID: 7, known: 100), true, true),
            // Without ids.
            (KnownLog(first: 6, known: .max), false, false), (KnownLog(first: 5), true, true),
            (KnownLog(known: 4), false, false), (KnownLog(known: 5), true, true), (KnownLog(), false, false),
            (nil, false, false),
        ] as [(KnownLog?, Bool, Bool)])
    func `a position of another log gives no cursor, however far this one is read`(
        log: KnownLog?, isServed: Bool, isServedOfACutLog: Bool
    ) {
        for isCut in [false, true] {
            let node = Self.node()
            for partition in [Self.first, Self.second] {
                node.change(partition) { facts in
                    (facts.topicID, facts.firstStamp, facts.born) = (log?.topicID == nil ? nil : 7, 5, 5)
                    if isCut { facts.wholeAfter = 100 }
                }
            }
            node.refresh()
            let made = node.history.snapshotCursor(
                account: TestHistory.account,
                positions: [
                    PartitionPosition(partition: Self.first, next: 4, log: log),
                    // Nothing is stored of it: no log is meant.
                    PartitionPosition(partition: Self.second, next: 0),
                ], now: node.now)
            if isCut ? isServedOfACutLog : isServed, case .cursor(let text) = made {
                #expect(node.replay(text.bytes)?.map { "\($0.partition.number):\($0.offset)" } == ["0:4", "1:1"])
            } else {
                #expect(made == .refused(.epoch) && !(isCut ? isServedOfACutLog : isServed))
            }
        }
    }

    @Test func `an account of which nothing is held gets what comes`() {
        let node = Self.node()
        let none = Account("A3")
        node.refresh()
        let positions = [Self.first, Self.second].map {
            PartitionPosition(partition: $0, next: 1, log: KnownLog(known: node.now))
        }
        guard case .cursor(let text) = node.history.snapshotCursor(account: none, positions: positions, now: node.now)
        else {
            Issue.record("no cursor")
            return
        }
        node.take(6, account: none)
        #expect(node.offsets(text.bytes, account: none) == [6])
    }

    @Test func `a store that is older than the log is refused, in each partition by itself`() {
        // Full with two events: 0 has gone.
        let full = Self.node { $0.maximumEventsPerAccount = 3 }
        #expect(Self.given(full, [Self.first: 0, Self.second: 0]) == "expired")
        #expect(Self.given(full, [Self.first: 1, Self.second: 0]) == "0:2 0:4 1:1")
        // Nobody remembers the account, and what was let go of it stood behind the snapshot.
        let quiet = Self.node()
        quiet.now += 2 * TestHistory.day
        quiet.history.sweep(now: quiet.now)
        #expect(quiet.history.size.events == 0)
        for partition in [Self.first, Self.second] { quiet.change(partition) { $0.known = quiet.now } }
        #expect(Self.given(quiet, [Self.first: 4, Self.second: 3]) == "expired")
        #expect(Self.given(quiet, [Self.first: 6, Self.second: 2]) == "expired")
        #expect(Self.given(quiet, [Self.first: 6, Self.second: 3]) == "")
        // Nothing before its start was read.
        let late = TestHistory()
        late.open(LogFacts(start: 50, unread: .init(arrivedBefore: late.now), known: late.now, end: 50))
        #expect(Self.given(late, [Self.first: 49]) == "expired")
        #expect(Self.given(late, [:]) == "expired")
        #expect(Self.given(late, [Self.first: 50]) == "")
    }

    @Test func `what was let go before the snapshot is not waited for, also where nobody remembers whose it was`() {
        let node = TestHistory { $0.maximumEventsPerAccount = 2 }
        for partition in [Self.first, Self.second] { node.openWhole(partition) }
        node.take(0, in: Self.second, at: node.now - 1)
        for offset in 0..<2 { node.take(Int64(offset)) }
        // All that is held of the account is lost.
        node.history.lose([Self.first])
        node.open(LogFacts(start: 3, unread: .init(arrivedBefore: node.now), known: node.now, end: 4))
        node.take(3)
        #expect(Self.given(node, [Self.first: 4, Self.second: 1]) == "")
        #expect(Self.given(node, [Self.first: 3, Self.second: 1]) == "0:3")
        #expect(Self.given(node, [Self.first: 4, Self.second: 0]) == "expired")
    }

    @Test func `a snapshot from before an erasure is refused until it holds all that was erased`() {
        let node = Self.node()
        let moment = node.now + 1
        #expect(node.history.erase(TestHistory.account, until: moment, rememberedUntil: .max, now: moment) == 4)
        #expect(Self.given(node, [Self.first: 4, Self.second: 3]) == "expired")
        #expect(Self.given(node, [Self.first: 5, Self.second: 1]) == "expired")
        #expect(Self.given(node, [Self.first: 5, Self.second: 2]) == "")
        // Others are not concerned.
        #expect(Self.given(node, [Self.first: 4, Self.second: 3], account: Self.other) == "0:5")
    }

    @Test func `before the cluster is known there is no cursor`() {
        let history = History(limits: HistoryLimits())
        let made = history.snapshotCursor(account: TestHistory.account, positions: [], now: 0)
        #expect(made == .refused(.epoch))
    }

    @Test func `a partition that is stored as gone is passed over, and one that is not open yet is not`() {
        let node = Self.node()
        let gone = PartitionName(topic: 0, number: 9)
        let stored = [Self.first: Int64(6), Self.second: 3]
        #expect(Self.given(node, stored.merging([gone: 40]) { $1 }) == "behind 9:40")
        // Nothing of it was stored, and it is known which log it was: no gap tells of what that held.
        #expect(Self.given(node, stored.merging([gone: 0]) { $1 }) == "behind 9:0")
        #expect(Self.given(node, stored, gone: [gone]) == "")
        node.history.find(gone, exists: true)
        #expect(Self.given(node, stored, gone: [gone]) == "behind 9:0")
    }

    @Test func `of a log of which nothing was stored before its topic was another one, no gap tells yet`() {
        let node = Self.node()
        node.change(Self.second) { $0.topicID = 7 }
        node.refresh()
        for (id, isServed) in [(UInt32(7), true), (8, false)] {
            let made = node.history.snapshotCursor(
                account: TestHistory.account,
                positions: [PartitionPosition(partition: Self.second, next: 0, log: KnownLog(topicID: id))],
                now: node.now)
            #expect((made == .refused(.epoch)) == !isServed)
        }
    }

    @Test func `the newest event that a snapshot holds tells another log from this one`() throws {
        let node = Self.node()
        node.refresh()
        let log = KnownLog(known: node.now)
        let positions = [
            PartitionPosition(partition: Self.first, next: 4, log: log),
            .init(partition: Self.second, next: 1, log: log),
        ]
        let made = node.history.snapshotCursor(account: TestHistory.account, positions: positions, now: node.now)
        guard case .cursor(let text) = made, let cursor = Cursor(text.bytes) else {
            Issue.record("no cursor")
            return
        }
        let mark = Cursor.Fingerprint(partition: Self.first, offset: 2, timestamp: node.now)
        #expect(cursor.fingerprint == mark && cursor.positions.map(\.offset) == [4, 1])
    }
}
