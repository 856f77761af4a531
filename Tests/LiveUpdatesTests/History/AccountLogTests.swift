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
}
