import Testing

@testable import LiveUpdates

#if canImport(Glibc)
    import Glibc
#endif

/// What cursors and pages cost, in the time of the processor that this thread took: other tests run beside it.
struct HistoryCostTests {
    /// In ms.
    static func processorTime(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
        }
        let start = now()
        body()
        return now() - start
    }

    private func node(partitions: Int) -> TestHistory {
        let node = TestHistory()
        for number in 0..<partitions {
            let partition = PartitionName(topic: 0, number: Int32(number))
            node.open(partition, LogFacts(born: 1_000, known: node.now, end: 1, endAsked: 1))
            node.take(0, in: partition, account: Account("other"))
        }
        node.take(1)
        return node
    }

    @Test(arguments: [true, false]) func `a resume costs no more with a thousand partitions`(isExact: Bool) {
        let node = node(partitions: 1_000)
        // Nothing lets go at once, or one partition did lately, which has to be looked for.
        if !isExact {
            for offset in 2..<1_100 { node.take(Int64(offset), account: Account("full")) }
            node.history.retain(TestHistory.account)
        }
        let cursor = node.fresh()
        var served = 0
        let milliseconds = Self.processorTime {
            for _ in 0..<1_000 {
                if case .accepted = node.resume(cursor) { served += 1 }
            }
        }
        #expect(served == 1_000)
        // 360 ms when each of them went over all partitions.
        #expect(milliseconds < 60)
        print("1,000 resumes at 1,000 partitions: \(milliseconds) ms")
    }

    @Test func `a wake costs no more with a thousand partitions`() {
        let node = node(partitions: 1_000)
        let milliseconds = Self.processorTime {
            for turn in 0..<10_000 {
                node.history.beginWake()
                node.history.skip(TestHistory.first, offset: Int64(turn) + 2, timestamp: node.now, now: node.now)
            }
        }
        #expect(milliseconds < 60)
        print("10,000 wakes at 1,000 partitions: \(milliseconds) ms")
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
        var position = StreamPosition(sequence: UInt64(events) - 40)
        let milliseconds = Self.processorTime {
            for _ in 0..<1_000 {
                let answer = node.history.read(
                    account: TestHistory.account, from: StreamPosition(sequence: position.sequence), limit: 10,
                    entities: nil, now: node.now, withCursors: true)
                if case .page(let page, _, false) = answer {
                    #expect(page.count == 10)
                } else {
                    position = .init(sequence: 0)
                }
            }
        }
        #expect(position.sequence > 0)
        print("1,000 pages of 10 at the end of \(events) events: \(milliseconds) ms")
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
