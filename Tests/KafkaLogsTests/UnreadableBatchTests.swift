// Tests: LogTracker+Unreadable.swift
import ScriptedBroker
import Testing

@testable import KafkaLogs

@Suite struct `A batch that cannot be read` {
    private var node: TestNode {
        var node = TestNode()
        node.write(1, 2, 3, 4)
        return node
    }

    @Test func `is read a second time, and what was only damaged on its way is not lost`() {
        var node = node
        node.broker.damage(0, 0, 1)
        node.refresh()
        _ = node.reader.drain(&node.broker, atMost: 2, node.now)
        node.broker.damage(0, 0, 1, false)
        node.drain()
        #expect(node.records == [2, 3, 4] && node.resyncs == [])
    }

    @Test func `makes everybody resync, and is read on behind`() {
        var node = node
        node.broker.damage(0, 0, 1)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(), .unreadable)] && node.records == [1, 3, 4])
        #expect(node.facts()?.start == 2 && node.facts()?.next == 4)
        node.write(5)
        node.drain()
        #expect(node.records == [1, 3, 4, 5] && node.resyncs.count == 1)
    }

    @Test func `at the end of the log is left behind at the next refresh`() {
        var node = node
        node.refresh()
        node.drain()
        node.write(5, 6)
        node.broker.damage(0, 0, 4)
        node.broker.damage(0, 0, 5)
        node.drain()
        #expect(node.reader.tracker.wantsRefresh)
        node.refresh()
        node.write(7)
        node.drain()
        #expect(node.resyncs.last == .recordsLost(node.name(), .unreadable) && node.records == [1, 2, 3, 4, 7])
        #expect(!node.isStalled)
    }

    @Test(arguments: [1, 2, 3, 100])
    func `that is asked for again and again is left behind at its own end`(_ count: Int) {
        var node = node
        node.broker.damage = .repeated
        node.refresh()
        node.drain()
        for payload in 5..<205 { node.write(payload) }
        for offset in 4..<4 + count { node.broker.damage(0, 0, Int64(offset)) }
        node.drain()
        #expect(node.resyncs == [] && node.reader.tracker.wantsRefresh)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(), .unreadable)])
        #expect(node.records == Array(1...4) + Array((5 + count)..<205))
        #expect(node.facts()?.start == Int64(4 + count) && node.facts()?.next == 204 && !node.isStalled)
    }

    @Test(arguments: [8, 9])
    func `is searched for its end in 8 partitions at once, and in the others later`(_ count: Int) {
        var node = TestNode(partitions: count)
        node.broker.damage = .repeated
        node.refresh()
        for partition in 0..<count {
            node.write(0, 1, 2, to: partition)
            node.broker.damage(0, partition, 1)
        }
        node.drain()
        #expect(node.records == Array(repeating: 0, count: count))
        node.wait(2_000)
        var tracker = node.reader.tracker
        var largest = 0
        var probe = Optional(tracker.beginRefresh(node.now))
        while let asked = probe {
            if case .recordsBehind? = tracker.refresh?.step, case .records(let questions) = asked.question {
                largest = max(largest, questions.count)
            }
            probe = tracker.receive(node.broker.answer(asked), node.now)
        }
        #expect(largest == 8)
        node.refresh()
        node.drain()
        #expect(node.records.count == 2 * count && node.resyncs.count == count)
    }

    @Test(arguments: [false, true])
    func `in which the library gets lost is searched for its end, once it was read twice`(_ isReadTwice: Bool) {
        var node = node
        node.refresh()
        node.drain()
        var tracker = node.reader.tracker
        tracker.fail(0, 0, reason: "a checksum", node.now)
        _ = tracker.takeAssignments()
        if isReadTwice { tracker.fail(0, 0, reason: "a checksum", node.now) }
        // It takes bytes of the batch for the offset of the next one.
        tracker.refuse(0, 0, offset: 0x6162_6364, node.now)
        let partition = tracker[node.name()]
        #expect(partition?.refused == nil && partition?.isAssigned == false && tracker.wantsRefresh)
        #expect(partition?.search?.question(end: 10) == (isReadTwice ? 5 : 4))
    }

    @Test(arguments: [(4, true), (5, true), (6, false), (0x6162_6364, false)] as [(Int64, Bool)])
    func `without a word of which the library gets lost says nothing of the log`(_ offset: Int64, _ isDoubtful: Bool) {
        var node = node
        node.refresh()
        node.drain()
        node.write(5)
        node.refresh()
        // The log ends at 5, and 4 records were read.
        var tracker = node.reader.tracker
        tracker.refuse(0, 0, offset: offset, node.now)
        #expect((tracker[node.name()]?.refused != nil) == isDoubtful)
        let assignments = tracker.takeAssignments()
        #expect(assignments == (isDoubtful ? [] : [.stop(node.name()), .read(node.name(), at: 4)]))
        // Lost once more: what stands behind is searched for.
        if !isDoubtful { tracker.refuse(0, 0, offset: offset, node.now) }
        #expect((tracker[node.name()]?.search != nil) == !isDoubtful)
    }

    @Test func `in the window leaves the rest of the window to be loaded, as old as it is`() {
        var node = node
        for payload in 5..<205 { node.write(payload) }
        node.broker.damage(0, 0, 2)
        node.refresh()
        _ = node.reader.drain(&node.broker, atMost: 3, node.now)
        _ = node.reader.drain(&node.broker, atMost: 2, node.now)
        #expect(node.facts()?.start == 3 && node.facts()?.next == 4 && node.facts()?.liveFrom == 204 && !node.isReady)
        node.drain()
        #expect(node.isReady && node.facts()?.next == 204)
    }

    @Test func `of which the library says nothing is left behind half a minute later, and is stalled until then`() {
        var node = node
        node.broker.damage = .silent
        node.refresh()
        node.drain()
        node.write(5, 6, 7, 8)
        for offset in 4..<6 { node.broker.damage(0, 0, Int64(offset)) }
        var waited: Int64 = 0
        while node.resyncs.isEmpty, waited < 60_000 {
            node.refresh()
            node.drain()
            waited += 2_000
            #expect(node.isStalled == (waited > 2_000 && node.resyncs.isEmpty))
        }
        #expect(waited > LogTracker.standstillPatience && waited <= LogTracker.standstillPatience + 4_000)
        #expect(node.resyncs == [.recordsLost(node.name(), .unreadable)] && node.records == [1, 2, 3, 4, 7, 8])
    }

    @Test func `bounds what was lost by the first good stamp behind it`() {
        var node = TestNode()
        for (payload, stamp) in [(1, 940_000), (2, 950_000), (3, -1), (4, 960_000), (5, 970_000)] as [(Int, Int64)] {
            node.write(payload, stamp: stamp)
        }
        node.broker.damage(0, 0, 1)
        node.refresh()
        node.drain()
        #expect(node.records == [1, 3, 4, 5])
        #expect(node.facts()?.unread == .init(stampedBefore: 960_000, arrivedBefore: node.now.wall))
    }

    @Test func `at which the window would begin is left behind, and the log is read from its start`() {
        var node = TestNode()
        node.write(1, 2)
        node.wait(1_000_000)
        node.write(3, 4, 5)
        node.broker.refusesDamaged = true
        node.broker.damage(0, 0, 2)
        for _ in 0..<LogTracker.maximumWindowRefusals {
            node.refresh()
            #expect(node.facts() == nil && !node.isReady)
        }
        node.refresh()
        node.drain()
        #expect(node.isReady && node.records == [1, 2, 4, 5])
        #expect(node.resyncs == [.recordsLost(node.name(), .unreadable)])
    }

    @Test func `of which the library says nothing at the end of the log is waited for`() {
        var node = node
        node.broker.damage = .silent
        node.refresh()
        node.drain()
        node.write(5)
        node.broker.damage(0, 0, 4)
        for _ in 0..<40 { node.refresh() }
        #expect(node.isStalled && node.resyncs == [])
        node.broker.damage(0, 0, 4, false)
        node.drain()
        #expect(node.records == [1, 2, 3, 4, 5] && node.resyncs == [] && !node.isStalled)
    }

    @Test func `that is reported twice, and then no more, is left behind when nothing else comes`() {
        var node = node
        node.broker.damage = .repeated
        node.refresh()
        node.drain()
        node.write(5, 6, 7)
        node.broker.damage(0, 0, 4)
        for _ in 0..<2 { _ = node.reader.drain(&node.broker, atMost: 10, node.now) }
        #expect(node.resyncs == [] && !node.reader.tracker.wantsRefresh)
        node.broker.damage = .silent
        for _ in 0..<2 {
            #expect(node.resyncs == [])
            node.refresh()
        }
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(), .unreadable)] && node.records == [1, 2, 3, 4, 6, 7])
    }

    @Test func `is searched for no longer when it can be read after all`() {
        var node = node
        node.broker.damage = .silent
        node.refresh()
        node.drain()
        node.write(5, 6)
        node.broker.damage(0, 0, 4)
        for _ in 0..<14 { node.refresh() }
        // The search goes on over several refreshes where answers take their time.
        node.broker.silent = [1]
        node.refresh()
        node.broker.silent = []
        node.broker.damage(0, 0, 4, false)
        node.drain()
        for _ in 0..<40 { node.refresh() }
        #expect(node.records == [1, 2, 3, 4, 5, 6] && node.resyncs == [] && !node.isStalled)
    }

    @Test func `each of several has its own two attempts`() {
        var node = node
        node.broker.damage(0, 0, 0)
        node.broker.damage(0, 0, 2)
        node.refresh()
        node.drain()
        #expect(node.resyncs.count == 2 && node.records == [2, 4])
    }

    @Test func `a partition that stands still although its end is further is stalled within 5 s`() {
        var node = node
        node.refresh()
        node.drain()
        #expect(!node.isStalled)
        // Its fetches come to nothing, and its end is told.
        node.write(5)
        node.refresh()
        node.wait(1_900)
        #expect(!node.isStalled)
        node.refresh(after: 100)
        #expect(node.isStalled)
        node.drain()
        #expect(!node.isStalled && node.resyncs == [])
    }
}
