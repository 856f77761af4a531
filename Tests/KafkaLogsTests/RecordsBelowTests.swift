// Tests: LogTracker+Records.swift

import ScriptedBroker
import Testing

@testable import KafkaLogs

/// A log that only grows gives no record below the position. Where one comes all the same, nothing is left out in silence.
@Suite struct `A record below the position` {
    /// Has read the records 0 to 2, and stands at 3.
    private var node: TestNode {
        var node = TestNode()
        node.write(1, 2, 3)
        node.refresh()
        node.drain()
        node.forget()
        return node
    }

    private func read(_ node: inout TestNode, _ offset: Int64) -> LogTracker.Reception {
        node.reader.tracker.read(0, 0, offset: offset, timestamp: 1, broker: 1, isLast: true, node.now)
    }

    private func resyncs(_ node: inout TestNode) -> [LogChange] {
        node.reader.tracker.takeChanges().filter { if case .recordsLost = $0 { true } else { false } }
    }

    @Test func `that was handed over is left out, and told`() {
        var node = node
        #expect(read(&node, 1) == .drop && read(&node, 2) == .drop)
        #expect(node.reader.tracker.recordsBelow == RecordsBelow(repeated: 2) && resyncs(&node) == [])
        #expect(node.facts()?.next == 3)
        #expect(
            node.reader.takeNotices()
                == [1, 2].map {
                    .recordRepeated(topic: "t", partition: 0, offset: $0, position: 3)
                })
    }

    @Test func `that lies before the window is left out`() {
        var node = TestNode(window: 1_000)
        node.write(1, 2)
        node.wait(5_000)
        node.write(3)
        node.refresh(after: 10)
        node.drain()
        #expect(node.records == [3] && node.facts()?.start == 2)
        #expect(read(&node, 1) == .drop && node.reader.tracker.recordsBelow == RecordsBelow(repeated: 1))
        #expect(resyncs(&node) == [])
    }

    @Test func `that was never handed over is, behind a resync`() {
        var node = node
        // The position went ahead of what was read.
        node.reader.tracker.reachEnd(0, 0, offset: 8, node.now)
        _ = node.reader.tracker.takeChanges()
        #expect(node.facts()?.next == 8)
        #expect(read(&node, 5) == .handOverMarked)
        #expect(resyncs(&node) == [.recordsLost(node.name(), .passedOver)])
        // What is told comes before the record.
        #expect(node.facts()?.next == 5 && node.facts()?.start == 5)
        node.reader.tracker.endBatch()
        #expect(node.facts()?.next == 6 && read(&node, 6) != .drop)
        #expect(node.reader.tracker.recordsBelow == RecordsBelow(unread: 1))
        #expect(
            node.reader.takeNotices() == [.recordsPassedOver(topic: "t", partition: 0, offset: 5, position: 8)])
    }

    @Test func `by the word of whoever keeps the records is lost, and told`() {
        var node = node
        node.reader.tracker.passOver(node.name(), node.now)
        #expect(resyncs(&node) == [.recordsLost(node.name(), .passedOver)] && node.facts()?.next == 3)
        #expect(node.reader.tracker.recordsBelow == RecordsBelow(unread: 1))
        node.write(4)
        node.drain()
        #expect(node.records == [4])
    }

    @Test func `in a row from the last one down is told each, and read again it is left out`() {
        var node = node
        node.reader.tracker.reachEnd(0, 0, offset: 8, node.now)
        for offset in [7, 6, 4] as [Int64] {
            _ = node.reader.tracker.takeChanges()
            #expect(
                read(&node, offset) == .handOverMarked && resyncs(&node) == [.recordsLost(node.name(), .passedOver)])
            node.reader.tracker.endBatch()
            #expect(node.facts()?.start == offset && node.facts()?.next == offset + 1)
        }
        #expect(read(&node, 4) == .drop && read(&node, 2) == .drop && resyncs(&node) == [])
        #expect(node.reader.tracker.recordsBelow == RecordsBelow(repeated: 2, unread: 3))
    }

    @Test func `makes what was known of its log until then count as of another`() {
        for ids in [false, true] {
            var node = TestNode(partitions: 2, ids: ids)
            node.write(1, 2, 3)
            node.refresh()
            node.drain()
            node.refresh()
            let stored = node.facts().map(KnownLog.init)
            node.wait(1_000)
            node.reader.tracker.reachEnd(0, 0, offset: 8, node.now)
            _ = read(&node, 5)
            node.reader.tracker.endBatch()
            let wrong = node.now.wall + 1
            #expect(node.facts()?.notBefore == wrong && node.facts()?.wholeAfter == wrong)
            #expect(node.facts().map { stored?.verdict($0) } == .other, "a store's position may be ahead of it")
            #expect(node.facts(1)?.notBefore == nil && node.reader.tracker.wantsRefresh)
        }
    }

    @Test func `in the window that is still to be loaded keeps the node from being loaded`() {
        var node = TestNode()
        node.write(1, 2, 3)
        node.refresh()
        node.reader.tracker.reachEnd(0, 0, offset: 3, node.now)
        #expect(node.reader.tracker.isLoaded)
        #expect(read(&node, 1) == .handOverMarked && !node.reader.tracker.isLoaded)
        #expect(read(&node, 2) != .drop && node.reader.tracker.isLoaded)
    }
}
