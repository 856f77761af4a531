// Tests: AccountOrder.swift, History+Reading.swift, HistoryLimits.swift, PartitionLog+Walk.swift, PartitionLog.swift,
//   Vocabulary.swift

import Testing

@testable import LiveUpdates

/// What a node keeps of an account, at each of its limits.
struct AccountLogTests {
    @Test func `events come back as they were taken`() throws {
        let node = TestHistory()
        node.openWhole()
        let cursor = node.fresh()
        let events = [
            ThinEvent(entity: "incident", id: "Q0", type: "created"),
            ThinEvent(entity: "e", id: String(repeating: "i", count: 255), type: String(repeating: "t", count: 64)),
            ThinEvent(entity: "\u{E9}", id: "", type: "e\u{301}"),
        ]
        for (place, event) in events.enumerated() {
            let sequence = node.history.append(
                event, account: TestHistory.account, partition: TestHistory.first, offset: Int64(place) * 1_000_000,
                timestamp: node.now - Int64(place) * 5_000, now: node.now)
            #expect(sequence == UInt64(place) + 1)
        }
        let replay = try #require(node.replay(cursor))
        #expect(replay.map(\.event) == events)
        #expect(replay.map(\.offset) == [0, 1_000_000, 2_000_000])
        #expect(replay.map(\.timestamp) == [node.now, node.now - 5_000, node.now - 10_000])
        #expect(replay.map(\.sequence) == [1, 2, 3])
    }

    @Test func `exactly as many events as the limit are served, and one more is refused`() {
        let node = TestHistory { $0.maximumEventsPerAccount = 10 }
        node.openWhole()
        node.take(0)
        let cursor = node.fresh()
        for offset in 1...10 { node.take(Int64(offset)) }
        #expect(node.offsets(cursor) == Array(1...10))
        node.take(11)
        #expect(node.refusal(cursor) == .expired)
    }

    @Test(arguments: [1, 2, 3, 7, 100]) func `pages of any size give each event once`(limit: Int) {
        let node = TestHistory()
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        let cursor = node.fresh()
        for offset in 1...20 { node.take(Int64(offset), in: offset % 3 == 0 ? TestHistory.second : TestHistory.first) }
        #expect(node.offsets(cursor, limit: limit) == Array(1...20))
    }

    @Test(arguments: 1...5) func `a page is short only when nothing that passes follows`(limit: Int) throws {
        let node = TestHistory()
        node.openWhole()
        node.take(0)
        let cursor = node.fresh()
        for offset in 1...20 { node.take(Int64(offset), entity: offset % 5 == 0 ? "note" : "incident") }
        let notes = try #require(EntityFilter(["note"]))
        #expect(node.offsets(cursor, limit: limit, entities: notes) == [5, 10, 15, 20])
    }

    @Test func `of a full log the oldest of the firsts goes, whatever order it was loaded in`() {
        func kept(_ order: [Int]) -> [String] {
            let node = TestHistory { $0.maximumEventsPerAccount = 4 }
            node.openWhole()
            node.openWhole(TestHistory.second)
            let start = node.now - 100
            for turn in order {
                let partition = turn % 2 == 0 ? TestHistory.first : TestHistory.second
                node.take(Int64(turn / 2), in: partition, at: start + Int64(turn))
            }
            let log = node.history.logs[TestHistory.account]
            return (log?.parts ?? []).map { "\($0.partition.number): \($0.base.offset), \($0.count)" }.sorted()
        }
        #expect(kept(Array(0..<10)) == kept([0, 2, 4, 6, 8, 1, 3, 5, 7, 9]))
        #expect(kept([1, 3, 5, 7, 9, 0, 2, 4, 6, 8]) == ["0: 2, 2", "1: 2, 2"])
    }

    @Test func `what is older than the retention goes, what is as old stays`() {
        let node = TestHistory()
        node.open(LogFacts(liveFrom: 10))
        let cursor = node.fresh()
        node.take(0, at: node.now - TestHistory.day)
        node.history.sweep(now: node.now)
        #expect(node.offsets(cursor) == [0])
        node.history.sweep(now: node.now + 1)
        #expect(node.history.size == HistorySize())
    }

    @Test func `an event without a time stamp is as old as its reading, and is told to have none`() throws {
        let node = TestHistory()
        node.openWhole()
        let cursor = node.fresh()
        node.take(0, at: -1)
        node.history.sweep(now: node.now + TestHistory.day)
        #expect(try #require(node.replay(cursor)).map(\.timestamp) == [-1])
        #expect(node.refusal(node.fresh()) == nil)
        node.history.sweep(now: node.now + TestHistory.day + 1)
        #expect(node.history.size.events == 0)
    }

    @Test func `an event from the future does not make every later cursor expire`() {
        let node = TestHistory { $0.maximumEventsPerAccount = 1 }
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0, at: node.now + 1_000 * TestHistory.day)
        node.take(1)
        node.now += TestHistory.hour + 1
        let elsewhere = TestHistory()
        elsewhere.now = node.now
        elsewhere.openWhole(TestHistory.second)
        #expect(node.offsets(elsewhere.fresh()) == [1])
    }

    @Test func `a record that comes a second time changes nothing`() {
        let node = TestHistory()
        node.openWhole()
        let cursor = node.fresh()
        #expect(node.take(5) == 1)
        #expect(node.take(5) == 0)
        #expect(node.take(4) == 0)
        #expect(node.take(6) == 2)
        #expect(node.offsets(cursor) == [5, 6])
    }

    @Test func `whoever has been idle for longest gives way, unless somebody follows`() {
        let node = TestHistory { $0.maximumLogBytes = 2_500 }
        node.openWhole()
        let followed = Account("B0")
        node.history.retain(followed)
        for turn in 0..<40 { node.take(Int64(turn), account: Account("B\(turn < 20 ? turn : turn - 18)")) }
        #expect(node.history.size.bytes <= 2_500)
        #expect(node.history.logs[followed]?.count == 1)
        #expect(node.history.logs[Account("B21")]?.count == 1)
        #expect(node.history.logs[Account("B1")] == nil)
        node.history.release(followed)
        for turn in 40..<60 { node.take(Int64(turn), account: Account("C\(turn)")) }
        #expect(node.history.logs[followed] == nil)
    }

    @Test
    func
        `what gave way of others is nothing to an account that was there before, though its cursor names the partition`()
    {
        let node = TestHistory { $0.maximumLogBytes = 2_500 }
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.history.retain(TestHistory.account)
        node.take(0)
        node.take(0, in: TestHistory.second, account: Account("A2"))
        node.now += 61_000
        let cursor = node.fresh()
        #expect(Cursor(cursor)?.positions.map(\.offset) == [1, 1])
        for turn in 1..<40 { node.take(Int64(turn), in: TestHistory.second, account: Account("B\(turn)")) }
        #expect(node.history.logs[Account("B1")] == nil)
        #expect(node.offsets(cursor) == [])
        node.take(40, in: TestHistory.second)
        #expect(node.offsets(cursor) == [40])
    }

    @Test func `events that give way under a stream are lost to it, not skipped`() {
        let node = TestHistory { $0.maximumEventsPerAccount = 3 }
        node.openWhole()
        node.history.retain(TestHistory.account)
        node.take(0)
        let position = StreamPosition(sequence: node.history.lastSequence)
        func answer() -> [Int64]? {
            let answer = node.history.read(
                account: TestHistory.account, from: position, limit: 9, entities: nil, now: node.now, withCursors: false
            )
            if case .page(let events, _, true) = answer { return events.map(\.offset) } else { return nil }
        }
        for offset in 1...3 { node.take(Int64(offset)) }
        #expect(answer() == [1, 2, 3])
        node.take(4)
        #expect(answer() == nil)
    }

    @Test func `after a topic was recreated every position is lost, and who follows still does`() {
        let node = TestHistory()
        node.openWhole()
        node.history.retain(TestHistory.account)
        node.take(0)
        let position = StreamPosition(sequence: node.history.lastSequence)
        node.history.reset(topic: 0)
        guard
            case .lost = node.history.read(
                account: TestHistory.account, from: position, limit: 1, entities: nil, now: node.now, withCursors: false
            )
        else {
            Issue.record("a position of the old topic was served")
            return
        }
        node.openWhole()
        node.take(0)
        node.history.release(TestHistory.account)
        #expect(node.history.size.events == 1)
    }

    @Test func `an event takes at most 48 bytes beside its id, an account at most 400`() {
        let node = TestHistory { $0.maximumLogBytes = 1 << 30 }
        node.openWhole()
        let before = node.history.size.bytes
        for offset in 0..<60_000 {
            node.now += Int64(offset % 7)
            node.history.append(
                ThinEvent(entity: "incident", id: "Q0ABCDEFGHIJKL", type: "updated"),
                account: Account("P\(offset % 100)"),
                partition: TestHistory.first, offset: Int64(offset) * 11, timestamp: node.now, now: node.now)
        }
        let size = node.history.size
        #expect(size.events == 60_000)
        #expect((size.bytes - before - size.accounts * 400) / size.events <= 48 + 14)
        let alone = TestHistory()
        alone.openWhole()
        alone.take(0)
        #expect(alone.history.size.bytes <= 400 + 48 + 1)
    }

    @Test func `each of some hundred kinds of events has a number, whatever their names`() {
        for seed in 0..<200 {
            var vocabulary = Vocabulary()
            let numbers = (0..<100).map { vocabulary.number(of: EventKind(entity: "e\($0)", type: "\(seed)")) }
            #expect(numbers == Array(1...100))
        }
    }

    @Test func `a flood of words stays within its limit and loses no event`() throws {
        let node = TestHistory { $0.maximumEventsPerAccount = 10_000 }
        node.openWhole()
        let cursor = node.fresh()
        for offset in 0..<6_000 { node.take(Int64(offset), entity: "e\(offset % 5_500)") }
        #expect(node.history.vocabulary.words.count <= Vocabulary.maximumWords + 1)
        let replay = try #require(node.replay(cursor))
        #expect(replay.map(\.event.entity) == (0..<6_000).map { "e\($0 % 5_500)" })
    }
}
