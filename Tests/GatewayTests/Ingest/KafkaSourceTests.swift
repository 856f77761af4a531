// Tests: HistoryFacts.swift, IngestAssembly.swift

import GatewaySettings
import Kafka
import LiveUpdates
import Logging
import Reactor
import Synchronization
import TestHarness
import Testing

@testable import Gateway

/// Against the embedded broker: what becomes of the node when librdkafka says something about itself.
struct KafkaSourceTests {
    /// A source that has read its topic, with its loops and what it reported.
    private final class Node {
        final class Reports: Sendable {
            let failures = Mutex<[String]>([])
            let isReady = Atomic<Bool>(false)
        }

        let reports = Reports()
        let loop: EventLoop
        let probeLoop: EventLoop
        let source: LoopBound<KafkaSource>
        private let cluster: MockCluster

        init() async throws {
            cluster = try MockCluster()
            try cluster.createTopic("incidents")
            (loop, probeLoop) = (try EventLoop(label: "ingest"), try EventLoop(label: "probe"))
            let settings = ConsumerSettings(
                brokers: cluster.bootstrap, topics: ["incidents"], properties: [("fetch.wait.max.ms", "10")])
            source = try await loop.perform { [loop, probeLoop, reports] in
                Result<_, any Error> {
                    let source = try Self.source(try Consumer(settings), loop, probeLoop, reports)
                    try source.start()
                    return LoopBound(source, loop: loop)
                }
            }.get()
            let becameReady = try await eventually { [reports] in reports.isReady.load(ordering: .acquiring) }
            #expect(becameReady)
        }

        private static func source(
            _ consumer: Consumer, _ loop: EventLoop, _ probeLoop: EventLoop, _ reports: Reports
        ) throws -> KafkaSource {
            let logger = Logger("test", to: SilentLog())
            let mapping = try EventMapping(.init(preset: "rails"))
            let ingest = Ingest(
                mapper: EventMapper(mapping), limits: HistoryLimits(Settings().history), outlets: [],
                skipped: SkipLog(logger: logger))
            return try KafkaSource(
                consumer: consumer, ingest: ingest, mapping: mapping, epochNumber: 1,
                readiness: NodeReadiness(graceMilliseconds: nil), logger: logger, loop: loop, probeLoop: probeLoop,
                ready: { reports.isReady.store(true, ordering: .releasing) },
                failed: { reason in reports.failures.withLock { $0.append(reason) } })
        }

        /// Asks again and again until so many refreshes were begun.
        func refresh(times: UInt64) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            let before = await loop.perform { [source] in source.value.refreshes }
            while await loop.perform({ [source] in source.value.refreshes }) < before + times {
                try #require(ContinuousClock.now < deadline)
                await loop.perform { [source] in source.value.refreshSoon() }
            }
        }

        func fail(_ reason: String) async {
            await loop.perform { [source] in source.value.consumer.injectFatalError(reason) }
        }

        func stop() async {
            await loop.perform { [source] in source.value.stop() }
            for loop in [loop, probeLoop] { loop.stop() }
        }
    }

    @Test func `what librdkafka calls fatal ends the node once, with its reason`() async throws {
        let node = try await Node()
        #expect(node.reports.failures.withLock { $0 }.isEmpty)

        await node.fail("the broker has fenced us")
        let hasFailed = try await eventually { [reports = node.reports] in
            reports.failures.withLock { !$0.isEmpty }
        }
        #expect(hasFailed)
        // Another refresh would tell it again.
        try await node.refresh(times: 1)
        await node.probeLoop.perform {}
        await node.loop.perform {}
        let failures = node.reports.failures.withLock { $0 }
        #expect(failures.count == 1)
        #expect(failures.first?.contains("the broker has fenced us") == true)
        await node.stop()
    }

    @Test func `what nobody can tell is asked for less and less often`() {
        var pace = RefreshPace()
        // Nobody has waited yet: the first refresh comes at once.
        #expect(pace.earliest == 0)
        var pauses: [UInt64] = []
        for round in 1...6 as ClosedRange<UInt64> {
            let next = pace.refreshEnded(now: round * 10_000, isStillAwaited: true, isSilenceSuspected: false)
            #expect(next == round * 10_000 + 2_000)
            pauses.append(pace.earliest - round * 10_000)
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 2_000, 2_000])
        _ = pace.refreshEnded(now: 90_000, isStillAwaited: false, isSilenceSuspected: false)
        #expect(pace.earliest == 92_000)
        _ = pace.refreshEnded(now: 95_000, isStillAwaited: false, isSilenceSuspected: false)
        #expect(pace.earliest == 95_250)
    }

    @Test func `where a leader was asked in vain the next refreshes come in time to find out why, and not for ever`() {
        var pace = RefreshPace()
        func pauses(_ count: Int, _ isSuspected: Bool) -> [UInt64] {
            (0..<count).map { _ in
                pace.refreshEnded(now: 10_000, isStillAwaited: false, isSilenceSuspected: isSuspected) - 10_000
            }
        }
        #expect(pauses(6, true) == [500, 500, 500, 500, 2_000, 2_000])
        #expect(pauses(1, false) == [2_000] && pauses(1, true) == [500])
    }

    @Test func `however often somebody asks, one refresh follows another after a pause`() async throws {
        let node = try await Node()
        let start = ContinuousClock.now
        try await node.refresh(times: 3)
        // Before the second and the third.
        let pauses = 2 * Int(RefreshPace.shortestMilliseconds)
        #expect(ContinuousClock.now - start >= .milliseconds(pauses))
        await node.stop()
    }
}
