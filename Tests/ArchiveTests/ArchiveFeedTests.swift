// Tests: ArchiveFeed.swift, Stretch.swift, FeedPartition.swift, RunRecorder.swift, RecordRun.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive

/// What is read live, read again, lost, dropped and stored, without a store and without Kafka.
struct ArchiveFeedTests {
    private static let partition = PartitionName(topic: 0, number: 0)

    /// A node, as far as the feed sees it: each record has its offset as stamp, and an event.
    private struct Node {
        var feed: ArchiveFeed
        var recorder = RunRecorder()

        init(maximumHeldBytes: Int = ArchiveFeed.maximumHeldBytes) {
            feed = ArchiveFeed(topics: ["t"], maximumHeldBytes: maximumHeldBytes)
        }

        mutating func open(at start: Int64) {
            recorder.note(partition, LogFacts(start: start, liveFrom: start, next: start))
            hand()
        }

        mutating func read(_ offsets: Range<Int64>, account: String = "A") {
            for offset in offsets { Self.add(offset, account, to: &recorder) }
            hand()
        }

        mutating func hand() { feed.receive(recorder.take(), now: 0, wallClock: 0) }

        static func add(_ offset: Int64, _ account: String = "A", to recorder: inout RunRecorder) {
            let event = RecordedEvent(
                Account(account), ThinEvent(entity: "e", id: "I\(offset)", type: "made"))
            recorder.add(event, partition, offset: offset, stamp: offset, now: offset)
        }

        mutating func claim(_ next: Int64?) {
            feed.claim([ClaimedPartition(ArchivePartition(topic: "t", number: 0), next: next)])
        }

        mutating func resolve(at offset: Int64, isOtherLog: Bool = false) {
            for question in feed.questions {
                feed.resolve(question, isOtherLog ? .otherLog(from: offset) : .goOn(at: offset))
            }
        }

        mutating func reread(_ offsets: Range<Int64>) {
            guard let behind = feed.behind.first else { return }
            var recorder = RunRecorder()
            recorder.begin(partition, at: behind.range.lowerBound, generation: behind.generation)
            for offset in offsets { Self.add(offset, to: &recorder) }
            for run in recorder.take().runs() { feed.reread(run) }
        }

        /// What the next batch holds, which is stored: `from-next: offsets`.
        mutating func store() -> [String] {
            guard let batch = feed.nextBatch() else { return [] }
            feed.appended(now: 0)
            return batch.runs.map { run in
                let words = run.events.map { "\($0.offset)" }.joined(separator: " ")
                let isOther = if case .otherLog = run.continuation { true } else { false }
                return "\(isOther ? "other " : "")\(run.from)-\(run.next): \(words)"
            }
        }
    }

    @Test func `a new store begins where it is told to, and goes on live`() {
        var node = Node()
        node.open(at: 5)
        node.read(5..<7)
        #expect(node.store() == [])
        node.claim(nil)
        #expect(node.feed.questions.count == 1)
        node.resolve(at: 5)
        #expect(node.store() == ["5-7: 5 6"])
        #expect(node.store() == [])
        node.read(7..<9)
        #expect(node.store() == ["7-9: 7 8"] && node.feed.behind.isEmpty && node.feed.heldBytes == 0)
    }

    @Test func `what was stored before is not stored again`() {
        var node = Node()
        node.open(at: 0)
        node.read(0..<4)
        node.claim(2)
        node.resolve(at: 2)
        #expect(node.store() == ["2-4: 2 3"])
    }

    @Test func `what is older than live reading is read once more, until it meets it`() {
        var node = Node()
        node.open(at: 10)
        node.read(10..<12)
        node.claim(6)
        node.resolve(at: 6)
        #expect(node.store() == [] && node.feed.behind.map(\.range) == [6..<10])
        node.reread(6..<8)
        #expect(node.store() == ["6-8: 6 7"] && node.feed.behind.map(\.range) == [8..<10])
        // Reading on brings what is held too.
        node.reread(8..<11)
        #expect(node.store() == ["8-11: 8 9 10"])
        #expect(node.feed.behind.isEmpty && node.store() == ["11-12: 11"])
    }

    @Test func `of what is read once more, nothing is recorded that live reading has not come to`() {
        var recorder = RunRecorder()
        recorder.begin(Self.partition, at: 3, upTo: 5, generation: 0)
        for offset in Int64(3)..<8 { Node.add(offset, to: &recorder) }
        recorder.move(Self.partition, to: 9)
        let runs = recorder.take().runs()
        #expect(runs.map(\.from) == [3] && runs.map(\.next) == [5] && runs.first?.entries.map(\.offset) == [3, 4])
        #expect(runs.first?.stamps?.last == 4)
        // What Kafka has lost beyond it too.
        recorder.begin(Self.partition, at: 5, upTo: 7, generation: 0)
        recorder.lose(Self.partition)
        recorder.move(Self.partition, to: 9)
        let lost = recorder.take().runs()
        #expect(lost.map(\.after) == [5] && lost.map(\.from) == [7] && lost.map(\.next) == [7])
    }

    @Test func `what found no room is read once more`() {
        var node = Node(maximumHeldBytes: 1000)
        node.open(at: 0)
        node.claim(nil)
        node.resolve(at: 0)
        for offset in Int64(0)..<100 { node.read(offset..<(offset + 1)) }
        #expect(node.feed.heldBytes <= 1000)
        #expect(node.feed.behind.first?.range.lowerBound == 0)
        // Dropped on the way already: nothing is held behind it, and all of it is behind.
        node.feed.miss(DroppedRecords(Self.partition, upTo: 120), now: 0, wallClock: 0)
        #expect(node.feed.heldBytes == 0 && node.feed.behind.map(\.range) == [0..<120])
    }

    @Test func `a store that was away says anew how far it is`() {
        var node = Node()
        node.open(at: 0)
        node.claim(nil)
        node.resolve(at: 0)
        node.read(0..<4)
        // Whether it was stored nobody knows.
        #expect(node.feed.nextBatch()?.runs.count == 1)
        #expect(node.feed.nextBatch() == nil)
        node.feed.disclaim()
        #expect(node.store() == [])
        node.claim(2)
        node.resolve(at: 2)
        #expect(node.store() == ["2-4: 2 3"])
    }

    @Test func `records that are lost stand between two runs`() {
        var node = Node()
        node.open(at: 0)
        node.claim(nil)
        node.resolve(at: 0)
        node.read(0..<2)
        node.recorder.lose(Self.partition)
        node.recorder.note(Self.partition, LogFacts(start: 5, liveFrom: 5, next: 5))
        node.read(5..<6)
        #expect(node.store() == ["0-2: 0 1", "5-6: 5"])
    }

    @Test func `what is held is stored, although Kafka begins behind it by now`() {
        var node = Node()
        node.open(at: 2)
        node.read(2..<5)
        node.claim(0)
        node.resolve(at: 0)
        var recorder = RunRecorder()
        recorder.begin(Self.partition, at: 0, generation: 0)
        recorder.lose(Self.partition)
        recorder.move(Self.partition, to: 4)
        for run in recorder.take().runs() { node.feed.reread(run) }
        #expect(node.store() == ["2-2: "] && node.store() == ["2-5: 2 3 4"])
    }

    @Test func `a gap ends with the first record that is stored behind it`() {
        var node = Node()
        node.open(at: 2)
        node.read(2..<6)
        node.claim(4)
        node.resolve(at: 4)
        let stamps = node.feed.nextBatch()?.runs.map(\.stamps)
        #expect(stamps == [ArchiveBatch.Stamps(first: 4, last: 5, lastOffset: 5)])
    }

    @Test func `another log of the name is read from its beginning, and told`() {
        var node = Node()
        node.open(at: 0)
        node.claim(nil)
        node.resolve(at: 0)
        node.read(0..<3)
        #expect(node.store() == ["0-3: 0 1 2"])
        node.recorder.recreate(topic: 0)
        node.open(at: 0)
        node.read(0..<2)
        #expect(node.store() == [] && node.feed.questions.map(\.next) == [3])
        node.resolve(at: 0, isOtherLog: true)
        #expect(node.store() == ["other 0-2: 0 1"])
    }

    @Test func `nothing is stored of what was erased`() {
        var node = Node()
        node.open(at: 0)
        node.claim(nil)
        node.resolve(at: 0)
        let isTaken = node.feed.erase(Account("A"), until: 3)
        #expect(isTaken)
        node.read(0..<5)
        node.read(5..<6, account: "B")
        #expect(node.store() == ["0-6: 3 4 5"])
    }

    @Test func `as many erasures are remembered as fit, and one more is refused`() {
        var feed = ArchiveFeed(topics: ["t"], maximumErasures: 2)
        #expect(feed.erase(Account("A"), until: 1) && feed.erase(Account("B"), until: 2))
        #expect(!feed.erase(Account("C"), until: 3) && feed.erasures == 2)
        // One that is known already takes no more room.
        let isKnown = feed.erase(Account("A"), until: 4)
        #expect(isKnown)
        feed.forgetErasures(before: 3)
        #expect(feed.erasures == 1 && feed.erase(Account("C"), until: 3))
    }

    @Test func `a wrong stamp hides no other, whether it comes first or last, live or read once more`() {
        var recorder = RunRecorder()
        for (offset, stamp) in ([.max, 5, 6, .max] as [Int64]).enumerated() {
            let event = RecordedEvent(Account("A"), ThinEvent(entity: "e", id: "I", type: "made"))
            recorder.add(event, Self.partition, offset: Int64(offset), stamp: stamp, now: 7)
        }
        recorder.skip(PartitionName(topic: 0, number: 1), offset: 0, stamp: 4)
        let buffer = recorder.take()
        var (live, reread): (Set<Int64>, Set<Int64>) = ([], [])
        buffer.eachStamp { live.insert($0) }
        for run in buffer.runs() { run.eachStamp { reread.insert($0) } }
        #expect(live == [4, 5, 6, .max] && reread == live)
    }

    @Test func `what other nodes store is not held`() {
        var node = Node()
        node.open(at: 0)
        node.read(0..<600)
        node.read(600..<1200)
        node.feed.claim([])
        let held = node.feed.heldBytes
        node.feed.release([StoredPosition(topic: "t", partition: 0, next: 600)], now: 1)
        #expect(held > 0 && node.feed.heldBytes < held && node.feed.waitsSince(ofAll: false) == nil)
        node.claim(600)
        node.resolve(at: 600)
        #expect(node.store().map { $0.prefix(9) } == ["600-1200:"])
    }

    @Test func `what another node writes waits since that one last went on`() {
        var node = Node()
        node.open(at: 0)
        node.claim(0)
        node.resolve(at: 0)
        _ = node.store()
        node.feed.claim([])
        for offset in Int64(0)..<6 { node.read(offset..<offset + 1) }
        func release(_ next: Int64, now: UInt64) -> UInt64? {
            node.feed.release([StoredPosition(topic: "t", partition: 0, next: next)], now: now)
            return node.feed.waitsSince(ofAll: true)
        }
        #expect(release(0, now: 100) == 0 && release(0, now: 200) == 0)
        // It goes on, and is a moment behind; then it hangs.
        #expect(release(3, now: 300) == 300 && release(3, now: 400) == 300)
        #expect(release(5, now: 500) == 500 && release(6, now: 600) == nil)
    }

    /// A log whose every record has an event; a node that loses what it holds, and is killed; a store that is away.
    @Test(arguments: 1...200) func `each event is stored once, or lies in a gap`(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var (start, end): (Int64, Int64) = (0, 10)
        var stored: [Int64] = []
        var position: Int64?
        var gaps: [Range<Int64>] = []
        func take(_ batch: ArchiveBatch) {
            for run in batch.runs {
                if let known = position, run.from > known { gaps.append(known..<run.from) }
                stored += run.events.map(\.offset).filter { $0 >= position ?? run.from }
                position = max(position ?? 0, run.next)
            }
        }
        func begun() -> (Node, Int64) {
            var node = Node(maximumHeldBytes: 3000)
            let live = max(start, Int64.random(in: start...end, using: &generator))
            node.open(at: live)
            return (node, live)
        }
        var (node, live) = begun()
        for step in 0..<300 {
            let isLast = step >= 280
            switch isLast ? 3 : Int.random(in: 0..<12, using: &generator) {
            case 0, 1: end += Int64.random(in: 1...20, using: &generator)
            case 2:
                // Retention, of what the node has read.
                start = max(start, min(live, start + Int64.random(in: 0...10, using: &generator)))
            case 4: (node, live) = begun()
            case 5: node.feed.disclaim()
            case 6:
                if let batch = node.feed.nextBatch() {
                    // Stored or not: the answer never came.
                    if Bool.random(using: &generator) { take(batch) }
                    node.feed.disclaim()
                }
            case 7:
                live = end
                node.feed.miss(DroppedRecords(Self.partition, upTo: live), now: 0, wallClock: 0)
                node.recorder.begin(Self.partition, at: live, generation: 0)
            default:
                if live < end {
                    node.read(live..<end)
                    live = end
                }
                node.claim(position)
                node.resolve(at: position ?? start)
                for behind in node.feed.behind {
                    let from = behind.range.lowerBound
                    var recorder = RunRecorder()
                    recorder.begin(Self.partition, at: from, generation: 0)
                    if from < start {
                        recorder.lose(Self.partition)
                        recorder.move(Self.partition, to: start)
                    } else {
                        for offset in from..<min(from + 15, end) { Node.add(offset, to: &recorder) }
                    }
                    for run in recorder.take().runs() { node.feed.reread(run) }
                }
                if let batch = node.feed.nextBatch() {
                    take(batch)
                    node.feed.appended(now: 0)
                }
            }
        }
        let first = stored.first ?? 0
        let missing = Set(first..<end).subtracting(stored).filter { offset in !gaps.contains { $0.contains(offset) } }
        #expect(Set(stored).count == stored.count, "seed \(seed)")
        #expect(missing.isEmpty && position == end, "seed \(seed): \(missing.sorted()), \(position ?? -1) of \(end)")
    }
}

extension DroppedRecords {
    /// Of a partition that was read up to an offset.
    init(_ partition: PartitionName, upTo offset: Int64) {
        self.init()
        var recorder = RunRecorder()
        recorder.move(partition, to: offset)
        add(recorder.take())
    }
}

/// The same numbers for the same seed.
private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
