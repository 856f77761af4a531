import Kafka
import LiveUpdates
import Logging
import Reactor

/// Puts ingest together on its loop.
struct IngestAssembly: Sendable {
    let settings: ConsumerSettings
    let mapping: EventMapping
    let history: HistoryLimits
    let epochNumber: UInt32
    let outlets: [Ingest.Outlet]
    let readiness: NodeReadiness
    /// Nil: there is no archive.
    var intake: ArchiveIntake?
    let logger: Logger
    let loop: EventLoop
    let probeLoop: EventLoop
    let ready: @Sendable () -> Void
    let failure: @Sendable (GatewayError) -> Void

    /// Only on the ingest loop. Returns the error, or nil.
    func open(_ requests: IngestRequests) -> GatewayError? {
        let consumer: Consumer
        do throws(KafkaError) {
            var settings = settings
            settings.retention = .milliseconds(history.retentionMilliseconds)
            consumer = try Consumer(settings)
        } catch {
            return .kafka(error)
        }
        let ingest = Ingest(
            mapper: EventMapper(mapping), topics: consumer.topics.count, limits: history, outlets: outlets,
            skipped: SkipLog(logger: logger.named("ingest")), tap: intake.map { ArchiveTap($0) })
        do throws(ReactorError) {
            let source = try KafkaSource(
                consumer: consumer, ingest: ingest, mapping: mapping,
                epochNumber: epochNumber, readiness: readiness, logger: logger.named("kafka"), loop: loop,
                probeLoop: probeLoop, ready: ready, failed: { [failure] in failure(.kafkaFatal($0)) })
            requests.open(ingest, source)
            try source.start()
        } catch {
            return .system(error)
        }
        return nil
    }
}
