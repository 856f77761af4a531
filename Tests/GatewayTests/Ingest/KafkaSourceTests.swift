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
        await loop.perform { source.value.refreshSoon() }
        await probeLoop.perform {}
        await loop.perform {}
        let failures = told.failures.withLock { $0 }
        #expect(failures.count == 1)
        #expect(failures.first?.contains("the broker has fenced us") == true)
        await loop.perform { source.value.stop() }
        for loop in [loop, probeLoop] { loop.stop() }
    }
}
