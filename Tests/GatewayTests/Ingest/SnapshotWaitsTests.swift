// Tests: SnapshotWaits.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Gateway

/// Pages whose store is ahead of the node, because another node writes it.
struct SnapshotWaitsTests {
    private static func ask(
        _ number: UInt64, _ positions: [(Int32, Int64)], seen: UInt64? = nil
    ) -> IngestMessage {
        let positions = positions.map {
            PartitionPosition(partition: PartitionName(topic: 0, number: $0.0), next: $0.1, log: KnownLog(known: .max))
        }
        return .snapshotCursor(
            IngestBench.subscriber("A", number), ArchiveSnapshot(positions: positions, seen: seen))
    }

    @Test func `a cursor comes at once where all is read, and else with the wake that reads it`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.take(.event("A", "1"), .event("A", "2"))
        bench.take(Self.ask(1, [(0, 1)]))
        bench.take(Self.ask(2, [(0, 3)]))
        #expect(await bench.takeLines(ofLoop: 0) == ["cursor 1 behind 0:1"])
        bench.take(.event("B", "x"))
        #expect(await bench.takeLines(ofLoop: 0) == ["cursor 2 0:3"])
        #expect(bench.ingest.snapshots.count == 0)
    }

    @Test(
        arguments: [
            // How far the store is, what had been read at the first question, whether another page may hold more.
            (2, nil, false), (1, nil, true), (1, 1, false), (1, 2, true), (0, 1, true), (0, 0, false),
        ] as [(Int64, UInt64?, Bool)]) func `a page lacks what had been read when it was asked for first`(
            stored: Int64, seen: UInt64?, isBehind: Bool
        ) async throws
    {
        let bench = try IngestBench(loops: 1)
        bench.take(.event("A", "1"), .event("A", "2"), .event("B", "3"))
        bench.take(Self.ask(1, [(0, stored)], seen: seen))
        #expect(await bench.takeLines(ofLoop: 0) == ["cursor 1" + (isBehind ? " behind" : "") + " 0:\(stored)"])
    }

    @Test func `who has waited for a second is refused`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.take(Self.ask(1, [(0, 1)]), now: 70)
        bench.ingest.serveSnapshots(now: 69 + SnapshotWaits.milliseconds)
        #expect(await bench.takeLines(ofLoop: 0) == [])
        bench.ingest.serveSnapshots(now: 70 + SnapshotWaits.milliseconds)
        #expect(await bench.takeLines(ofLoop: 0) == ["cursor 1"])
        // What comes later is nobody's any more.
        bench.take(.event("A", "1"))
        #expect(await bench.takeLines(ofLoop: 0) == [])
    }

    @Test func `as many wait as may, and one more is refused`() async throws {
        let bench = try IngestBench(loops: 1)
        for number in 0..<UInt64(SnapshotWaits.maximum) { bench.take(Self.ask(number, [(0, 1)])) }
        bench.take(Self.ask(7_777, [(0, 1)]))
        #expect(await bench.takeLines(ofLoop: 0) == ["cursor 7777"])
        #expect(bench.ingest.snapshots.count == SnapshotWaits.maximum)
    }
}
