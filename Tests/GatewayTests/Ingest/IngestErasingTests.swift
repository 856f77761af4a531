// Tests: Ingest+Erasing.swift

import LiveUpdates
import Testing

@testable import Gateway

/// Who follows an erased account is told to resync, and nobody else.
struct IngestErasingTests {
    private static func erasure(_ account: String, until moment: Int64) -> Erasure {
        Erasure(account: Account(account), stamp: moment, moment: moment, end: moment + 1_000)
    }

    @Test func `its followers are told once on each loop, before what comes later`() async throws {
        let bench = try IngestBench(loops: 2)
        bench.subscribe("A", loop: 0, 1)
        bench.subscribe("A", loop: 1, 2)
        bench.subscribe("B", loop: 1, 3)
        bench.take(.event("A", "1"), .event("B", "2"))
        for loop in 0..<2 { _ = await bench.takeLines(ofLoop: loop) }
        let outcome = bench.ingest.erase(Self.erasure("A", until: 1_001), wallClock: 1_000)
        #expect(outcome?.events == 1 && outcome?.isFull == false)
        bench.take(.event("A", "3"))
        for loop in 0..<2 { #expect(await bench.takeLines(ofLoop: loop) == ["reset expired [\"A\"]", "A:3"]) }
        #expect(bench.ingest.erase(Self.erasure("A", until: 1_001), wallClock: 1_000) == nil)
        for loop in 0..<2 { #expect(await bench.takeLines(ofLoop: loop) == []) }
    }

    @Test func `the cursor that it brings stands before what comes later`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        bench.take(.event("A", "1"))
        _ = bench.ingest.erase(Self.erasure("A", until: 1_000), wallClock: 1_000)
        bench.take(.event("A", "2"))
        let cursor = try #require(await bench.cursor(of: "A", onLoop: 0))
        _ = await bench.takeLines(ofLoop: 0)
        bench.take(
            .subscribe(
                IngestBench.subscriber("A", 9), JoinRequest(since: cursor.bytes, page: IngestBench.page)))
        #expect(await bench.takeLines(ofLoop: 0) == ["joined 9 resumed 2. fresh"])
    }

    @Test func `a reset of all that is still being told comes before it`() async throws {
        let bench = try IngestBench(loops: 1)
        let last = "A\(2 * Ingest.accountsPerSlice)"
        for number in 0...(2 * Ingest.accountsPerSlice) { bench.subscribe("A\(number)", loop: 0, UInt64(number)) }
        bench.ingest.reset([.topic(0)], wallClock: 1_000)
        bench.open()
        _ = await bench.takeLines(ofLoop: 0)
        _ = bench.ingest.erase(Self.erasure(last, until: 1_000), wallClock: 1_000)
        #expect(await bench.takeLines(ofLoop: 0) == ["reset epoch [\"\(last)\"]", "reset expired [\"\(last)\"]"])
    }

    @Test func `nobody is told where nobody follows it`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.take(.event("A", "1"))
        #expect(bench.ingest.erase(Self.erasure("A", until: 1_001), wallClock: 1_000)?.events == 1)
        #expect(bench.ingest.erase(Self.erasure("B", until: 1_001), wallClock: 1_000)?.events == 0)
        #expect(await bench.takeLines(ofLoop: 0) == [])
    }
}
