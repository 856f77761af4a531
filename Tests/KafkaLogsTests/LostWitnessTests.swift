// Tests: LogAnchor.swift, RecreationInference.swift
import ScriptedBroker
import Testing

@testable import KafkaLogs

/// Without ids a log is known by the newest time stamp that was read of it. Compaction may remove that record.
@Suite struct `When the newest record is compacted away` {
    /// Record 0 is of now, record 1 (the newest, far in the future) is gone, and record 2 is older than record 0.
    private func node(newest: Int64, refreshes: Int) -> TestNode {
        var node = TestNode()
        node.refresh()
        node.write(0)
        node.write(1, stamp: newest)
        node.drain()
        node.refresh()
        node.broker.remove(0, 0, 1)
        node.write(2, stamp: node.now.wall - 10_000)
        node.drain()
        for _ in 0..<refreshes { node.refresh() }
        return node
    }

    private static let stamps: [Int64] = [.max, .max - 1, 1_500_000]

    @Test(arguments: stamps, 0..<5)
    func `an older record with a later stamp than the last one is no sign of another log`(stamp: Int64, refreshes: Int)
    {
        var node = node(newest: stamp, refreshes: refreshes)
        node.write(3, stamp: node.now.wall + 80_000)
        node.write(4, stamp: node.now.wall - 5_000)
        node.broker.remove(0, 0, 2)
        let before = node.now.wall
        for _ in 0..<3 { node.refresh() }
        node.drain()
        for _ in 0..<3 { node.refresh() }
        #expect(node.resyncs == [] && node.records == [0, 1, 2, 3, 4])
        #expect(node.facts()?.known ?? 0 > before)
    }

    @Test(arguments: stamps, 0..<5) func `another log is found out`(stamp: Int64, refreshes: Int) {
        for isLastGone in [false, true] {
            var node = node(newest: stamp, refreshes: refreshes)
            // Of a last record that is gone before all else is known, nothing can be said.
            if isLastGone, refreshes > 2 { node.broker.remove(0, 0, 2) }
            node.refresh()
            node.broker.create(0, partitions: 1)
            node.wait(1)
            node.write(10, 11, 12, 13, 14)
            node.forget()
            node.refresh()
            node.drain()
            #expect(node.resyncs == [.recreated(topic: 0)] && node.records == [10, 11, 12, 13, 14])
        }
    }

    @Test func `where all that is left is from the future, the last record is read again`() {
        var node = TestNode()
        node.refresh()
        node.write(0, stamp: 5_000_000)
        node.write(1, stamp: .max)
        node.write(2)
        node.drain()
        node.refresh()
        node.broker.remove(0, 0, 1)
        for _ in 0..<5 { node.refresh() }
        #expect(node.resyncs == [] && node.facts()?.known ?? 0 > node.now.wall - 2_000)
        node.broker.remove(0, 0, 2)
        for _ in 0..<5 { node.refresh() }
        #expect(node.resyncs == [])
        node.broker.create(0, partitions: 1)
        node.write(10, 11, 12, 13, 14)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recreated(topic: 0)] && node.records.suffix(5) == [10, 11, 12, 13, 14])
    }
}
