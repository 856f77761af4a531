// Tests: GonePartitions.swift, ArchiveFeed.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// Partitions that a topic had before it was recreated with fewer: what of them was not stored is told as a gap.
struct GonePartitionsTests {
    private static let stored = [
        StoredPosition(topic: "t", partition: 0, next: 9, log: KnownLog(topicID: 8)),
        StoredPosition(topic: "t", partition: 1, next: 5, log: KnownLog(topicID: 7)),
        // Nothing of it was stored: what its log held is missing as well.
        StoredPosition(topic: "t", partition: 2, next: 0, log: KnownLog(topicID: 7)),
        StoredPosition(topic: "t", partition: 3, next: 0, log: KnownLog()),
    ]

    private static func claimed(_ number: Int32, next: Int64?, _ log: StoredLog? = nil) -> ClaimedPartition {
        ClaimedPartition(ArchivePartition(topic: "t", number: number), next: next, log: log)
    }

    private static func feed() -> ArchiveFeed {
        var (feed, recorder) = (ArchiveFeed(topics: ["t"]), RunRecorder())
        for number in Int32(0)..<2 {
            recorder.note(PartitionName(topic: 0, number: number), LogFacts(start: 0, liveFrom: 0, next: 9))
        }
        feed.receive(recorder.take(), now: 0, wallClock: 0)
        return feed
    }

    /// Each row: how often brokers have told of the topic by then, after how long, and whether what they leave out is gone.
    @Test(
        arguments: [
            (3 + GonePartitions.answers, GonePartitions.milliseconds, true),
            (3 + GonePartitions.answers, GonePartitions.milliseconds - 1, false),
            (2 + GonePartitions.answers, GonePartitions.milliseconds, false),
            // No broker answers for an hour.
            (3, 3_600_000, false),
        ] as [(Int, UInt64, Bool)])
    func `a partition that brokers have left out in five refreshes does not exist`(
        row: (answers: Int, after: UInt64, isGone: Bool)
    ) {
        #expect(GonePartitions.answers == 5 && GonePartitions.milliseconds == 10_000)
        var feed = Self.feed()
        // Before anything is told of the topic nothing is unknown.
        #expect(feed.findGone(in: Self.stored, now: 0, wallClock: 0) == false)
        feed.refreshed([TopicAnswers(count: 3, partitions: 1)])
        #expect(feed.findGone(in: Self.stored, now: 7, wallClock: 0) == false)
        feed.refreshed([TopicAnswers(count: row.answers, partitions: 1)])
        #expect(feed.findGone(in: Self.stored, now: 7 + row.after, wallClock: 0) == row.isGone)
        #expect(feed.partitions.map(\.number) == (row.isGone ? [0, 1, 2] : [0, 1]))
    }

    private static func feedWithGone() -> ArchiveFeed {
        var feed = feed()
        for (answers, now) in [(1, UInt64(0)), (6, 10_000)] {
            feed.refreshed([TopicAnswers(count: answers, partitions: 1)])
            _ = feed.findGone(in: stored, now: now, wallClock: 4_000)
        }
        return feed
    }

    @Test func `who writes it says once that nothing follows, and up to when something may be missing`() {
        var feed = Self.feedWithGone()
        let log = StoredLog(points: [.init(offset: 2, stamp: 70), .init(offset: 4, stamp: 90)], sure: 4)
        feed.claim([Self.claimed(1, next: 5, log)])
        let run = feed.nextBatch()?.runs.first
        #expect(run?.partition == 1 && run?.from == 0 && run?.next == 0 && run?.continuation == .otherLog(since: 70))
        #expect(run?.stamps == .init(first: 4_000, last: 4_000) && run?.log == StoredLog())
        // One transaction at a time; of one that failed nothing counts.
        #expect(feed.nextBatch() == nil)
        feed.disclaim()
        #expect(feed.nextBatch() == nil)
        feed.claim([Self.claimed(1, next: 5), Self.claimed(2, next: 0, StoredLog(known: KnownLog(topicID: 7)))])
        #expect(feed.nextBatch()?.runs.map(\.partition) == [1, 2])
        feed.appended(now: 0)
        #expect(feed.nextBatch() == nil && feed.partitions.map(\.number) == [0])
    }

    @Test func `what another node has stored meanwhile is not stored again`() {
        var feed = Self.feedWithGone()
        feed.claim([Self.claimed(1, next: 0, StoredLog()), Self.claimed(2, next: nil)])
        #expect(feed.nextBatch() == nil && feed.partitions.map(\.number) == [0])
    }

    @Test func `what another node has said to be gone, or nobody stores any more, is found no longer`() {
        var feed = Self.feedWithGone()
        #expect(feed.partitions.map(\.number) == [0, 1, 2])
        let told = StoredPosition(topic: "t", partition: 1, next: 0, log: KnownLog())
        #expect(feed.findGone(in: [Self.stored[0], told], now: 20_000, wallClock: 5_000) == false)
        #expect(feed.partitions.map(\.number) == [0])
        // Stored again, it counts from the beginning.
        #expect(feed.findGone(in: Self.stored, now: 20_001, wallClock: 5_000) == false)
        #expect(feed.partitions.map(\.number) == [0])
    }

    @Test func `a partition that is there again is read on`() {
        var feed = Self.feedWithGone()
        feed.refreshed([TopicAnswers(count: 7, partitions: 2)])
        #expect(feed.partitions.map(\.number) == [0, 2])
        // Counted from the beginning.
        feed.refreshed([TopicAnswers(count: 8, partitions: 1)])
        #expect(feed.findGone(in: Self.stored, now: 10_001, wallClock: 0) == false)
        #expect(feed.partitions.map(\.number) == [0, 2])
    }

    @Test func `one that was there meanwhile is claimed again before anything is stored of it`() {
        var feed = Self.feedWithGone()
        feed.claim([Self.claimed(1, next: 5)])
        feed.refreshed([TopicAnswers(count: 7, partitions: 2)])
        for (answers, now) in [(8, UInt64(20_000)), (13, 30_000)] {
            feed.refreshed([TopicAnswers(count: answers, partitions: 1)])
            _ = feed.findGone(in: Self.stored, now: now, wallClock: 5_000)
        }
        #expect(feed.partitions.map(\.number) == [0, 1, 2] && feed.nextBatch() == nil)
    }

    @Test(arguments: TestStore.kinds)
    func `a store tells the gap on its pages, and forgets the log`(kind: TestStore.Kind) async throws {
        try await TestStore.withStore(kind) { store in
            let events = (0..<3).map { offset in
                ArchivedEvent("A", "e", "I\(offset)", "made", offset: Int64(offset), stamp: Int64(offset) + 100)
            }
            _ = try await store.append(.of(events, from: 0, log: StoredLog(known: KnownLog(topicID: 7))))
            let run = ArchiveBatch.Run(
                topic: "t", partition: 0, from: 0, next: 0, stamps: .init(first: 4_000, last: 4_000),
                continuation: .otherLog(since: 101), log: StoredLog(), events: [])
            let outcome = try await store.append(ArchiveBatch(runs: [run]))
            #expect(outcome.gaps == 1)
            var query = PageQuery("A")
            query.wantsPositions = true
            let page = try await store.page(query)
            #expect(page.events.count == 3 && page.gaps == [ArchiveGap(from: 101, to: 4_000)])
            #expect(page.positions == [StoredPosition(topic: "t", partition: 0, next: 0, log: KnownLog())])
        }
    }
}
