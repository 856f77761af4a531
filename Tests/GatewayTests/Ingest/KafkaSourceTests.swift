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
    private final class Told: Sendable {
        let failures = Mutex<[String]>([])
        let isReady = Atomic<Bool>(false)
    }

    private static func source(
        _ consumer: Consumer, _ loop: EventLoop, _ probeLoop: EventLoop, _ told: Told
    ) throws -> KafkaSource {
        let logger = Logger("test", to: SilentLog())
        let ingest = Ingest(
            mapper: EventMapper(try EventMapping(.init(preset: "rails"))), limits: HistoryLimits(Settings().history),
            outlets: [],
            skipped: SkipLog(logger: logger))
        return try KafkaSource(
            consumer: consumer, ingest: ingest, mapping: try EventMapping(.init(preset: "rails")), epochNumber: 1,
            readiness: NodeReadiness(graceMilliseconds: nil), logger: logger, loop: loop, probeLoop: probeLoop,
            ready: { told.isReady.store(true, ordering: .releasing) },
            failed: { reason in told.failures.withLock { $0.append(reason) } })
    }

    /// Asks again and again until so many refreshes were begun.
    private static func refresh(_ source: LoopBound<KafkaSource>, _ loop: EventLoop, times: UInt64) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        let before = await loop.perform { source.value.refreshes }
        while await loop.perform({ source.value.refreshes }) < before + times {
            try #require(ContinuousClock.now < deadline)
            await loop.perform { source.value.refreshSoon() }
        }
    }

    @Test func `what librdkafka calls fatal ends the node once, with its reason`() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("incidents")
        let (loop, probeLoop) = (try EventLoop(label: "ingest"), try EventLoop(label: "probe"))
        let told = Told()
        let settings = ConsumerSettings(
            brokers: cluster.bootstrap, topics: ["incidents"], properties: [("fetch.wait.max.ms", "10")])
        let source = try await loop.perform { () -> Result<LoopBound<KafkaSource>, any Error> in
            Result {
                let source = try Self.source(try Consumer(settings), loop, probeLoop, told)
                try source.start()
                return LoopBound(source, loop: loop)
            }
        }.get()
        #expect(try await eventually { told.isReady.load(ordering: .acquiring) })
        #expect(told.failures.withLock { $0 }.isEmpty)

        await loop.perform { source.value.consumer.injectFatalError("the broker has fenced us") }
        #expect(try await eventually { told.failures.withLock { !$0.isEmpty } })
        // Another refresh would tell it again.
        try await Self.refresh(source, loop, times: 1)
        await probeLoop.perform {}
        await loop.perform {}
        let failures = told.failures.withLock { $0 }
        #expect(failures.count == 1)
        #expect(failures.first?.contains("the broker has fenced us") == true)
        await loop.perform { source.value.stop() }
        for loop in [loop, probeLoop] { loop.stop() }
    }

    @Test func `what nobody can tell is asked for less and less often`() {
        var pace = RefreshPace()
        // Nobody has waited yet: the first refresh comes at once.
        #expect(pace.earliest == 0)
        var pauses: [UInt64] = []
        for round in 1...6 as ClosedRange<UInt64> {
            pace.refreshEnded(now: round * 10_000, isStillAwaited: true)
            pauses.append(pace.earliest - round * 10_000)
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 2_000, 2_000])
        pace.refreshEnded(now: 90_000, isStillAwaited: false)
        #expect(pace.earliest == 92_000)
        pace.refreshEnded(now: 95_000, isStillAwaited: false)
        #expect(pace.earliest == 95_250)
    }

    @Test func `however often somebody asks, one refresh follows another after a pause`() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("incidents")
        let (loop, probeLoop) = (try EventLoop(label: "ingest"), try EventLoop(label: "probe"))
        let told = Told()
        let settings = ConsumerSettings(
            brokers: cluster.bootstrap, topics: ["incidents"], properties: [("fetch.wait.max.ms", "10")])
        let source = try await loop.perform { () -> Result<LoopBound<KafkaSource>, any Error> in
            Result {
                let source = try Self.source(try Consumer(settings), loop, probeLoop, told)
                try source.start()
                return LoopBound(source, loop: loop)
            }
        }.get()
        #expect(try await eventually { told.isReady.load(ordering: .acquiring) })
        let start = ContinuousClock.now
        try await Self.refresh(source, loop, times: 3)
        // Before the second and the third.
        let pauses = 2 * Int(RefreshPace.shortestMilliseconds)
        #expect(ContinuousClock.now - start >= .milliseconds(pauses))
        await loop.perform { source.value.stop() }
        for loop in [loop, probeLoop] { loop.stop() }
    }
}
