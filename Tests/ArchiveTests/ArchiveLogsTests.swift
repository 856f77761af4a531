// Tests: ArchiveFeed.swift, FeedPartition.swift, Stretch.swift, RunRecorder.swift, ArchiveStore.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// Positions and the logs in which they count: noted, found again, and given up alone.
struct ArchiveLogsTests {
    private static let (first, second) = (PartitionName(topic: 0, number: 0), PartitionName(topic: 0, number: 1))

    /// A node that reads two partitions, each record with an event and stamped 100 later than its offset.
    private struct Node {
        var feed = ArchiveFeed(topics: ["t"])
        var recorder = RunRecorder()
        var id: UInt32? = 7
        var known: Int64 = 1_000
        var clock: Int64 = 0
        var notBefore: Int64?

        mutating func note(_ partition: PartitionName, next: Int64, start: Int64 = 0) {
            recorder.note(
                partition,
                LogFacts(
                    start: start, liveFrom: start, notBefore: notBefore, known: known, topicID: id, next: next))
            feed.receive(recorder.take(), now: 0, wallClock: clock)
        }

        mutating func read(_ offsets: Range<Int64>, _ partition: PartitionName = first) {
            for offset in offsets {
                recorder.add(Self.event(offset), partition, offset: offset, stamp: offset + 100, now: offset)
            }
            feed.receive(recorder.take(), now: 0, wallClock: clock)
        }

        static func event(_ offset: Int64) -> RecordedEvent {
            RecordedEvent(Account("A"), ThinEvent(entity: "e", id: "I\(offset)", type: "made"))
        }

        mutating func claim(_ positions: [(next: Int64?, log: StoredLog?)]) {
            feed.claim(
                positions.enumerated().map { number, position in
                    ClaimedPartition(
                        ArchivePartition(topic: "t", number: Int32(number)), next: position.next, log: position.log)
                })
        }

        mutating func resolve(_ place: ArchiveFeed.Resolution, _ partition: PartitionName = first) {
            for question in feed.questions where question.partition == partition { feed.resolve(question, place) }
        }

        mutating func reread(_ offsets: Range<Int64>, _ partition: PartitionName = first) {
            guard let behind = feed.behind.first(where: { $0.partition == partition }) else { return }
            var recorder = RunRecorder()
            recorder.begin(partition, at: behind.range.lowerBound, generation: behind.generation)
            for offset in offsets {
                recorder.add(Self.event(offset), partition, offset: offset, stamp: offset + 100, now: offset)
            }
            for run in recorder.take().runs() { feed.reread(run) }
        }

        mutating func store() -> [ArchiveBatch.Run] {
            let batch = feed.nextBatch()
            feed.appended(now: 0)
            return batch?.runs ?? []
        }
    }

    private static func node(_ partitions: [PartitionName] = [first]) -> Node {
        var node = Node()
        for partition in partitions { node.note(partition, next: 0) }
        node.claim(partitions.map { _ in (nil, nil) })
        for partition in partitions { node.resolve(.goOn(at: 0), partition) }
        return node
    }

    @Test func `each position is stored with its log, and with records by which that is known again`() throws {
        var node = Self.node()
        node.read(0..<3)
        let log = try #require(node.store().first?.log)
        #expect(log.known == KnownLog(topicID: 7, known: 1_000) && log.points == [.init(offset: 2, stamp: 102)])
        // What came in two wakes is put together, and the last record of each may be the last of its log.
        var other = Self.node()
        for offset in Int64(0)..<3 { other.read(offset..<offset + 1) }
        let wakes = try #require(other.store().first?.log)
        #expect(wakes.points.map(\.offset) == [0, 1, 2] && wakes.newest == wakes.points)
        // Behind a marker the last record stands where it stood.
        node.read(3..<5)
        node.recorder.move(Self.first, to: 6)
        node.feed.receive(node.recorder.take(), now: 0, wallClock: 0)
        let run = try #require(node.store().first)
        #expect(run.next == 6 && run.log?.points.map(\.offset) == [2, 4])
    }

    @Test func `a position whose log nobody has noted learns it once it was found to be the same`() throws {
        var node = Node()
        node.note(Self.first, next: 3)
        node.claim([(3, nil)])
        #expect(node.store().isEmpty && node.feed.questions.count == 1)
        node.resolve(.goOn(at: 3))
        let run = try #require(node.store().first)
        #expect(run.from == 3 && run.next == 3 && run.events.isEmpty && run.continuation == .same)
        #expect(run.log?.known == KnownLog(topicID: 7, known: 1_000))
        #expect(node.store().isEmpty)
        // What it learns later is noted too, and now and then that it is still the same.
        node.known += FeedPartition.renewalMilliseconds - 1
        node.note(Self.first, next: 3)
        #expect(node.store().isEmpty)
        node.known += 1
        node.note(Self.first, next: 3)
        #expect(node.store().map(\.log?.known.known) == [node.known] && node.store().isEmpty)
    }

    @Test func `a proof holds of what was stored before it was asked for`() {
        var node = Self.node()
        func sure(_ known: Int64, noted clock: Int64, stored next: Int64) -> Int64? {
            (node.known, node.clock) = (known, clock)
            node.note(Self.first, next: next)
            return node.feed.parts[Self.first]?.stored.sure
        }
        node.read(0..<3)
        #expect(node.store().map(\.next) == [3])
        #expect(sure(1_500, noted: 2_000, stored: 3) == 0)
        node.read(3..<5)
        #expect(node.store().map(\.next) == [5])
        // Asked for before the position was noted, which comes late.
        #expect(sure(2_000, noted: 2_500, stored: 5) == 0)
        #expect(sure(2_001, noted: 3_000, stored: 5) == 3)
        #expect(sure(3_000, noted: 3_500, stored: 5) == 3)
        // The clock was set back: what it shows from then on counts.
        #expect(sure(900, noted: 1_000, stored: 5) == 3)
        #expect(sure(1_001, noted: 1_100, stored: 5) == 5)
    }

    @Test func `what was noted of a log is not dropped with the records`() {
        var (node, dropped) = (Node(), DroppedRecords())
        node.recorder.note(Self.first, LogFacts(start: 0, liveFrom: 0, topicID: 7, next: 5))
        dropped.add(node.recorder.take())
        node.feed.miss(dropped, now: 0, wallClock: 0)
        node.claim([(3, nil)])
        #expect(node.feed.questions.map(\.next) == [3] && node.feed.questions.map(\.facts.topicID) == [7])
    }

    @Test func `nothing is asked before it is known which log is read`() {
        var node = Node()
        node.feed.miss(DroppedRecords(Self.first, upTo: 5), now: 0, wallClock: 0)
        node.claim([(3, nil)])
        #expect(node.feed.questions.isEmpty)
        node.note(Self.first, next: 5)
        #expect(node.feed.questions.map(\.next) == [3])
    }

    @Test func `a topic that is another one begins again, and one that is the same goes on, each partition by itself`()
    {
        var node = Self.node([Self.first, Self.second])
        node.read(0..<8)
        node.read(0..<6, Self.second)
        #expect(node.store().map(\.next) == [8, 6])
        // The tracker tells of the whole topic, whichever log was cut back.
        node.recorder.recreate(topic: 0)
        node.note(Self.first, next: 0)
        node.note(Self.second, next: 0)
        node.read(0..<5)
        node.read(0..<7, Self.second)
        #expect(node.feed.questions.compactMap(\.next).sorted() == [6, 8] && node.store().isEmpty)
        node.resolve(.goOn(at: 6), Self.second)
        let runs = node.store()
        #expect(runs.map(\.from) == [6] && runs.map(\.next) == [7] && runs.first?.continuation == .same)
        #expect(node.feed.behind.isEmpty)
        node.resolve(.otherLog(from: 0))
        let other = node.store()
        // Nothing was proved since it was read.
        #expect(other.map(\.continuation) == [.otherLog(since: -1)] && other.map(\.next) == [5])
        #expect(other.first?.log?.points.map(\.offset) == [4])
    }

    @Test func `a position that was ahead of what was read is compared with the log once more, that partition's alone`()
    {
        var node = Self.node([Self.first, Self.second])
        node.read(0..<3)
        node.read(0..<6, Self.second)
        node.recorder.move(Self.first, to: 8)
        node.feed.receive(node.recorder.take(), now: 0, wallClock: 0)
        #expect(node.store().map(\.next) == [8, 6])
        // A record comes at 5: nothing of it may be taken for stored.
        node.recorder.setBack(Self.first)
        node.note(Self.first, next: 5, start: 5)
        node.read(5..<9)
        node.read(6..<7, Self.second)
        #expect(node.feed.questions.map(\.next) == [8] && node.store().map(\.from) == [6])
        node.resolve(.cutBack(to: 3, since: nil, until: 8))
        #expect(node.feed.behind.map(\.range) == [3..<5])
        node.reread(3..<5)
        #expect(node.store().map(\.next) == [5] && node.store().map(\.next) == [9])
        // Another topic of the name is one after that too.
        node.recorder.recreate(topic: 0)
        node.note(Self.first, next: 0)
        #expect(node.feed.questions.map(\.next) == [9])
    }

    @Test func `a log that was cut back is read again from there, and its position counts once that is over`() {
        var node = Node()
        node.read(0..<3)
        node.note(Self.first, next: 3)
        let points = [2, 7].map { StoredLog.Point(offset: $0, stamp: $0 + 100) }
        node.claim([(8, StoredLog(known: KnownLog(topicID: 7, known: 5), points: points))])
        node.feed.miss(DroppedRecords(Self.first, upTo: 12), now: 0, wallClock: 0)
        node.resolve(.cutBack(to: 3, since: 102, until: 8))
        #expect(node.feed.behind.map(\.range) == [3..<12])
        node.reread(3..<6)
        let begun = node.store()
        #expect(begun.map(\.continuation) == [.cutBack(since: 102)] && begun.map(\.next) == [6])
        #expect(begun.first?.log?.until == 8 && begun.first?.log?.known(at: 6) == nil)
        #expect(begun.first?.log?.points.map(\.offset) == [2, 5])
        node.reread(6..<10)
        let repeated = node.store()
        #expect(repeated.map(\.continuation) == [.repeated] && repeated.map(\.next) == [10])
        #expect(repeated.first?.log?.known(at: 10)?.topicID == 7)
        node.reread(10..<12)
        #expect(node.store().map(\.continuation) == [.same])
    }

    @Test func `what is read once more without a loss is stored as that, until all of it is`() {
        var node = Node()
        node.note(Self.first, next: 3)
        node.claim([(8, StoredLog(points: [.init(offset: 2, stamp: 102)], sure: 3))])
        node.feed.miss(DroppedRecords(Self.first, upTo: 12), now: 0, wallClock: 0)
        node.resolve(.cutBack(to: 3, since: nil, until: 8))
        for (offsets, isOver) in [(Int64(3)..<5, false), (5..<7, false), (7..<9, false), (9..<10, true)] {
            node.reread(offsets)
            let runs = node.store()
            #expect(runs.map(\.continuation) == [isOver ? .same : .cutBack(since: nil)])
            #expect(runs.map(\.next) == [offsets.upperBound])
        }
    }

    @Test func `a log that has lately become another one is noted again soon, and then less and less often`() {
        var node = Node()
        node.notBefore = 1_000_000
        node.known = 1_000_500
        node.note(Self.first, next: 3)
        let known = KnownLog(topicID: 7, known: 1_000_500)
        node.claim([(3, StoredLog(known: known, points: [.init(offset: 2, stamp: 102)]))])
        node.resolve(.goOn(at: 3))
        var stored: [Int64] = []
        for known in stride(from: Int64(1_001_000), through: 1_700_000, by: 500) {
            node.known = known
            node.note(Self.first, next: 3)
            stored += node.store().compactMap(\.log?.known.known)
        }
        let expected: [Int64] = [2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 620_000]
        #expect(stored.map { $0 - 1_000_000 } == expected)
    }

    @Test func `a log that ends where it was cut is set back at once`() {
        var node = Node()
        node.note(Self.first, next: 3)
        node.claim([(8, StoredLog(points: [.init(offset: 2, stamp: 102)]))])
        node.resolve(.cutBack(to: 3, since: 102, until: 3))
        let runs = node.store()
        #expect(runs.map(\.from) == [3] && runs.map(\.next) == [3] && runs.first?.continuation == .cutBack(since: 102))
        #expect(runs.first?.log?.known(at: 3) != nil && node.store().isEmpty)
    }

    @Test func `what another node has stored of the log of before is nothing of this one`() {
        var node = Node()
        node.note(Self.first, next: 0)
        node.read(0..<600)
        node.feed.claim([])
        func release(_ id: UInt32) -> UInt64? {
            node.feed.release(
                [StoredPosition(topic: "t", partition: 0, next: 700, log: KnownLog(topicID: id))], now: 5)
            return node.feed.waitsSince(ofAll: true)
        }
        let held = node.feed.heldBytes
        #expect(release(6) == 0 && node.feed.heldBytes == held)
        #expect(release(7) == nil && node.feed.heldBytes == 0)
    }

    // MARK: - What a store makes of it

    @Test(arguments: TestStore.kinds)
    func `a store gives back in which log a position counts`(kind: TestStore.Kind) async throws {
        try await TestStore.withStore(kind) { store in
            let partition = ArchivePartition(topic: "t", number: 0)
            func append(_ events: [ArchivedEvent], next: Int64, _ log: StoredLog?) async throws -> AppendOutcome {
                try await store.append(.of(events, from: 0, next: next, log: log))
            }
            _ = try await append([Self.event(0)], next: 1, nil)
            #expect(try await store.positions() == [StoredPosition(topic: "t", partition: 0, next: 1)])
            var log = StoredLog(
                known: KnownLog(topicID: 9, first: 3, known: 4), points: [.init(offset: 0, stamp: 100)])
            // The position stays, and learns its log.
            let outcome = try await append([], next: 1, log)
            #expect(outcome == AppendOutcome())
            var query = PageQuery("A")
            query.wantsPositions = true
            let stored = [StoredPosition(topic: "t", partition: 0, next: 1, log: log.known, newest: log.points)]
            #expect(try await store.positions() == stored)
            #expect(try await store.page(query).positions == stored)
            #expect(
                try await store.claim([partition]) == [ClaimedPartition(partition, next: 1, stamp: 100, log: log)])
            // What may be stored behind the position leaves it open.
            log.until = 5
            _ = try await append([Self.event(1)], next: 2, log)
            #expect(try await store.positions().map(\.log) == [nil])
            #expect(try await store.claim([partition]).map(\.log) == [log])
        }
    }

    private static func event(_ offset: Int64, stamp: Int64? = nil) -> ArchivedEvent {
        ArchivedEvent("A", "e", "I\(offset)", "made", offset: offset, stamp: stamp ?? offset + 100)
    }

    @Test(arguments: TestStore.kinds)
    func `a position is set back alone, nothing is stored twice, and the gap is what was lost`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            var (page, query) = (EventPage(), PageQuery("A"))
            (query.wantsPositions, query.limit) = (true, 500)
            _ = try await store.append(.of((0..<10).map { Self.event($0) }))
            _ = try await store.append(.of((0..<3).map { Self.event($0) }, partition: 1))
            let cut = ArchiveBatch.of(
                [Self.event(6), Self.event(7)], from: 6, continuation: .cutBack(since: 105))
            let outcome = try await store.append(cut)
            #expect(outcome.stored == 0 && outcome.repeated == 2 && outcome.gaps == 1)
            page = try await store.page(query)
            #expect(page.events.count == 13 && page.positions.map(\.next) == [8, 3])
            #expect(page.gaps == [ArchiveGap(from: 105, to: nil)])
            // Some of it may have been there, which ends no gap.
            _ = try await store.append(.of([Self.event(8, stamp: 400)], from: 8, continuation: .repeated))
            #expect(try await store.page(query).gaps == [ArchiveGap(from: 105, to: nil)])
            _ = try await store.append(.of([Self.event(9, stamp: 500)], from: 9))
            page = try await store.page(query)
            #expect(page.gaps == [ArchiveGap(from: 105, to: 500)] && page.events.count == 15)
            #expect(page.positions.map(\.next) == [10, 3])
            // Nothing is known to be lost.
            let again = try await store.append(
                .of([Self.event(8, stamp: 400)], from: 8, continuation: .cutBack(since: nil)))
            #expect(again.gaps == 0 && again.repeated == 1)
            #expect(try await store.positions().map(\.next) == [10, 3])
            _ = try await store.append(
                .of([Self.event(9, stamp: 500)], from: 9, next: 12, continuation: .cutBack(since: nil)))
            #expect(try await store.positions().map(\.next) == [12, 3])
            // One that is open reaches back to whatever was lost first.
            for since in [700, 600, 650] {
                _ = try await store.append(.of([], from: 9, continuation: .cutBack(since: Int64(since))))
            }
            page = try await store.page(query)
            #expect(page.gaps == [ArchiveGap(from: 105, to: 500), ArchiveGap(from: 600, to: nil)])
        }
    }

    /// Each row: what a run is, from where to where it goes, and what becomes of a store that stands at 10, behind a record stamped 50.
    @Test(
        arguments: [
            (.cutBack(since: nil), 6..<9, .init(start: 6, keepsPosition: true)),
            (.cutBack(since: nil), 6..<12, .init(start: 6)), (.cutBack(since: nil), 10..<12, .init(start: 10)),
            // Kafka begins behind what is stored by now: what stood between is missing.
            (.cutBack(since: nil), 11..<12, .init(start: 11, gapSince: 50, gapUntil: 90)),
            (.cutBack(since: 30), 6..<12, .init(start: 6, gapSince: 30)),
            (.same, 10..<12, .init(start: 10, gapUntil: 90)), (.same, 8..<12, .init(start: 10, gapUntil: 90)),
            (.same, 11..<12, .init(start: 11, gapSince: 50, gapUntil: 90)), (.same, 8..<10, .init(start: nil)),
            (.repeated, 11..<12, .init(start: 11, gapSince: 50)), (.repeated, 10..<12, .init(start: 10)),
        ] as [(ArchiveBatch.Continuation, Range<Int64>, ArchiveBatch.Run.Step)])
    func `what is missing before a run is a gap, whatever it goes on with`(
        row: (continuation: ArchiveBatch.Continuation, range: Range<Int64>, step: ArchiveBatch.Run.Step)
    ) {
        let run = ArchiveBatch.Run(
            topic: "t", partition: 0, from: row.range.lowerBound, next: row.range.upperBound,
            stamps: .init(first: 90, last: 95), continuation: row.continuation, log: nil, events: [])
        #expect(run.step(next: 10, stamp: 50) == row.step)
    }
}
