// Tests: ArrivalCuts.swift, FeedPartition.swift, ArchiveFeed.swift, RecordRun.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// Events that are stamped ahead, so that their arrival alone says whether an erasure covers them.
struct ArrivalCutsTests {
    private static let partition = PartitionName(topic: 0, number: 0)
    private static let stamp: Int64 = 1_000

    private static func events(_ offsets: Range<Int64>, now: (Int64) -> Int64) -> RecordBuffer {
        var recorder = RunRecorder()
        recorder.begin(partition, at: offsets.lowerBound, generation: 0)
        for offset in offsets {
            let event = RecordedEvent(Account("A"), ThinEvent(entity: "e", id: "I\(offset)", type: "made"))
            recorder.add(event, partition, offset: offset, stamp: stamp, now: now(offset))
        }
        return recorder.take()
    }

    /// A feed that has read nothing yet.
    private static func feed(maximumHeldBytes: Int = ArchiveFeed.maximumHeldBytes) -> ArchiveFeed {
        var feed = ArchiveFeed(topics: ["t"], maximumHeldBytes: maximumHeldBytes)
        var recorder = RunRecorder()
        recorder.note(partition, LogFacts(start: 0, liveFrom: 0, next: 0))
        feed.receive(recorder.take(), now: 0, wallClock: 0)
        return feed
    }

    /// The store is there: the account is erased, and everything is read once more, at a moment behind all others. Returns the
    /// offsets that are stored.
    private static func stored(_ feed: inout ArchiveFeed, erasedUntil moment: Int64, upTo end: Int64) -> [Int64] {
        let isRemembered = feed.erase(Account("A"), until: moment)
        #expect(isRemembered)
        feed.claim([ClaimedPartition(ArchivePartition(topic: "t", number: 0), next: 0)])
        for question in feed.questions { feed.resolve(question, .goOn(at: 0)) }
        var offsets: [Int64] = []
        for _ in 0..<4 {
            if let behind = feed.behind.first {
                for run in events(behind.range.lowerBound..<behind.range.upperBound, now: { _ in 900 }).runs() {
                    feed.reread(run)
                }
            }
            guard let batch = feed.nextBatch() else { break }
            offsets += batch.runs.flatMap(\.events).map(\.offset)
            feed.appended(now: 0)
        }
        return offsets
    }

    /// How events were lost that arrived at 10, 11, … by their offsets.
    enum Loss: CaseIterable, Sendable {
        /// They found no room.
        case forRoom
        /// On their way to the feed, and reading went on.
        case onTheWay
        /// In a gap of what came.
        case inAGap
    }

    @Test(arguments: Loss.allCases) func `what came before an erasure and was lost stays erased when it is read again`(
        _ loss: Loss
    ) {
        var feed = Self.feed(maximumHeldBytes: loss == .forRoom ? 1 : ArchiveFeed.maximumHeldBytes)
        let first = Self.events(0..<5) { 10 + $0 }
        switch loss {
        case .forRoom:
            feed.receive(first, now: 0, wallClock: 0)
            feed.noteErasure(until: 15)
        case .onTheWay:
            var dropped = DroppedRecords()
            dropped.add(first)
            dropped.erase(until: 15)
            feed.noteErasure(until: 15)
            dropped.add(Self.events(5..<8) { 10 + $0 })
            feed.miss(dropped, now: 0, wallClock: 0)
        case .inAGap:
            feed.receive(first, now: 0, wallClock: 0)
            feed.noteErasure(until: 15)
            feed.receive(Self.events(7..<8) { 10 + $0 }, now: 0, wallClock: 0)
        }
        if loss == .forRoom { feed.receive(Self.events(5..<8) { 10 + $0 }, now: 0, wallClock: 0) }
        #expect(Self.stored(&feed, erasedUntil: 15, upTo: 8) == [5, 6, 7])
    }

    @Test func `what has just been read again, and is not stored yet, is erased as well`() {
        var feed = Self.feed(maximumHeldBytes: 1)
        feed.receive(Self.events(0..<5) { 10 + $0 }, now: 0, wallClock: 0)
        feed.claim([ClaimedPartition(ArchivePartition(topic: "t", number: 0), next: 0)])
        for question in feed.questions { feed.resolve(question, .goOn(at: 0)) }
        for run in Self.events(0..<5, now: { _ in 900 }).runs() { feed.reread(run) }
        feed.noteErasure(until: 15)
        let isRemembered = feed.erase(Account("A"), until: 15)
        #expect(isRemembered)
        let batch = feed.nextBatch()
        #expect(batch?.runs.map(\.next) == [5] && batch?.runs.allSatisfy(\.events.isEmpty) == true)
    }

    /// With and without something that is known to be lost: records that are stamped ahead, of an account that was erased before.
    @Test(arguments: [nil, 70] as [Int64?]) func `where a log was cut back, what is read again stays erased`(
        since: Int64?
    ) {
        var feed = Self.feed()
        feed.receive(Self.events(8..<10) { _ in 800 }, now: 0, wallClock: 0)
        let isRemembered = feed.erase(Account("A"), until: 500)
        #expect(isRemembered)
        feed.claim([ClaimedPartition(ArchivePartition(topic: "t", number: 0), next: 8)])
        for question in feed.questions { feed.resolve(question, .cutBack(to: 3, since: since, until: 8)) }
        #expect(feed.behind.map(\.range) == [3..<8])
        for run in Self.events(3..<8, now: { _ in 900 }).runs() { feed.reread(run) }
        #expect(feed.nextBatch()?.runs.flatMap(\.events).map(\.offset) == [])
        feed.appended(now: 0)
        // What came behind it came since.
        #expect(feed.nextBatch()?.runs.flatMap(\.events).map(\.offset) == [8, 9])
    }

    @Test func `an erasure of before what was lost erases nothing of it`() {
        var feed = Self.feed(maximumHeldBytes: 1)
        feed.noteErasure(until: 9)
        feed.receive(Self.events(0..<5) { 10 + $0 }, now: 0, wallClock: 0)
        feed.noteErasure(until: 10)
        #expect(Self.stored(&feed, erasedUntil: 10, upTo: 5) == [0, 1, 2, 3, 4])
    }

    @Test func `what is stored needs no cut any more`() {
        var cuts = ArrivalCuts()
        for next: Int64 in [7, 3, 5, 5] { cuts.add(next: next, moment: 10 * next) }
        cuts.add(next: 5, moment: 20)
        #expect(cuts.cuts.map(\.next) == [3, 5, 7] && cuts.cuts.map(\.moment) == [30, 20, 70])
        let arrivals = Self.events(0..<9) { _ in 900 }.runs().map { cuts.applied(to: $0).entries.map(\.arrival) }
        #expect(arrivals == [[19, 19, 19, 19, 19, 69, 69, 900, 900]])
        cuts.drop(upTo: 5)
        #expect(cuts.cuts.map(\.next) == [7])
        for number in 0..<Int64(ArrivalCuts.maximum) { cuts.add(next: 10 + number, moment: 100) }
        #expect(cuts.cuts.count == ArrivalCuts.maximum && cuts.cuts.first?.next == 10)
        // Beyond the limit the oldest goes.
        cuts.add(next: 5_000, moment: 100)
        #expect(cuts.cuts.count == ArrivalCuts.maximum && cuts.cuts.first?.next == 11)
    }
}
