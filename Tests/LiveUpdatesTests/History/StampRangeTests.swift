// Tests: PartitionLog.swift, AccountLog.swift, Cursor.swift, History+Cursors.swift

import Testing

@testable import LiveUpdates

/// Brokers take any number as a time stamp; −1 alone is none.
@Suite struct `Every time stamp keeps what it is` {
    static let stamps: [Int64] = [
        .min, .min + 1, -1 << 48, -1_001, -2, -1, 0, 1, 1 << 48 - 2, 1 << 48 - 1, .max - 1, .max,
    ]

    @Test(arguments: stamps) func `in its log, to clients, and in the fingerprint of a cursor`(_ stamp: Int64) {
        let node = TestHistory()
        node.openWhole(born: 0)
        let before = node.fresh()
        node.take(0)
        node.take(1, at: stamp)
        node.take(2)
        let found = node.replay(before) ?? []
        #expect(found.map(\.timestamp) == [node.now, stamp, node.now])
        let at = found.count == 3 ? found[1].at : []
        #expect(node.offsets(at) == [2])
        let fingerprint = Cursor(at)?.fingerprint
        for other in Self.stamps { #expect(fingerprint?.fits(other) == (other == stamp), "\(other)") }
    }

    /// One without a stamp is as old as it came.
    @Test(arguments: zip(stamps.filter { $0 != -1 }, stamps.filter { $0 != -1 }.dropFirst()))
    func `from a full log the older event goes`(_ older: Int64, _ newer: Int64) {
        for olderPartition in [TestHistory.first, TestHistory.second] {
            let newerPartition = olderPartition == TestHistory.first ? TestHistory.second : TestHistory.first
            let node = TestHistory { $0.maximumEventsPerAccount = 2 }
            for partition in [TestHistory.first, TestHistory.second] { node.openWhole(partition, born: 0) }
            node.take(0, in: newerPartition, at: newer)
            node.take(0, in: olderPartition, at: older)
            node.take(1, in: newerPartition)
            let left = node.history.log(of: TestHistory.account)?.parts.filter { $0.count > 0 }.map(\.partition)
            #expect(left == [newerPartition])
        }
    }
}
