// Tests: LogTracker+Identity.swift
import ScriptedBroker
import Testing

@testable import KafkaLogs

/// The id of a topic is told by each leader for its own logs: one that is behind its controller has those of before.
@Suite struct `What each leader tells of a topic's id` {
    /// Ten records in each of two partitions, led by brokers 1 and 2, were read. Then broker 2 hears nothing any more.
    private var node: TestNode {
        var node = TestNode(brokers: 2, partitions: 2, ids: true)
        node.refresh()
        for partition in 0..<2 { node.write(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, to: partition) }
        node.drain()
        node.refresh()
        node.broker.freezeWithLogs(2)
        return node
    }

    @Test func `a leader that is behind is not believed about the log that it has`() {
        var node = node
        node.broker.create(0, partitions: 2)
        node.wait(1)
        node.write(10, 11, 12)
        node.write(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, to: 1)
        node.forget()
        for _ in 0..<3 {
            node.refresh()
            node.drain()
        }
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [10, 11, 12])
        #expect(node.facts(0)?.topicID != nil && node.facts(1) == nil && !node.isReady)
        node.broker.thaw(2)
        node.refresh()
        node.drain()
        #expect(node.records == [10, 11, 12] + Array(20...34) && node.resyncs.count == 1 && node.isReady)
        #expect(node.facts(1)?.topicID == node.facts(0)?.topicID)
    }

    @Test func `what it has proves nothing of what was read from another leader`() {
        var node = node
        node.broker.thaw(2)
        node.broker.create(0, partitions: 2)
        node.refresh()
        node.write(10)
        node.drain()
        node.refresh()
        let proved = node.facts(0)?.known
        // It restarts with what it had long ago, and is told to lead.
        node.broker.freezeWithLogs(2, as: self.node.broker)
        node.broker.setLeader(0, 0, 2)
        node.forget()
        for _ in 0..<3 { node.refresh() }
        #expect(node.facts(0)?.known == proved && node.resyncs == [])
    }

    @Test func `a leader that tells no id is believed as where there are none`() {
        var node = TestNode(brokers: 2, partitions: 2, ids: true)
        node.broker.idless = [2]
        for partition in 0..<2 { node.write(0, 1, 2, to: partition) }
        node.refresh()
        node.drain()
        #expect(node.isReady && node.records.count == 6 && node.facts(1)?.topicID != nil)
        let before = node.now.wall
        for _ in 0..<2 { node.refresh() }
        #expect(node.facts(1)?.known ?? 0 > before && node.resyncs == [])
        // By what is inferred: a log that took the name is found out.
        node.broker.create(0, partitions: 2)
        node.broker.idless = [1, 2]
        node.wait(1)
        node.write(10, 11, 12, 13, to: 1)
        node.refresh()
        #expect(node.resyncs == [.recreated(topic: 0)])
    }

    @Test func `a log that was opened while its leader told no id is not known by the id that it tells later`() {
        var node = node
        node.broker.idless = [2]
        node.broker.create(0, partitions: 2)
        node.wait(1)
        node.write(10, 11)
        node.write(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, to: 1)
        node.forget()
        for _ in 0..<3 {
            node.refresh()
            node.drain()
        }
        // Broker 2 has the log of before, and nothing says so.
        #expect(node.resyncs == [.recreated(topic: 0)] && node.facts(1)?.next == 10)
        node.broker.idless = []
        node.broker.thaw(2)
        node.forget()
        for _ in 0..<3 {
            node.refresh()
            node.drain()
        }
        #expect(node.resyncs == [.recreated(topic: 0)] && Set(20...34).isSubset(of: Set(node.records)))
    }

    @Test func `an id of before is not believed of a log either, where no other is known`() {
        var node = node
        // The leader that answers lacks the topic: its id is retired.
        node.broker.silent = [2]
        node.broker.delete(0)
        for _ in 0..<2 { node.refresh() }
        node.broker.create(0, partitions: 2)
        (node.broker.silent, node.broker.idless) = ([], [1])
        node.write(20, 21, 22, 23, to: 1)
        node.forget()
        for _ in 0..<2 {
            node.refresh()
            node.drain()
        }
        #expect(node.records == [])
    }

    @Test func `at the start nothing is read while leaders tell different ids`() {
        var node = TestNode(brokers: 2, partitions: 2, ids: true)
        for partition in 0..<2 { node.write(0, 1, 2, to: partition) }
        node.broker.freezeWithLogs(2)
        node.broker.create(0, partitions: 2)
        node.write(10)
        node.write(20, 21, 22, 23, to: 1)
        for _ in 0..<3 {
            node.refresh()
            node.drain()
        }
        #expect(node.records == [] && !node.isReady && node.notices.contains(.brokersDisagree))
        node.broker.thaw(2)
        node.refresh()
        node.drain()
        #expect(node.records.sorted() == [10, 20, 21, 22, 23] && node.isReady && node.resyncs == [])
    }

    /// The present id was retired here for an older one, which the leader tells no more. Returns that id too.
    private static func nodeWithRetiredID() -> (node: TestNode, present: UInt32?) {
        var node = TestNode(brokers: 2, partitions: 2, ids: true)
        node.broker.freezeWithLogs(2)
        node.broker.create(0, partitions: 2)
        node.broker.silent = [2]
        while !node.broker.assigned.contains(node.name(0)) { node.refresh() }
        let present = node.facts(0)?.topicID
        #expect(present != nil)
        // It tells an older id that nobody knows here.
        node.broker.silent = []
        node.refresh()
        #expect(node.facts(0)?.topicID != present)
        node.broker.thaw(2)
        return (node, present)
    }

    @Test func `an id of before that all leaders tell for long is the present one`() {
        var (node, present) = Self.nodeWithRetiredID()
        node.write(10)
        node.write(20, to: 1)
        for _ in 0..<7 {
            node.refresh()
            node.drain()
        }
        #expect(node.facts(0)?.topicID == present && node.facts(1)?.topicID == present && node.isReady)
        #expect(Set(node.records) == [10, 20])
        let count = node.resyncs.count
        for _ in 0..<5 { node.refresh() }
        #expect(node.resyncs.count == count)
    }

    /// The time from the first refresh in which it is told to the second, whether a leader told an id in between, and
    /// whether it returns.
    @Test(arguments: [(9_999, true, false), (10_000, true, true), (10_000, false, false)] as [(Int64, Bool, Bool)])
    func `an id of before has to be told for so long, in each refresh`(
        milliseconds: Int64, isToldInBetween: Bool, returns: Bool
    ) {
        var (node, present) = Self.nodeWithRetiredID()
        node.refresh()
        if !isToldInBetween { node.broker.idless = [1, 2] }
        node.refresh(after: 2_000)
        node.broker.idless = []
        node.refresh(after: milliseconds - 2_000)
        node.refresh(after: 0)
        #expect((node.facts(0)?.topicID == present) == returns)
    }
}
