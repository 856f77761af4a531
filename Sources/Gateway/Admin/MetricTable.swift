import HTTP
import Kafka
import LiveUpdates
import Options
import TLS
import Tokens

/// Every metric of a node. Names and labels are the operators' contract; the values of labels are bounded, and none comes
/// from clients or records, but for topics and partitions.
enum MetricTable {
    static let rows: [MetricRow] = node + connections + deliveries + history + archive + kafka + process

    private static let outcome = MetricLabel("outcome", ["ok", "failed"])
    private static let kinds = MetricLabel("kind", DeliveryCounts.Kind.allCases.map(\.name))
    /// A 410 answers a request that was admitted.
    private static let handshakeOutcomes =
        ["accepted"] + RefusalCode.allCases.filter { $0 != .resync }.map(\.rawValue) + [Refusal.plainGetCode]

    private static func byKind<Number>(_ counts: [Number]) -> [String: Number] {
        Dictionary(uniqueKeysWithValues: zip(DeliveryCounts.Kind.allCases.map(\.name), counts))
    }

    private static let node: [MetricRow] = [
        MetricRow(
            "livegate_build_info", .gauge, ["version", "librdkafka", "openssl"], "What runs, in its labels; always 1.",
            { _ in [.count(Release.version, KafkaLibrary.version, TLSLibrary.version, is: 1)] }),
        .one("livegate_ready", .gauge, "Whether /readyz answers 200.", { $0.isReady ? 1 : 0 }),
        .one("livegate_draining", .gauge, "Whether the node is going out of service.", { $0.isDraining ? 1 : 0 }),
        .one("livegate_start_time_seconds", .gauge, "When the node started, in seconds since 1970.") {
            Double($0.startedMilliseconds) / 1000
        },
        MetricRow(
            "livegate_loop_busy_seconds_total", .counter, ["loop"],
            "Time that an event loop of clients was at work. Its rate is the share of a core.",
            { report in
                report.loops.work.enumerated().map { .number(["\($0)"], Double($1.busyMicroseconds) / 1e6) }
            }),
        .by(
            outcome, "livegate_reloads_total", .counter,
            "Times that settings and the files that they name were read again.",
            { ["ok": $0.others.reloadsOK, "failed": $0.others.reloadsFailed] }),
        .one(
            "livegate_last_reload_successful", .gauge,
            "Whether the last reload of the settings and their files succeeded; 1 before the first reload.",
            { $0.others.lastReloadFailed ? 0 : 1 }),
        .by(
            outcome, "livegate_key_fetches_total", .counter, "Fetches of issuers' keys.",
            { ["ok": $0.others.keyFetchesOK, "failed": $0.others.keyFetchesFailed] }),
        .by(
            MetricLabel("outcome", ["active", "inactive", "failed"]), "livegate_introspections_total", .counter,
            "Requests to the introspection server, by outcome.",
            {
                [
                    "active": $0.others.introspectionsActive, "inactive": $0.others.introspectionsInactive,
                    "failed": $0.others.introspectionsFailed,
                ]
            }),
        .by(
            MetricLabel("kind", Revocation.Kind.allCases.map(\.rawValue)), "livegate_revocations_total", .counter,
            "Records of the control topic that revoke tokens.",
            { report in
                Dictionary(
                    uniqueKeysWithValues: Revocation.Kind.allCases.map {
                        ($0.rawValue, report.others.revocations[$0] ?? 0)
                    })
            }),
        .one(
            "livegate_control_up", .gauge,
            "Whether the control topic is read, so that revocations take effect. Only with control.topic.",
            { $0.readsControl.map { $0 ? 1 : 0 } }),
        .one(
            "livegate_control_records_rejected_total", .counter,
            "Records of the control topic that were ignored or could not be read.",
            { Double($0.others.controlRecordsRejected) }),
        .one(
            "livegate_revocations_kept", .gauge,
            "Revocations of accounts, people and tokens that the node remembers; at most 262144.",
            { Double($0.others.revocationsKept) }),
        .one(
            "livegate_log_lines_dropped_total", .counter,
            "Log lines that were dropped, because they were not read in time or could not be written."
        ) {
            Double($0.droppedLines)
        },
    ]

    private static let connections: [MetricRow] = [
        .by(
            kinds, "livegate_connections", .gauge, "Open WebSockets and event streams, and requests that wait.",
            { byKind($0.loops.counters.open) }),
        .one("livegate_accounts", .gauge, "Accounts with a connection.", { $0.ingest.map { Double($0.accounts) } }),
        .by(
            MetricLabel("outcome", handshakeOutcomes), "livegate_handshakes_total", .counter,
            "Requests of clients: accepted, or refused, by the code of the refusal.",
            { report in
                var counted = report.loops.counters.refusals
                counted["accepted"] = report.loops.counters.handshakes
                return counted
            }),
        .by(
            MetricLabel("reason", TokenRefusal.Reason.allCases.map(\.rawValue)), "livegate_token_refusals_total",
            .counter,
            "Tokens that were refused, of requests and of open streams, by reason.",
            { $0.loops.counters.tokenRefusals }),
        .by(
            MetricLabel("outcome", ["full", "resumed", "failed"]), "livegate_tls_handshakes_total", .counter,
            "TLS handshakes: full, resumed from a session, or failed.",
            { report in
                let counters = report.loops.counters
                return ["full": counters.tlsFull, "resumed": counters.tlsResumed, "failed": counters.tlsFailed]
            }),
        .by(
            MetricLabel("reason", EarlyClose.allCases.map(\.rawValue)), "livegate_early_closes_total", .counter,
            "Connections closed before TLS: no descriptor left for clients, too many from one address, too many per second.",
            { $0.loops.counters.earlyCloses }),
        .one(
            "livegate_tls_certificate_not_after_seconds", .gauge,
            "When the certificate of the clients' listeners expires, in seconds since 1970. Only with tls.",
            { $0.certificateEnd.map { Double($0) } }),
        .one(
            "livegate_proxy_headers_rejected_total", .counter,
            "Connections closed because they did not begin with a PROXY header from a trusted balancer.",
            { Double($0.loops.counters.proxyHeadersRejected) }),
        .by(
            MetricLabel("code", CloseLabel.all), "livegate_closes_total", .counter,
            "Closed connections by close code; none: without a code, cut: without a close frame, other: unknown codes.",
            { $0.loops.counters.closes }),
        .by(
            MetricLabel("why", ResyncReason.allCases.map(\.rawValue)), "livegate_resyncs_total", .counter,
            "Resyncs, after which a client fetches everything again, by reason.", { $0.loops.counters.resyncs }),
    ]

    private static let deliveries: [MetricRow] = [
        .by(
            kinds, "livegate_deliveries_total", .counter, "Events that were handed to the kernel for a client.",
            { byKind($0.loops.deliveries.events) }),
        .one("livegate_sent_bytes_total", .counter, "Bytes that the kernel accepted for clients, as sent on the wire.")
        {
            Double($0.loops.work.reduce(0) { $0 + $1.sentBytes })
        },
        .one("livegate_received_bytes_total", .counter, "Bytes received from clients, as on the wire.") {
            Double($0.loops.work.reduce(0) { $0 + $1.receivedBytes })
        },
        .one("livegate_sends_total", .counter, "System calls that sent something to clients.") {
            Double($0.loops.work.reduce(0) { $0 + $1.sends })
        },
        MetricRow(
            "livegate_delivery_seconds", .histogram, [], "From an event's consumption to the kernel, of each delivery.",
            { [.histogram($0.loops.deliveries.delivery)] }),
        MetricRow(
            "livegate_event_age_seconds", .histogram, [],
            "From a record's time stamp to the kernel, of each delivery that is neither replayed nor caught up.",
            { [.histogram($0.loops.deliveries.age)] }),
        .one("livegate_behind_connections", .gauge, "Streams that catch up from the log.", { Double($0.loops.behind) }),
        .by(
            MetricLabel("outcome", CatchUpOutcome.allCases.map(\.rawValue)), "livegate_catch_ups_total", .counter,
            "Results of catching up from the log.",
            { Dictionary(uniqueKeysWithValues: $0.loops.catchUps.map { ($0.key.rawValue, $0.value) }) }),
    ]

    private static let history: [MetricRow] = [
        .one(
            "livegate_log_bytes", .gauge, "Memory of the accounts' logs.", { $0.ingest.map { Double($0.size.bytes) } }),
        .one(
            "livegate_log_events", .gauge, "Events in the accounts' logs.", { $0.ingest.map { Double($0.size.events) } }
        ),
        .one("livegate_log_accounts", .gauge, "Accounts with a log.", { $0.ingest.map { Double($0.size.accounts) } }),
        .by(
            MetricLabel("reason", ["age", "count", "bytes"]), "livegate_log_evictions_total", .counter,
            "Events removed from the logs: too old, over the limit of an account, over the bytes of all logs.",
            { $0.ingest.map { ["age": $0.evictions.age, "count": $0.evictions.count, "bytes": $0.evictions.bytes] } }),
    ]

    private static let archive: [MetricRow] = [
        .one("livegate_archive_rows", .gauge, "Events in the archive. Only with an archive, as all of these.") {
            $0.others.archive.map { Double($0.rows) }
        },
        .one("livegate_archive_bytes", .gauge, "Disk space that the archive uses.") {
            $0.others.archive.map { Double($0.bytes) }
        },
        .one(
            "livegate_archive_lag_seconds", .gauge,
            "How long events that were read have been waiting to be written to the archive.",
            { $0.others.archive.map { Double($0.lagMilliseconds) / 1000 } }),
        .one(
            "livegate_archive_gaps_total", .counter,
            "Times that events were missing from the archive because Kafka had already deleted them.",
            { $0.others.archive.map { Double($0.gaps) } }),
        .one("livegate_archive_errors_total", .counter, "Times that the archive's store refused a call.") {
            $0.others.archive.map { Double($0.errors) }
        },
        .one(
            "livegate_archive_too_old_total", .counter,
            "Events that were not stored, because they were already older than the archive keeps.",
            { $0.others.archive.map { Double($0.tooOld) } }),
    ]

    private static let kafka: [MetricRow] = [
        MetricRow(
            "livegate_records_total", .counter,
            ["topic", MetricLabel("outcome", ["event"] + SkipReason.allCases.map(\.rawValue))],
            "Records that were read: event, or the reason why they yield no event.",
            { report in
                guard let ingest = report.ingest else { return [] }
                return ingest.topics.enumerated().flatMap { index, topic -> [MetricRow.Sample] in
                    let outcomes = [SkipReason?.none] + SkipReason.allCases.map(Optional.some)
                    return outcomes.map { reason in
                        .count(topic, reason?.rawValue ?? "event", is: ingest.counters.outcomes[reason, topic: index])
                    }
                }
            }),
        .one("livegate_kafka_up", .gauge, "Whether a broker answers.", { $0.ingest.map { $0.reachesBroker ? 1 : 0 } }),
        MetricRow(
            "livegate_kafka_lag_records", .gauge, ["topic", "partition"],
            "Offsets between the last record read and the end of the log.",
            { $0.lags.map { .count($0.topic, "\($0.number)", is: $0.records) } }),
        MetricRow(
            "livegate_kafka_lag_seconds", .gauge, ["topic", "partition"],
            "How long there have been records that are not read yet.",
            { $0.lags.map { .number([$0.topic, "\($0.number)"], $0.seconds) } }),
        .one("livegate_kafka_epoch_changes_total", .counter, "Topics that were recreated while the node ran.") {
            $0.ingest.map { Double($0.epochChanges) }
        },
        .by(
            MetricLabel("kind", ["repeated", "unread"]), "livegate_kafka_records_below_position_total", .counter,
            "Records below the next offset to read: read before, or never delivered, after which all clients get a resync.",
            { $0.ingest.map { ["repeated": $0.recordsBelow.repeated, "unread": $0.recordsBelow.unread] } }),
    ]

    private static let process: [MetricRow] = [
        .one("process_cpu_seconds_total", .counter, "CPU time of the process.", { $0.usage?.cpuSeconds }),
        .one("process_resident_memory_bytes", .gauge, "Resident memory of the process.") {
            $0.usage.map { Double($0.residentBytes) }
        },
        .one("process_open_fds", .gauge, "Open descriptors.", { $0.usage.map { Double($0.openDescriptors) } }),
        .one("process_max_fds", .gauge, "The limit of open descriptors.") {
            $0.usage.map { Double($0.maximumDescriptors) }
        },
        .one("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.") {
            $0.usage?.startedSeconds
        },
    ]
}
