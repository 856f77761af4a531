import Kafka
import Logging
import Reactor
import Tokens

/// The reader of the control topic, where the settings name one.
extension GatewayServer {
    /// Begins to read. The node is not ready before the topic was read back.
    func openControl(_ ingest: LoopBound<IngestRequests>) async throws(GatewayError) {
        guard let topic = parts.settings.control.topic else { return }
        let (loop, probeLoop) = try makeControlLoops()
        loops += [loop, probeLoop]
        var settings = ConsumerSettings(parts.settings.kafka)
        settings.topics = [topic]
        // A revocation may begin to count so long after its record's time.
        settings.retention = parts.settings.control.retention + .seconds(ControlRecord.maximumLeadSeconds)
        // A revocation must not wait until there are more.
        settings.properties.append(("fetch.min.bytes", "1"))
        let assembly = ControlAssembly(
            settings: settings, revocations: revocations, readiness: readiness, logger: logger.named("control"),
            loop: loop, probeLoop: probeLoop, connections: connectionLoops, ingest: ingest,
            intake: archive?.intake, failure: failure)
        control = try await loop.perform { assembly.open() }.get()
        // If this loop stalls, no client is revoked any more.
        administration?.watch("revocations", loop)
    }

    private func makeControlLoops() throws(GatewayError) -> (EventLoop, EventLoop) {
        do throws(ReactorError) {
            return (try EventLoop(label: "revocations"), try EventLoop(label: "revocations probe"))
        } catch {
            throw .system(error)
        }
    }
}

/// Puts the reader of the control topic together on its loop.
private struct ControlAssembly: Sendable {
    let settings: ConsumerSettings
    let revocations: NodeRevocations
    let readiness: NodeReadiness
    let logger: Logger
    let loop: EventLoop
    let probeLoop: EventLoop
    let connections: [LoopBound<ConnectionLoop>]
    let ingest: LoopBound<IngestRequests>
    /// Nil: there is no archive.
    let intake: ArchiveIntake?
    let failure: @Sendable (GatewayError) -> Void

    /// Only on its loop.
    func open() -> Result<LoopBound<ControlSource>, GatewayError> {
        let consumer: Consumer
        do throws(KafkaError) {
            consumer = try Consumer(settings)
        } catch {
            return .failure(.kafka(error))
        }
        do throws(ReactorError) {
            let source = try ControlSource(
                consumer: consumer, retentionMilliseconds: Int64(settings.retention?.milliseconds ?? 0),
                revocations: revocations, readiness: readiness, logger: logger, loop: loop, probeLoop: probeLoop,
                revoked: notifyLoops, erased: erase, failed: { [failure] in failure(.kafkaFatal($0)) })
            try source.start()
            return .success(LoopBound(source, loop: loop))
        } catch {
            return .failure(.system(error))
        }
    }

    /// What was read before the node is ready is erased before any client can ask for it.
    private func erase(_ erasure: Erasure, isNews: Bool) {
        intake?.erase(erasure, isNews: isNews)
        ingest.loop.execute { [ingest, logger] in
            guard let outcome = ingest.value.ingest?.erase(erasure, wallClock: WallClock.milliseconds) else { return }
            if outcome.isFull {
                logger.error(
                    "more accounts were erased than a node can remember: it may serve the earlier ones after a restart",
                    [.advice: "delete their records in Kafka, or wait until the node keeps no events from that time"])
            }
            guard isNews else { return }
            logger.notice(
                "erased: nothing of the account from before it is kept",
                [.account: .text(erasure.account.text), .count: .number(outcome.events)])
        }
    }

    /// Each loop checks its connections, within slices of its ticks, and closes those that may not stay.
    private func notifyLoops() {
        for connections in connections {
            connections.loop.execute { connections.value.visitAllConnections() }
        }
    }
}
