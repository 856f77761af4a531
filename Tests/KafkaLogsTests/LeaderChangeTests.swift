// Tests: LogTracker+Checks.swift, LogAnchor.swift
import ScriptedBroker
import Testing

@testable import KafkaLogs

/// The topic's id says nothing of what a new leader has of the log.
@Suite struct `What a new leader has to have` {
    /// Ten records that were read from broker 1, which proved them.
    private var node: TestNode {
        var node = TestNode(brokers: 2, ids: true)
        node.refresh()
        node.write(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        node.drain()
        node.refresh()
        return node
    }

    @Test func `a log that was cut back and is longer than our position again is found out at once`() {
        var node = node
        let proved = node.facts()?.known ?? 0
        // Read after the last refresh, and lost in the election.
        node.write(10, 11)
        node.drain()
        node.broker.setLeader(0, 0, 2)
        node.broker.cutBack(0, 0, to: 10)
        node.write(20, 21, 22, 23)
        node.forget()
        // Before anything of the new leader was read.
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts()?.known ?? 0 <= node.now.wall)
        #expect(node.facts()?.notBefore ?? 0 > proved && node.facts()?.notBefore ?? 0 < node.now.wall)
    }

    @Test(arguments: [false, true])
    func `a log that ends below what was read since the last refresh is found out, though nothing more is written`(
        _ ids: Bool
    ) {
        var node = TestNode(brokers: 2, ids: ids)
        node.refresh()
        node.write(0, 1, 2)
        node.drain()
        node.broker.setLeader(0, 0, 2)
        node.broker.cutBack(0, 0, to: 1)
        node.write(10)
        for _ in 0..<3 {
            node.drain()
            node.refresh()
        }
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [0, 1, 2, 0, 10] && !node.isStalled)
    }

    @Test func `a log that was cut back counts as whole from the moment on at which that was noticed`() {
        var node = node
        // Another node may read, and prove, what this one has not read when it is lost.
        node.broker.setLeader(0, 0, 2)
        node.broker.cutBack(0, 0, to: 8)
        for _ in 0..<2 where node.resyncs.isEmpty { node.refresh() }
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts()?.wholeAfter == node.now.wall + 1)
    }

    @Test func `a leader that cannot be asked for the last record proves nothing`() {
        var node = node
        let proved = node.facts()?.known
        node.broker.setLeader(0, 0, 2)
        node.broker.damage(0, 0, 9)
        for _ in 0..<3 { node.refresh() }
        #expect(node.facts()?.known == proved && node.resyncs == [] && !node.isStalled)
        node.broker.damage(0, 0, 9, false)
        node.refresh()
        #expect(node.facts()?.known ?? 0 > proved ?? 0)
    }

    @Test func `after two leader changes both the log start and the last record have to be shown`() {
        var node = TestNode(brokers: 3, window: 10_000, ids: true)
        Before.deleted.prepare(&node)
        node.refresh()
        let proved = node.facts()?.known ?? 0
        // Two changes behind one another: nothing was known of the log at the first, and a record of its leader at the second.
        node.broker.setLeader(0, 0, 2)
        node.write(10)
        node.drain()
        node.broker.setLeader(0, 0, 3)
        node.broker.damage(0, 0, 4)
        for _ in 0..<2 { node.refresh() }
        #expect(node.facts()?.known == proved && node.resyncs == [])
        node.broker.damage(0, 0, 4, false)
        node.refresh()
        #expect(node.facts()?.known ?? 0 > proved && node.resyncs == [])
    }

    @Test func `a leader that has the last record is asked for it once`() {
        var node = node
        node.broker.setLeader(0, 0, 2)
        node.refresh()
        let proved = node.facts()?.known ?? 0
        #expect(proved > node.now.wall - 2_000 && node.resyncs == [])
        node.broker.damage(0, 0, 9)
        node.refresh()
        #expect(node.facts()?.known ?? 0 > proved)
    }

    /// What stands before the start, from which nothing is read: records; the end of a transaction behind them; nothing any more.
    enum Before: CaseIterable {
        case records, marker, deleted

        func prepare(_ node: inout TestNode) {
            node.write(0, 1, 2, 3, stamp: 1)
            switch self {
            case .records: break
            case .marker: node.broker.remove(0, 0, 3)
            case .deleted: node.broker.deleteRecords(0, 0, before: 4)
            }
        }
    }

    @Test(arguments: Before.allCases, [true, false])
    func `a log that lost its end before anything of it was read, and has grown past it, is found out`(
        _ before: Before, _ ids: Bool
    ) {
        for isRead in [true, false] {
            var node = TestNode(brokers: 2, window: 10_000, ids: ids)
            before.prepare(&node)
            node.refresh()
            #expect(node.facts()?.start == 4)
            // Whoever leads now had neither the last records nor heard of what was deleted.
            node.broker.setLeader(0, 0, 2)
            node.broker.cutBack(0, 0, to: 2)
            node.write(10, 11, 12, 13)
            if isRead { node.drain() }
            for _ in 0..<2 { node.refresh() }
            node.drain()
            #expect(node.resyncs == [.recreated(topic: 0)] && node.records.suffix(4) == [10, 11, 12, 13], "\(isRead)")
        }
    }

    @Test(arguments: Before.allCases, [true, false])
    func `a leader that has what stands before the start proves the log, though nothing of it was read`(
        _ before: Before, _ ids: Bool
    ) {
        var node = TestNode(brokers: 2, window: 10_000, ids: ids)
        before.prepare(&node)
        node.refresh()
        node.drain()
        let proved = node.facts()?.known ?? 0
        node.broker.setLeader(0, 0, 2)
        node.refresh()
        #expect(node.facts()?.known ?? 0 > proved && proved > 0 && node.resyncs == [])
        node.write(4)
        node.drain()
        node.refresh()
        #expect(node.records == [4] && node.resyncs == [])
    }

    @Test func `nothing is read from an end that a leader of before has told`() {
        var node = TestNode(brokers: 2, window: 10_000, ids: true)
        node.broker.setLeader(0, 0, 2)
        node.write(0, 1, 2, 3, stamp: 1)
        var step = 0
        // Which step asks for ends does not matter: behind each of them the next leader takes over.
        while step < 12 {
            var node = node
            node.refresh(beforeStep: step) {
                $0.broker.setLeader(0, 0, 1)
                $0.broker.cutBack(0, 0, to: 2)
                $0.write(10)
            }
            node.wait(500)
            node.write(11, 12)
            for _ in 0..<3 {
                node.drain()
                node.refresh()
            }
            node.drain()
            let isWhole = node.facts()?.start ?? .max <= 3 || node.resyncs == [.recreated(topic: 0)]
            #expect(isWhole && node.records.suffix(2) == [11, 12], "before step \(step): \(node.records)")
            step += 1
        }
    }

    @Test func `of a log of which nothing is known, a new leader proves nothing until something is read`() {
        var node = TestNode(brokers: 2, window: nil, ids: true)
        node.write(0, 1)
        node.broker.damage(0, 0, 1)
        node.refresh()
        node.drain()
        let proved = node.facts()?.known
        node.broker.setLeader(0, 0, 2)
        node.refresh()
        #expect(node.facts()?.known == proved && proved != nil)
        node.write(2)
        node.drain()
        node.refresh()
        #expect(node.facts()?.known ?? 0 > proved ?? 0 && node.resyncs == [])
    }

    @Test func `a right to read that is back is noticed where nothing is written`() {
        var node = node
        var tracker = node.reader.tracker
        tracker.forbidReading(0)
        #expect(tracker.readiness.topicsForbidden == ["t"])
        var broker = node.broker
        for _ in 0..<2 {
            node.wait(LogTracker.rightsPatience)
            var probe = Optional(tracker.beginRefresh(node.now))
            while let asked = probe { probe = tracker.receive(broker.answer(asked), node.now) }
            // The library reports an end once for each assignment.
            let assignments = tracker.takeAssignments()
            #expect(assignments == [.stop(node.name()), .read(node.name(), at: 10)])
            broker.assign(assignments)
        }
        tracker.reachEnd(0, 0, offset: 10, node.now)
        #expect(tracker.readiness.isReady)
    }

    @Test func `an id that is told for the first time is that of the log only once that has held`() {
        var node = TestNode(ids: true)
        node.broker.hasTopicIDs = false
        node.refresh()
        node.write(0, 1, 2)
        node.drain()
        node.refresh()
        node.broker.create(0, partitions: 1)
        node.wait(1_000)
        node.write(10, 11, 12, 13, 14)
        node.broker.hasTopicIDs = true
        node.forget()
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [10, 11, 12, 13, 14])
        for _ in 0..<2 { node.refresh() }
        #expect(node.facts()?.topicID != nil && node.resyncs.count == 1)
    }

    @Test func `a log that was cut back while no id was told keeps its id`() {
        var node = TestNode(ids: true)
        node.refresh()
        node.write(0, 1, 2, 3)
        node.drain()
        node.refresh()
        let id = node.facts()?.topicID
        node.broker.cutBack(0, 0, to: 2)
        node.broker.hasTopicIDs = false
        for _ in 0..<2 { node.refresh() }
        #expect(node.resyncs == [.recreated(topic: 0)])
        node.broker.hasTopicIDs = true
        node.drain()
        for _ in 0..<3 { node.refresh() }
        #expect(node.facts()?.topicID == id && id != nil)
    }

    @Test func `no offset ends the process`() {
        var node = TestNode(partitions: 2)
        node.refresh()
        var tracker = node.reader.tracker
        for offset in [.max, .max - 1, 1 << 62] as [Int64] {
            let reception = tracker.read(
                0, 0, offset: offset, timestamp: 1, broker: 1, isLast: true, node.now)
            #expect(reception == .drop)
        }
        #expect(tracker.loading(wall: 0).offsetsLeft == 0)
    }

    @Test func `the highest offset that a log may have is handed over, and the one behind it is not`() {
        var node = TestNode()
        node.refresh()
        var tracker = node.reader.tracker
        let highest: Int64 = 1 << 61
        #expect(tracker.read(0, 0, offset: highest + 1, timestamp: 1, broker: 1, isLast: true, node.now) == .drop)
        #expect(tracker.facts(of: node.name())?.next == 0)
        let reception = tracker.read(0, 0, offset: highest, timestamp: 1, broker: 1, isLast: true, node.now)
        tracker.endBatch()
        #expect(reception == .handOverMarked && tracker.facts(of: node.name())?.next == highest + 1)
        #expect(tracker.loading(wall: 0).isLoaded)
    }

    @Test(arguments: [256, 257])
    func `of new leaders, 256 are asked in one refresh for the last record, and the others in the next`(_ count: Int) {
        var node = TestNode(brokers: 2, partitions: count, ids: true)
        node.refresh()
        for partition in 0..<count { node.write(partition, to: partition) }
        node.drain()
        node.refresh()
        let proved = node.now.wall
        let provedSince = { (node: TestNode) in (0..<count).count { node.facts($0)?.known ?? 0 > proved } }
        for partition in 0..<count {
            node.broker.setLeader(0, partition, node.broker.log(0, partition).leader == 1 ? 2 : 1)
        }
        node.refresh()
        #expect(provedSince(node) == min(count, 256))
        node.refresh()
        #expect(provedSince(node) == count && node.resyncs == [])
    }

    @Test(arguments: [256, 257, 600])
    func `where followers are read, what is known of any busy partition is no older than its turn`(_ count: Int) {
        var node = TestNode(brokers: 2, partitions: count, ids: true)
        for partition in 0..<count { node.broker.setLeader(0, partition, 1) }
        node.broker.follower = 2
        node.refresh()
        for round in 0..<9 {
            for partition in 0..<count { node.write(round, to: partition) }
            node.drain()
            node.refresh()
        }
        let turns = Int64((count + LogTracker.maximumHandovers - 1) / LogTracker.maximumHandovers)
        let oldest = (0..<count).map { node.facts($0)?.known ?? 0 }.min() ?? 0
        #expect(oldest >= node.now.wall - (turns - 1) * 2_000 && node.resyncs == [])
    }
}
