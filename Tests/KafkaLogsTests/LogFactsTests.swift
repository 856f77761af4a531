import ScriptedBroker
import Testing

@testable import KafkaLogs

/// The window of these nodes is 100 s, and they begin at 1,000 s.
@Suite struct `What is known of what stands before reading's start` {
    private func started(_ prepare: (inout TestNode) -> Void) -> TestNode {
        var node = TestNode()
        prepare(&node)
        node.refresh(after: 0)
        return node
    }

    @Test func `a log that is read from its offset 0 has nothing before it, and the first record tells its age`() {
        var node = started { $0.write(1, stamp: 950_000) }
        #expect(node.facts()?.start == 0 && node.facts()?.unread == nil && node.facts()?.liveFrom == 1)
        node.drain()
        #expect(node.facts()?.born == 950_000 && node.facts()?.known == 1_000_000)
    }

    @Test func `a first record without a good stamp leaves it to the next that has one`() {
        var node = started {
            $0.write(1, stamp: -1)
            $0.write(2, stamp: 2_000_000)
            $0.write(3, stamp: 990_000)
            $0.write(4, stamp: 995_000)
        }
        node.drain()
        #expect(node.facts()?.born == 990_000)
    }

    @Test func `the highest stamp of all is no trap, and compaction beside it no recreation`() {
        var node = started {
            $0.write(1, stamp: .max)
            $0.write(2, stamp: 990_000)
        }
        node.drain()
        node.refresh()
        node.broker.remove(0, 0, 1)
        for _ in 0..<3 { node.refresh() }
        #expect(node.resyncs == [])
    }

    @Test func `deleted records are as old as the first one that is left, if that has a stamp`() {
        let node = started {
            $0.write(1, stamp: 990_000)
            $0.write(2, stamp: -1)
            $0.broker.deleteRecords(0, 0, before: 1)
        }
        #expect(node.facts()?.start == 2 && node.facts()?.unread == .init(stampedBefore: nil, arrivedBefore: 1_000_000))
    }

    @Test func `a refresh that notices a recreation proves nothing of the topic's other partitions`() {
        var node = TestNode(partitions: 2)
        node.write(1)
        node.refresh()
        node.drain()
        node.refresh()
        node.broker.create(0, partitions: 2)
        node.write(2, to: 1)
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)])
        #expect(node.facts()?.notBefore ?? .max <= node.now.wall)
    }

    @Test func `a first record that was read as that of the log before says nothing of when that was there`() {
        var node = TestNode(partitions: 2)
        node.refresh(after: 0)
        let opened = node.now.wall
        node.broker.create(0, partitions: 1)
        node.write(1)
        node.wait(1_000)
        node.drain()
        #expect(node.facts()?.known == node.now.wall)
        node.refresh(after: 500)
        #expect(node.resyncs == [.recreated(topic: 0)])
        #expect(node.facts()?.notBefore == opened + 1, "other nodes have known the new one since")
        // One that was found to be the same once more was there until then.
        node.drain()
        node.refresh()
        let proved = node.now.wall
        node.broker.create(0, partitions: 1)
        node.refresh()
        node.refresh()
        #expect(node.facts()?.notBefore == proved + 1)
    }

    @Test func `a refresh proves nothing of what is read of an empty log meanwhile`() {
        var node = TestNode()
        node.refresh()
        node.write(1)
        node.refresh(beforeStep: 1) { node in
            node.drain()
            node.wait(100)
            // To the next request it is another log.
            node.broker.create(0, partitions: 1)
            node.write(2, 3)
        }
        #expect(node.records == [1] && node.facts()?.known == node.now.wall - 100)
    }

    @Test(arguments: [false, true])
    func `a log of which nothing was read yet is known by nothing standing before its start`(isLost: Bool) {
        var node = started { $0.write(1, 2, 3) }
        if isLost {
            // Retention overtakes the reader, before or after it was opened.
            node.broker.deleteRecords(0, 0, before: 3)
            node.drain()
            node.refresh()
            #expect(node.resyncs == [.recordsLost(node.name(), .retention)])
        } else {
            node = started {
                $0.write(1, 2, 3)
                $0.broker.deleteRecords(0, 0, before: 3)
            }
        }
        node.forget()
        // Another one has grown past our position by the next refresh, with stamps of long ago.
        node.broker.create(0, partitions: 1)
        node.write(4, 5, 6, 7, stamp: 950_000)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)])
        #expect(node.records == [4, 5, 6, 7])
    }

    @Test func `a clock that is set back takes the proof of a later moment with it, a late answer does not`() {
        var node = started { $0.write(1) }
        node.drain()
        node.refresh()
        let proved = node.now.wall
        node.now.wall -= 60_000
        node.refresh(after: 0)
        #expect(node.facts()?.known == proved)
        node.now.wall -= 1
        node.refresh(after: 0)
        #expect(node.facts()?.known == proved - 60_001)
    }

    @Test func `a log that had records and is empty is another one, even if none of them was read`() {
        var node = started { _ in }
        node.write(1)
        node.refresh()
        #expect(node.facts()?.known == node.now.wall)
        node.broker.create(0, partitions: 1)
        node.refresh()
        // A leader of before may tell an end of before, once.
        #expect(node.resyncs == [])
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)])
        #expect(node.facts()?.known == nil)
    }

    @Test(arguments: [Int64.max, 2_000_000])
    func `a log is never younger than the moment at which its first record was read`(bad: Int64) {
        var node = started { $0.write(1, stamp: bad) }
        node.drain()
        #expect(node.facts()?.born == nil && node.facts()?.known == 1_000_000)
        node.wait(5_000)
        node.write(2)
        node.drain()
        #expect(node.facts()?.born == 1_000_000)
    }

    @Test func `behind a beginning that is gone stands no first record`() {
        var node = started {
            $0.write(1, 2, stamp: 950_000)
            $0.broker.remove(0, 0, 0)
        }
        node.drain()
        #expect(node.facts()?.start == 0 && node.facts()?.unread == nil && node.facts()?.born == nil)
    }

    @Test func `where a window begins in the middle, older stamps were not read, and the first record is read once`() {
        var node = started {
            $0.write(1, stamp: 700_000)
            $0.write(2, stamp: 950_000)
        }
        node.drain()
        #expect(node.records == [2])
        #expect(
            node.facts()
                == LogFacts(
                    start: 1, unread: .init(stampedBefore: 900_000, arrivedBefore: 1_000_000), liveFrom: 2,
                    born: 700_000, firstStamp: 700_000, known: 1_000_000, next: 2, end: 2, endAsked: 1_000,
                    endMoment: 1_000_000))
    }

    @Test func `what stands in a partition that is found while others are read counts as arrived then`() {
        var node = TestNode(brokers: 2, partitions: 2)
        node.broker.setLeader(0, 1, nil)
        node.write(1, stamp: 950_000)
        node.write(1, 2, to: 1, stamp: 950_000)
        node.refresh(after: 0)
        #expect(node.facts(0)?.liveFrom == 1 && node.facts(1) == nil && !node.isReady)
        // A leader that is late at the start makes no window younger.
        node.broker.setLeader(0, 1, 2)
        node.broker.addPartitions(0, to: 3)
        node.write(1, 2, 3, to: 2, stamp: 950_000)
        node.refresh()
        #expect(node.facts(1)?.liveFrom == 2 && node.facts(1)?.end == 2)
        #expect(node.facts(2)?.liveFrom == 0 && node.facts(2)?.end == 3)
        // The topic is recreated, and filled before that is noticed.
        node.drain()
        node.broker.create(0, partitions: 1)
        node.write(4, 5, stamp: 950_000)
        for _ in 0..<3 { node.refresh() }
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts()?.liveFrom == 0 && node.facts()?.end == 2)
    }

    @Test func `where nothing stands between the log start and the window's, it is read from the log start`() {
        let node = started {
            $0.write(1, 2, 3, stamp: 950_000)
            $0.broker.remove(0, 0, 0)
            $0.broker.remove(0, 0, 1)
        }
        #expect(node.facts()?.start == 0)
        let trimmed = started {
            $0.write(1, 2, 3, stamp: 950_000)
            $0.broker.remove(0, 0, 1)
            $0.broker.deleteRecords(0, 0, before: 1)
        }
        #expect(trimmed.facts()?.start == 1)
    }

    @Test func `what was deleted from a log that starts inside the window is older than its first record`() {
        var node = started {
            $0.write(1, 2, stamp: 950_000)
            $0.write(3, stamp: 980_000)
            $0.broker.deleteRecords(0, 0, before: 2)
        }
        #expect(node.facts()?.unread == .init(stampedBefore: nil, arrivedBefore: 1_000_000))
        node.drain()
        #expect(node.facts()?.start == 2 && node.facts()?.born == nil)
        #expect(node.facts()?.unread == .init(stampedBefore: 980_000, arrivedBefore: 1_000_000))
    }

    @Test func `what was deleted from an emptied log came before it was found`() {
        var node = started {
            $0.write(1, 2, stamp: 950_000)
            $0.broker.deleteRecords(0, 0, before: 2)
        }
        node.drain()
        #expect(node.facts()?.start == 2 && node.facts()?.next == 2)
        #expect(node.facts()?.unread == .init(stampedBefore: nil, arrivedBefore: 1_000_000))
        node.write(3)
        node.drain()
        #expect(node.facts()?.unread?.stampedBefore == 1_000_000)
    }

    @Test func `a new and empty log is like any other, and known by its first record`() {
        var node = started { _ in }
        node.refresh()
        #expect(node.facts()?.known == nil && node.facts()?.next == 0)
        node.write(1)
        node.drain()
        #expect(node.facts()?.known == 1_002_000)
    }

    @Test func `a partition that was added is read from its start, whatever became of the topic before`() {
        var node = started { $0.write(1) }
        node.drain()
        node.broker.addPartitions(0, to: 2)
        node.write(2, to: 1, stamp: 5)
        node.refresh()
        node.drain()
        #expect(node.records == [1, 2] && node.resyncs == [])
        #expect(node.facts(1)?.start == 0 && node.facts(1)?.unread == nil && node.facts(1)?.notBefore == nil)
        #expect(node.notices == [.partitionsAdded(topic: "t", count: 1)])
    }

    @Test func `facts come before the record that changes them, and count what was handed over`() {
        var node = started { $0.write(1, 2) }
        node.forget()
        let outputs = node.reader.drain(&node.broker, atMost: 10, node.now)
        guard case .change(.facts(_, let facts))? = outputs.first else {
            Issue.record("no facts before the first record: \(outputs)")
            return
        }
        #expect(facts.next == 0 && facts.born == 1_000_000)
        #expect(outputs.count { if case .record = $0 { true } else { false } } == 2)
    }

    @Test func `without a window reading begins at the end`() {
        var node = TestNode(window: nil)
        node.write(1, 2)
        node.refresh()
        node.drain()
        node.write(3)
        node.drain()
        #expect(node.records == [3] && node.isReady)
    }

    @Test func `records that retention removed before they were read are told as lost`() {
        var node = started { $0.write(1) }
        node.drain()
        node.write(2, 3, 4)
        node.broker.deleteRecords(0, 0, before: 3)
        node.drain()
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(), .retention)] && node.records == [1, 4])
        #expect(node.facts()?.start == 3 && node.facts()?.unread?.arrivedBefore == node.now.wall)
        #expect(node.facts()?.liveFrom == 3, "what is left came while the node was running, whatever its stamps say")
    }

    @Test(arguments: [false, true])
    func `one answer that lacks a topic is no proof while it is not known where a log begins now`(_ ids: Bool) {
        var node = TestNode(brokers: 2, ids: ids)
        node.write(1)
        node.refresh()
        node.drain()
        node.write(2, 3, 4)
        node.broker.deleteRecords(0, 0, before: 3)
        node.drain()
        node.wait(2_000)
        // The leader is silent when it is asked for the log start, and another broker forgets the topic.
        var probe = Optional(node.reader.tracker.wantsRefresh)
        while probe == true {
            _ = node.reader.refreshStep(&node.broker, node.now)
            if node.reader.tracker[node.name()]?.lostOpening != nil { node.broker.silent = [1] }
            probe = node.reader.isRefreshing
        }
        #expect(node.facts() == nil && node.resyncs == [])
        node.broker.silent = []
        node.broker.forgetTopics(2)
        node.broker.anyBroker = 2
        node.refresh()
        node.broker.thaw(2)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(), .retention)] && node.records == [1, 4])
    }

    @Test func `first records that do not come are given up for each log by itself`() {
        var node = TestNode(partitions: 2)
        for partition in 0..<2 {
            node.write(1, to: partition, stamp: 1)
            node.write(2, to: partition)
            node.broker.damage(0, partition, 0)
        }
        node.broker.damage = .silent
        node.broker.setLeader(0, 1, nil)
        for _ in 1..<LogTracker.maximumFirstRecordAttempts { node.refresh() }
        #expect(node.facts(0) == nil)
        node.refresh()
        #expect(node.facts(0)?.start == 1 && node.facts(1) == nil)
        node.broker.setLeader(0, 1, 1)
        node.broker.damage(0, 1, 0, false)
        node.refresh()
        #expect(node.facts(1)?.start == 1 && node.facts(1)?.born == 1)
    }

    @Test func `a log that goes on behind all that may be read is held by a transaction, until something is read`() {
        var node = TestNode(partitions: 1)
        node.write(1, to: 0)
        node.refresh()
        node.drain()
        let (name, next) = (node.name(0), node.facts(0)?.next ?? -1)
        func note(_ high: Int64) { node.reader.tracker.noteHighWatermark(name, high, node.now) }
        func isHeld() -> Bool { node.reader.tracker.isHeldByTransaction(name, node.now) }
        for high in [-1_001, next] {
            note(high)
            node.wait(10_000)
            #expect(!isHeld())
        }
        note(next + 2)
        node.wait(4_999)
        note(next + 3)
        #expect(!isHeld())
        node.wait(1)
        #expect(isHeld() && node.reader.tracker.stalledPartitions(node.now)?.first == name)
        // Its transaction ends: what was held back is read.
        node.write(1, to: 0)
        node.refresh()
        node.drain()
        #expect(!isHeld())
        // Records that may be read and are not held back by anything else.
        node.write(1, to: 0)
        node.refresh()
        note(next + 9)
        node.wait(10_000)
        #expect(!isHeld())
    }

    @Test func `the partition that is stalled for longest has a name`() {
        var node = TestNode(partitions: 2)
        node.refresh()
        node.drain()
        #expect(node.reader.tracker.stalledPartitions(node.now) == nil)
        node.write(1, to: 1)
        node.refresh()
        node.write(2, to: 0)
        node.refresh()
        node.refresh()
        let stalled = node.reader.tracker.stalledPartitions(node.now)
        #expect(stalled?.first == node.name(1) && stalled?.count == 2)
    }
}
