// Tests: Ingest+Resets.swift

import LiveUpdates
import Testing

@testable import Gateway

/// A reset of a node with many accounts: told in slices, and for each account before everything that follows.
struct ResetTests {
    private static let slice = Ingest.accountsPerSlice
    private static let count = 3 * slice

    private func name(_ number: Int) -> String { "A\(number)" }

    /// Three slices of accounts, each with one subscriber; every other one on the second loop.
    private func bench() async throws -> IngestBench {
        let bench = try IngestBench(loops: 2)
        for number in 0..<Self.count { bench.subscribe(name(number), loop: number % 2, UInt64(number)) }
        for loop in 0..<2 { _ = await bench.takeLines(ofLoop: loop) }
        return bench
    }

    private func reset(_ bench: IngestBench) {
        bench.ingest.reset([.topic(0)], wallClock: 1_000)
        bench.open()
    }

    @Test func `a bounded number of accounts is told at a time, and each of them once`() async throws {
        let bench = try await bench()
        reset(bench)
        for slices in 1...3 {
            #expect(await bench.told(onLoops: 2).count == slices * Self.slice)
            #expect(bench.ingest.owesReset == (slices < 3))
            bench.ingest.continueReset(wallClock: 1_000)
        }
        let told = await bench.told(onLoops: 2)
        #expect(told.count == Self.count && Set(told).count == Self.count)
    }

    @Test func `a slice goes over a bounded number of slots, though nobody is left in most of them`() async throws {
        let bench = try IngestBench(loops: 1)
        for number in 0...Ingest.slotsPerSlice { bench.subscribe(name(number), loop: 0, UInt64(number)) }
        for number in 0..<(Ingest.slotsPerSlice - 1) {
            _ = bench.take(
                .unsubscribe(IngestBench.subscriber(name(number), UInt64(number)), withCursors: false))
        }
        _ = await bench.takeLines(ofLoop: 0)
        reset(bench)
        #expect(await bench.told(onLoops: 1) == [name(Ingest.slotsPerSlice - 1)])
        bench.ingest.continueReset(wallClock: 1_000)
        let both = [name(Ingest.slotsPerSlice - 1), name(Ingest.slotsPerSlice)]
        #expect(await bench.told(onLoops: 1) == both)
        while bench.ingest.owesReset { bench.ingest.continueReset(wallClock: 1_000) }
        #expect(await bench.told(onLoops: 1) == both)
    }

    @Test func `whoever was not told yet is told before its next event, and not again`() async throws {
        let bench = try await bench()
        reset(bench)
        _ = await bench.takeLines(ofLoop: 1)
        let last = name(Self.count - 1)
        bench.take(.event("nobody", "0"), .event(last, "1"), .event(last, "2"))
        #expect(await bench.takeLines(ofLoop: 1) == ["reset epoch [\"\(last)\"]", "\(last):1,2"])
        while bench.ingest.owesReset { bench.ingest.continueReset(wallClock: 1_000) }
        bench.take(.event(last, "3"))
        let lines = await bench.takeLines(ofLoop: 1)
        #expect(lines.last == "\(last):3")
        #expect(!lines.dropLast().contains { $0.contains("\"\(last)\"") })
    }

    @Test func `the cursor of a reset stands before what came since, however late it was made`() async throws {
        let bench = try await bench()
        reset(bench)
        let last = name(Self.count - 1)
        bench.take(.event("nobody", "0"), .event(last, "1"), .event("nobody", "x"), .event(last, "2"))
        bench.take(.event(last, "3"))
        let cursor = try #require(await bench.cursor(of: last, onLoop: 1))
        bench.take(
            .subscribe(
                IngestBench.subscriber(last, loop: 1, 9_999), JoinRequest(since: cursor.bytes, page: IngestBench.page)))
        // It says the record that was read last by then, of which there have been others since.
        let record = ProbedRecord.record(timestamp: 1_000, account: Account("nobody"))
        let found = RecordProbes.Found(probe: .init(partition: IngestBench.partition, offset: 0), record: record)
        bench.ingest.probed([found], now: 0, wallClock: 1_000)
        #expect(await bench.takeLines(ofLoop: 1).last == "joined 9999 resumed 1,2,3. fresh")
    }

    @Test func `whoever was not told yet is told before any answer`() async throws {
        for request in 0..<3 {
            let bench = try await bench()
            reset(bench)
            _ = await bench.takeLines(ofLoop: 0)
            let account = name(Self.count - 2)
            let subscriber = IngestBench.subscriber(account, loop: 0, UInt64(Self.count - 2))
            let (message, answer): (IngestMessage, String) =
                switch request {
                case 0:
                    (
                        .read(
                            subscriber,
                            ReadRequest(position: StreamPosition(sequence: 0), page: IngestBench.page)),
                        "page \(Self.count - 2) lost"
                    )
                case 1: (.freshCursor(subscriber), "fresh \(Self.count - 2)")
                default: (.subscribe(subscriber, JoinRequest(page: IngestBench.page)), "joined \(Self.count - 2)")
                }
            bench.take(message)
            #expect(await bench.takeLines(ofLoop: 0) == ["reset epoch [\"\(account)\"]", answer])
        }
    }

    @Test func `whoever begins to follow an account after a reset has nothing to be told`() async throws {
        let bench = try await bench()
        reset(bench)
        _ = await bench.takeLines(ofLoop: 0)
        bench.subscribe("new", loop: 0, 9_999)
        bench.take(.event("new", "1"))
        #expect(await bench.takeLines(ofLoop: 0) == ["joined 9999", "new:1"])
        while bench.ingest.owesReset { bench.ingest.continueReset(wallClock: 1_000) }
        #expect(!(await bench.takeLines(ofLoop: 0)).contains { $0.contains("\"new\"") })
    }

    @Test func `a reset in the middle of another one is told to all, with the stronger reason`() async throws {
        let bench = try await bench()
        reset(bench)
        for loop in 0..<2 { _ = await bench.takeLines(ofLoop: loop) }
        bench.ingest.reset([.partition(IngestBench.partition)], wallClock: 1_000)
        while bench.ingest.owesReset { bench.ingest.continueReset(wallClock: 1_000) }
        let lines = await bench.takeLines(ofLoop: 0)
        #expect(lines.allSatisfy { $0.hasPrefix("reset epoch") })
        #expect(lines.joined().split(separator: "\"A").count - 1 == Self.count / 2)
    }

    @Test func `many topics or partitions at once are one drop`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        let sequence = bench.ingest.history.lastSequence
        bench.ingest.reset((0..<1_000).map { .partition(PartitionName(topic: 0, number: $0)) }, wallClock: 1_000)
        #expect(bench.ingest.history.lastSequence == sequence + 1)
        bench.ingest.reset((0..<200).map { .topic($0) }, wallClock: 1_000)
        #expect(bench.ingest.history.lastSequence == sequence + 2)
        #expect(
            await bench.takeLines(ofLoop: 0) == ["joined 1", "reset expired [\"A\"]", "reset epoch [\"A\"]"])
    }
}

extension IngestBench {
    /// The accounts that were told of a reset since the lines were taken.
    fileprivate func told(onLoops count: Int) async -> [String] {
        var told: [String] = []
        for loop in 0..<count {
            for line in await lines(ofLoop: loop) where line.hasPrefix("reset") {
                told += line.split(separator: "\"").filter { $0.hasPrefix("A") }.map(String.init)
            }
        }
        return told
    }
}
