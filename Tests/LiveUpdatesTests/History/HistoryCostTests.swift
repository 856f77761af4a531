import Testing

@testable import LiveUpdates

/// What cursors, wakes and pages cost, in what is gone over for them: time says little where other tests run beside.
struct HistoryCostTests {
    /// A node that holds events of another account in each partition, and one of ``TestHistory/account`` in the first.
    private func node(partitions: Int, forgetting gone: Account? = nil) -> TestHistory {
        let node = TestHistory()
        for number in 0..<partitions {
            let partition = PartitionName(topic: 0, number: Int32(number))
            node.open(partition, LogFacts(born: 1_000, known: node.now, end: 1, endAsked: 1))
            node.take(0, in: partition, account: Account("other"))
        }
        if let gone {
            node.take(1, account: gone)
            if let log = node.history.log(of: gone) { node.history.forget(log, now: node.now) }
        }
        node.take(2)
        return node
    }

    /// Partitions that were gone over meanwhile.
    private func walked(_ node: TestHistory, _ body: () -> Void) -> Int {
        let before = node.history.partitions.walked
        body()
        return node.history.partitions.walked - before
    }

    /// How often one of so many cursors of an account is served.
    private func served(_ node: TestHistory, _ cursor: [UInt8], times: Int) -> Int {
        (0..<times).count { _ in if case .accepted = node.resume(cursor) { true } else { false } }
    }

    @Test func `a resume costs no more with a thousand partitions`() {
        let node = node(partitions: 1_000)
        // Of this account events are let go: what that says of a cursor stands in its own log.
        for offset in 3..<1_100 { node.take(Int64(offset), account: Account("full")) }
        let cursor = node.fresh()
        let walked = walked(node) { #expect(served(node, cursor, times: 1_000) == 1_000) }
        #expect(walked == 0)
    }

    @Test func `where an account was forgotten lately, a resume looks once in which partitions that was`() {
        let node = node(partitions: 1_000, forgetting: Account("gone"))
        let cursor = node.fresh()
        let walked = walked(node) { #expect(served(node, cursor, times: 10) == 10) }
        #expect(walked == 10 * 1_000)
    }

    @Test func `a wake and its cursors cost no more with a thousand partitions`() {
        let node = node(partitions: 1_000)
        func cursors(_ count: Int) {
            for _ in 0..<count { _ = node.history.freshCursor(account: TestHistory.account, now: node.now) }
        }
        node.refresh()
        // Whose logs they are, until when all is read, and what is named beside: once for all cursors.
        #expect(walked(node) { cursors(10) } <= 3 * 1_000)
        let walked = walked(node) {
            for offset in 3..<1_000 as Range<Int64> {
                node.history.beginWake()
                node.history.skip(TestHistory.first, offset: offset, timestamp: node.now, now: node.now)
                cursors(1)
            }
        }
        #expect(walked == 0)
    }

    @Test(arguments: [1_000, 100_000]) func `a page begins near its first event, however long the log is`(events: Int)
        throws
    {
        let node = TestHistory { $0.maximumEventsPerAccount = 100_000 }
        node.openWhole()
        for offset in 0..<events { node.take(Int64(offset)) }
        let part = try #require(node.history.logs[TestHistory.account]?.parts.first)
        for target in stride(from: 1, to: events, by: events / 50) {
            for byOffset in [true, false] {
                var walk = part.walk(
                    afterSequence: byOffset ? 0 : UInt64(target), fromOffset: byOffset ? Int64(target) : 0)
                var passed = 0
                while let entry = walk.next(), entry.mark.offset < Int64(target) { passed += 1 }
                #expect(passed <= 64)
            }
        }
        let answer = node.history.read(
            account: TestHistory.account, from: StreamPosition(sequence: UInt64(events) - 40), limit: 10,
            entities: nil, now: node.now, withCursors: true)
        guard case .page(let page, _, false) = answer else {
            Issue.record("no page that more follows: \(answer)")
            return
        }
        #expect(page.count == 10)
    }

    @Test func `what a page passed over is told, so that whoever serves many can count it`() {
        let node = TestHistory()
        node.openWhole()
        for offset in 0..<500 { node.take(Int64(offset), entity: offset % 100 == 0 ? "note" : "incident") }
        func read(_ entities: EntityFilter?, from sequence: UInt64, limit: Int) -> Int {
            _ = node.history.read(
                account: TestHistory.account, from: StreamPosition(sequence: sequence), limit: limit,
                entities: entities, now: node.now, withCursors: false)
            return node.history.lastReadEvents
        }
        #expect(read(nil, from: 490, limit: 20) == 10)
        // The one that no longer fits is looked at.
        #expect(read(nil, from: 0, limit: 20) == 21)
        #expect(read(EntityFilter(["note"]), from: 0, limit: 20) == 500)
        #expect(read(EntityFilter(["note"]), from: 450, limit: 20) == 50)
        #expect(read(nil, from: 500, limit: 20) == 0)
    }

    @Test func `what letting go has moved is found by its checkpoints`() throws {
        let node = TestHistory { $0.maximumEventsPerAccount = 300 }
        node.openWhole()
        for offset in 0..<5_000 {
            node.take(Int64(offset))
            guard offset % 97 == 0, offset > 0 else { continue }
            let part = try #require(node.history.logs[TestHistory.account]?.parts.first)
            let first = Int64(offset) - Int64(part.count) + 1
            for wanted in [first, first + Int64(part.count) / 2, Int64(offset)] {
                #expect(part.entry(at: wanted)?.mark.sequence == UInt64(wanted) + 1)
            }
            #expect(part.entry(at: first - 1) == nil)
        }
    }
}
