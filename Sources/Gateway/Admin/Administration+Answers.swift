import HTTP
import Kafka
import KafkaLogs
import LiveUpdates
import Options
import Reactor

/// The rows that ask other loops.
extension Administration {
    /// A loop that has not answered by then is left out: it is busy, or stuck, and others wait for this answer.
    static let questionMilliseconds: UInt64 = 1_000
    /// The accounts of `/admin/status` by each of its three measures.
    static let busiestAccounts = 20

    func metrics() async -> AdminAnswer {
        AdminAnswer(200, MetricText.contentType, .bytes(MetricText.bytes(MetricTable.rows, await report(whole: true))))
    }

    // MARK: - The node

    func status() async -> AdminAnswer {
        async let busiest = busiestAccounts()
        let report = await report(whole: false)
        let now = report.sample(at: EventLoop.microseconds / 1000)
        let history = await history()
        func rates(_ total: @escaping (LoadSample) -> UInt64) -> JSONValue {
            .array([1, 10, 60].map { .decimal(history.rate(total, seconds: $0, until: now)) })
        }
        func quantiles(_ histogram: @escaping (LoadSample) -> Histogram) -> JSONValue {
            .members([
                "p50": .optional(history.quantile(0.5, histogram, until: now)) { .decimal($0) },
                "p99": .optional(history.quantile(0.99, histogram, until: now)) { .decimal($0) },
            ])
        }
        let kinds = DeliveryCounts.Kind.allCases.map { kind in
            JSONValue.Member(name: kind.name, value: .integer(report.loops.counters.open[kind.rawValue]))
        }
        let size = report.ingest?.size
        return AdminAnswer(
            .members([
                "version": .text(Release.version), "started": Self.time(report.startedMilliseconds),
                "state": .text(state(report)), "ready": .truth(report.isReady), "connections": .object(kinds),
                "accounts": .array(
                    ranked(await busiest).map {
                        .members([
                            "account": .text($0.account.text), "connections": .integer($0.connections),
                            "requests_per_minute": .integer($0.minute.requests),
                            "refusals_per_minute": .integer($0.minute.refusals),
                        ])
                    }),
                "rates": .members([
                    "events": rates(\.events), "deliveries": rates(\.deliveries), "handshakes": rates(\.handshakes),
                ]),
                "delivery_ms": quantiles(\.delivery), "event_age_ms": quantiles(\.age),
                "lag": .array(
                    report.lags.map {
                        .members([
                            "topic": .text($0.topic), "partition": .integer($0.number),
                            "records": .integer($0.records), "seconds": .decimal($0.seconds),
                        ])
                    }),
                "log": .members([
                    "bytes": .integer(size?.bytes ?? 0), "events": .integer(size?.events ?? 0),
                    "accounts": .integer(size?.accounts ?? 0),
                ]),
                "problems": .array(problems(report).map { .text($0) }),
            ]))
    }

    private func state(_ report: NodeReport) -> String {
        if report.isDraining { return "draining" }
        if report.isReady { return "ready" }
        return readiness.hasBeenReady ? "failing" : "starting"
    }

    private func problems(_ report: NodeReport) -> [String] {
        report.problems(
            readiness.problems(now: EventLoop.microseconds / 1000).map { "\($0.part.rawValue): \($0.why)" },
            now: WallClock.milliseconds / 1000)
    }

    /// The charts of the status page.
    func charts() async -> AdminAnswer {
        let report = await report(whole: false)
        let points = await history().points(until: report.sample(at: EventLoop.microseconds / 1000))
        return AdminAnswer(
            .members([
                "interval_seconds": .integer(LoadHistory.pointMilliseconds / 1000),
                "points": .array(
                    points.map { point in
                        .members([
                            "seconds_ago": .decimal(point.secondsAgo), "connections": .integer(point.connections),
                            "deliveries": .decimal(point.deliveries), "events": .decimal(point.events),
                            "refusals": .decimal(point.refusals),
                            "delivery_p50_ms": .optional(point.deliveryP50Milliseconds) { .decimal($0) },
                            "delivery_p99_ms": .optional(point.deliveryP99Milliseconds) { .decimal($0) },
                            "lag_records": .integer(point.lagRecords),
                        ])
                    }),
            ]))
    }

    // MARK: - Accounts

    /// Those with the most connections, found in slices of ingest's loop.
    private func busiestAccounts() async -> [AccountConnections] {
        var busiest: [AccountConnections] = []
        var slot: Int? = 0
        while let first = slot {
            let answer = await requests.ask(within: Self.questionMilliseconds) {
                $0.accounts(fromSlot: first)
            }
            guard let (accounts, next) = answer else { break }
            busiest += accounts
            busiest.sort { ($1.connections, $0.account.text) < ($0.connections, $1.account.text) }
            busiest = Array(busiest.prefix(Self.busiestAccounts))
            slot = next
        }
        return busiest
    }

    /// These, and those that lead by requests and by refusals.
    private func ranked(_ busiest: [AccountConnections]) -> [RankedAccount] {
        let known = Dictionary(busiest.map { ($0.account, $0.connections) }) { $1 }
        return RankedAccount.ranked(
            busiest: busiest.map(\.account), quota.rates.aMinute(now: EventLoop.microseconds / 1000),
            limit: Self.busiestAccounts
        ) { accounts in
            zip(accounts, quota.connections(of: accounts)).map { known[$0] ?? $1 }
        }
    }

    func account(_ request: AdminRequest) async throws(AdminRefusal) -> AdminAnswer {
        let account = Account(request.name)
        let answer = await requests.ask(within: Self.questionMilliseconds) { requests in
            (requests.account(account), requests.report?.topics ?? [])
        }
        guard let (found, topics) = answer else { throw .unavailable("Ingest does not answer.") }
        guard let (connections, summary) = found else { throw .notFound }
        // A node that ends has let go of its source before its logs.
        guard summary.partitions.allSatisfy({ Int($0.0.topic) < topics.count }) else {
            throw .unavailable("The node is ending.")
        }
        return AdminAnswer(
            .members([
                "account": .text(account.text), "connections": .integer(connections),
                "events": .integer(summary.events), "oldest": .optional(summary.oldest) { Self.time($0) },
                "newest": .optional(summary.newest) { Self.time($0) },
                "partitions": .array(
                    summary.partitions.map { partition, position in
                        .members([
                            "topic": .text(topics[Int(partition.topic)]), "partition": .integer(partition.number),
                            "position": .integer(position),
                        ])
                    }),
            ]))
    }

    func disconnect(_ request: AdminRequest) async throws(AdminRefusal) -> AdminAnswer {
        let account = Account(try request.needed("account"))
        let subject = try request.text("subject")
        var closed = 0
        for connections in connectionLoops {
            var slot: Int? = 0
            while let first = slot {
                let answer = await connections.ask(within: Self.questionMilliseconds) {
                    $0.disconnect(fromSlot: first, account: account, subject: subject)
                }
                guard let (count, next) = answer else {
                    throw .unavailable("Loop \(connections.loop.label) does not answer; \(closed) were closed.")
                }
                closed += count
                slot = next
            }
        }
        logger.notice(
            "connections closed by an operator",
            [
                .account: .text(account.text), .subject: subject.map { .text($0) } ?? .absent,
                .count: .number(closed),
            ])
        return AdminAnswer(.members(["closed": .integer(closed)]))
    }

    // MARK: - Connections

    func connections(_ request: AdminRequest) throws(AdminRefusal) -> AdminAnswer {
        let account = try request.text("account").map { Account($0) }
        let limit = try request.number("limit", in: 1...100_000) ?? 100
        return AdminAnswer(
            200, "application/jsonl",
            .pages(ConnectionListing(connectionLoops, account: account, limit: limit)))
    }

    // MARK: - Kafka

    func kafka() async throws(AdminRefusal) -> AdminAnswer {
        let report = await report(whole: false)
        guard let ingest = report.ingest else { throw .unavailable("Ingest does not answer.") }
        let topics = ingest.topics.enumerated().map { index, name in
            JSONValue.members([
                "topic": .text(name),
                "partitions": .array(
                    report.lags.filter { Int($0.state.partition.topic) == index }.map { Self.partition($0) }),
            ])
        }
        return AdminAnswer(
            .members([
                "cluster": .optional(ingest.cluster) { .text($0) }, "epoch": .optional(ingest.epoch) { .integer($0) },
                "brokers": .array(ingest.brokers.map { .text($0) }), "topics": .array(topics),
            ]))
    }

    private static func partition(_ lag: NodeReport.Lag) -> JSONValue {
        .members([
            "partition": .integer(lag.number), "leader": .optional(lag.state.leader) { .integer($0) },
            "position": .optional(lag.state.position) { .integer($0) },
            "end": .optional(lag.state.end) { .integer($0) }, "lag": .integer(lag.records),
            "last_message": .optional(lag.state.newest) { time($0) },
        ])
    }

    /// RFC 3339.
    static func time(_ milliseconds: Int64) -> JSONValue {
        .text(InternetDate.text(millisecondsSince1970: milliseconds))
    }
}

/// Open connections as JSON lines: one slice of one loop after the other, each asked for when the one before has left.
/// Connections open and close meanwhile; each is listed at most once.
private actor ConnectionListing: AdminPages {
    private let loops: [LoopBound<ConnectionLoop>]
    private let account: Account?
    private var left: Int
    private var loop = 0
    private var slot = 0

    init(_ loops: [LoopBound<ConnectionLoop>], account: Account?, limit: Int) {
        self.loops = loops
        self.account = account
        left = limit
    }

    func next() async -> [UInt8]? {
        while left > 0, loop < loops.count {
            let (account, left, slot) = (account, left, slot)
            let answer = await loops[loop].ask(within: Administration.questionMilliseconds) {
                $0.reports(fromSlot: slot, of: account, limit: left)
            }
            // A loop that does not answer is passed over.
            let (found, next) = answer ?? ([], nil)
            if let next { self.slot = next } else { (loop, self.slot) = (loop + 1, 0) }
            self.left -= found.count
            if !found.isEmpty { return found.flatMap { Self.line($0).line } }
        }
        return nil
    }

    private static func line(_ connection: ConnectionReport) -> JSONValue {
        .members([
            "id": .text("\(connection.loop)-\(connection.id.number)"), "account": .text(connection.account.text),
            "subject": .optional(connection.subject) { .text($0) }, "peer": .text(connection.peer),
            "kind": .text(connection.kind.name),
            "since": Administration.time(WallClock.milliseconds - Int64(connection.milliseconds)),
            "behind_ms": .integer(connection.behindMilliseconds), "deliveries": .integer(connection.deliveries),
            "sent_bytes": .integer(connection.sentBytes),
        ])
    }
}
