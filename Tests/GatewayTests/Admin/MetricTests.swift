// Tests: LoadHistory.swift, MetricTable.swift, MetricText.swift, NodeReport.swift

import KafkaLogs
import TestHarness
import Testing

@testable import Gateway
@testable import LiveUpdates

struct MetricTests {
    private static let report: NodeReport = {
        var report = NodeReport()
        report.loops.counters.begin(.webSocket)
        report.loops.counters.begin(.sync)
        report.loops.counters.end(.sync, CloseLabel.answered)
        report.loops.counters.refusals = ["not_found": 2, "not_a_websocket": 1]
        report.loops.counters.tokenRefusals = ["too_large": 3]
        report.loops.deliveries.delivery.observe(700, times: 2)
        report.loops.deliveries.delivery.observe(90_000_000)
        return report
    }()

    private static func lines(_ report: NodeReport) -> [String] {
        String(decoding: MetricText.bytes(MetricTable.rows, report), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    @Test func `a metric has one row, a name of its kind and a sentence`() {
        let names = MetricTable.rows.map(\.name)
        #expect(Set(names).count == names.count)
        for row in MetricTable.rows {
            #expect(row.name.hasPrefix("livegate_") || row.name.hasPrefix("process_"), "\(row.name)")
            #expect(row.name.hasSuffix("_total") == (row.kind == .counter), "\(row.name)")
            #expect(row.help.hasSuffix(".") && !row.help.contains("\n"), "\(row.name)")
            #expect(row.kind != .histogram || row.name.hasSuffix("_seconds"), "\(row.name)")
        }
    }

    @Test func `numbers, labels and buckets are written as Prometheus reads them`() {
        let lines = Self.lines(Self.report)
        for line in [
            "# TYPE livegate_connections gauge", "livegate_connections{kind=\"websocket\"} 1",
            "livegate_connections{kind=\"sync\"} 0", "livegate_handshakes_total{outcome=\"accepted\"} 2",
            "livegate_handshakes_total{outcome=\"not_found\"} 2", "livegate_handshakes_total{outcome=\"forbidden\"} 0",
            "livegate_handshakes_total{outcome=\"not_a_websocket\"} 1", "livegate_closes_total{code=\"1000\"} 1",
            "livegate_token_refusals_total{reason=\"too_large\"} 3",
            "livegate_token_refusals_total{reason=\"signature\"} 0",
            "livegate_closes_total{code=\"cut\"} 0", "livegate_closes_total{code=\"4409\"} 0",
            "livegate_delivery_seconds_bucket{le=\"0.0005\"} 0", "livegate_delivery_seconds_bucket{le=\"0.001\"} 2",
            "livegate_delivery_seconds_bucket{le=\"60\"} 2", "livegate_delivery_seconds_bucket{le=\"+Inf\"} 3",
            "livegate_delivery_seconds_count 3", "livegate_delivery_seconds_sum 90.0014", "livegate_ready 0",
            "livegate_catch_ups_total{outcome=\"too_slow\"} 0",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        // What ingest knows is nothing before it is open, and a certificate there is only with TLS.
        #expect(!lines.contains { $0.contains("livegate_records_total") || $0.contains("not_after") })
        #expect(lines.allSatisfy { $0.hasPrefix("#") || $0.contains(/^[a-z_]+(\{[^{}]*\})? [0-9.e+-]+$/) })
    }

    @Test func `a label's value cannot end its line`() {
        let row = MetricRow("x", .gauge, ["a"], "X.", { _ in [.count("a\"b\\c\nd", is: 1)] })
        let text = String(decoding: MetricText.bytes([row], NodeReport()), as: UTF8.self)
        #expect(text == "# HELP x X.\n# TYPE x gauge\nx{a=\"a\\\"b\\\\c\\nd\"} 1\n")
    }

    @Test func `the page about metrics has the table's rows, in its order`() throws {
        let rows = MetricTable.rows.map { row in
            let labels = row.labels.map { label in
                let values = label.values?.map { "`\($0)`" }.joined(separator: ", ")
                return "`\(label.name)`" + (values.map { ": " + $0 } ?? "")
            }.joined(separator: "; ")
            return "| `\(row.name)` | \(row.kind.rawValue) | \(labels) | \(row.help) |"
        }
        let section = ArticleSection("metrics", of: "Metrics.md")
        let isWritten = try section.has(["| metric | kind | labels | what |", "| --- | --- | --- | --- |"] + rows)
        #expect(isWritten, "Metrics.md is not as the table has it: run Tests/documents")
        // Nor is there another table of them.
        let found = try section.text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(found.map(String.init) == rows)
    }

    @Test func `a label that names its values has no other, and each of them from the start`() {
        var empty = NodeReport()
        empty.ingest = IngestReport(
            topics: ["t"], counters: IngestCounters(outcomes: RecordOutcomes(topics: 1)), epochChanges: 0, accounts: 0,
            size: HistorySize(), evictions: HistoryEvictions(), partitions: 0, cluster: nil, epoch: nil, brokers: [],
            reachesBroker: true)
        for report in [empty, Self.report] {
            for row in MetricTable.rows {
                for (index, label) in row.labels.enumerated() {
                    guard let known = label.values else { continue }
                    let samples = row.samples(report)
                    let said = samples.map { if case .number(let values, _) = $0 { values[index] } else { "" } }
                    #expect(Set(said).isSubset(of: known), "\(row.name)")
                    #expect(said == known || samples.isEmpty && report.ingest == nil, "\(row.name)")
                }
            }
        }
        #expect(Self.lines(empty).contains("livegate_handshakes_total{outcome=\"not_a_websocket\"} 0"))
    }

    @Test func `the page about the administration names each of its paths`() throws {
        let page = try ArticleSection("paths", of: "Administration.md").text
        for row in AdminRows.all {
            let path = row.path.hasSuffix("/") && row.path != "/" ? row.path + "ID" : row.path
            #expect(page.contains("`\(row.method) \(path)`") || page.contains("`\(row.method)` accepts"), "\(path)")
        }
    }

    /// A position, an end, and a moment; then records and milliseconds.
    static let lags: [[(position: Int64?, end: Int64?, now: UInt64, records: Int64, milliseconds: UInt64)]] = [
        [(nil, nil, 0, 0, 0), (5, 5, 1_000, 0, 0)],
        [(5, 9, 0, 4, 0), (5, 9, 3_000, 4, 3_000), (9, 9, 4_000, 0, 0)],
        // A busy partition has always something on its way; what counts is the oldest of it.
        [(5, 9, 0, 4, 0), (8, 12, 1_000, 4, 1_000), (11, 15, 2_000, 4, 1_000), (14, 18, 3_000, 4, 1_000)],
        // Nobody answers: the last known end stays.
        [(5, 9, 0, 4, 0), (6, nil, 5_000, 3, 5_000), (6, nil, 60_000, 3, 60_000)],
        // The end goes back, where a broker knows less: what is not read has been there all the same.
        [(5, 9, 0, 4, 0), (5, 7, 3_000, 2, 3_000), (6, 7, 4_000, 1, 4_000), (7, 7, 5_000, 0, 0)],
        [(5, 9, 0, 4, 0), (5, 15, 1_000, 10, 1_000), (8, 12, 2_000, 4, 2_000), (10, 12, 3_000, 2, 2_000)],
        // The log was cut back, or begins again.
        [(5, 9, 0, 4, 0), (2, 3, 1_000, 1, 0), (3, 3, 2_000, 0, 0)],
    ]

    @Test(arguments: lags.indices) func `the lag in seconds is the age of the oldest that is not read`(row: Int) {
        var lag = PartitionLag()
        for (order, step) in Self.lags[row].enumerated() {
            lag.note(position: step.position, end: step.end, now: step.now, order: UInt64(order + 1))
            #expect(lag.records == step.records && lag.milliseconds(now: step.now) == step.milliseconds, "\(step)")
        }
    }

    @Test func `an answer that comes behind a newer one leaves the lag as it is`() {
        var lag = PartitionLag()
        lag.note(position: 4, end: 9, now: 0, order: 1)
        lag.note(position: 6, end: 12, now: 5_000, order: 3)
        // Somebody else had asked before, and is told of it only now.
        lag.note(position: 5, end: 9, now: 5_001, order: 2)
        #expect(lag.records == 6 && lag.milliseconds(now: 6_000) == 6_000)
        // A log that really is read from further back is the newest answer.
        lag.note(position: 5, end: 9, now: 7_000, order: 4)
        #expect(lag.records == 4 && lag.milliseconds(now: 7_500) == 500)
    }

    @Test func `ends that are remembered are bounded, and the oldest stays`() {
        var lag = PartitionLag()
        for step in 1...1_000 {
            lag.note(position: 0, end: Int64(step), now: UInt64(step) * 1_000, order: UInt64(step))
        }
        #expect(lag.records == 1_000 && lag.milliseconds(now: 1_000_000) == 999_000)
        #expect(MemoryLayout.size(ofValue: lag) < 64)
    }

    @Test func `the last reading of the settings and the control topic each have a value of their own`() {
        func value(_ name: String, _ report: NodeReport) -> String? {
            Self.lines(report).first { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
        }
        var report = NodeReport()
        #expect(value("livegate_last_reload_successful", report) == "1" && value("livegate_control_up", report) == nil)
        for (failed, reads) in [(true, false), (false, true)] {
            (report.others.lastReloadFailed, report.readsControl) = (failed, reads)
            #expect(value("livegate_last_reload_successful", report) == (failed ? "0" : "1"))
            #expect(value("livegate_control_up", report) == (reads ? "1" : "0"))
        }
    }

    @Test func `what is wrong is told, the gravest first`() {
        var report = NodeReport()
        #expect(report.problems([], now: 0) == [])
        func lag(_ number: Int32, _ seconds: Double) -> NodeReport.Lag {
            let name = PartitionName(topic: 0, number: number)
            return NodeReport.Lag(
                topic: "t", number: number, records: Int64(number) * 10, seconds: seconds,
                state: PartitionState(partition: name, leader: nil, position: nil, end: nil, newest: nil))
        }
        report.lags = [lag(1, 14.9)]
        (report.certificateEnd, report.droppedLines) = (7 * 86_400, 0)
        #expect(report.problems([], now: 0) == [])
        report.lags = [lag(1, 15), lag(2, 40), lag(3, 0)]
        (report.certificateEnd, report.droppedLines) = (7_200, 3)
        #expect(
            report.problems(["broker: away"], now: 0) == [
                "broker: away", "lag: t/2 is 20 records and 40 s behind, and 1 more",
                "tls: the certificate expires in 2 hours", "log: 3 lines were dropped: not read, or not to be written",
            ])
        report.others.allTokensRevoked = [.lost: 1_795_240_000, .noRoom: 0]
        #expect(
            report.problems([], now: 0).suffix(3) == [
                "revocations: records of the control topic were lost; tokens from before 2026-11-21T05:46:40Z, and those without iat, are refused",
                "revocations: more than a node can remember; tokens from before 1970-01-01T00:00:00Z, and those without iat, are refused",
                "log: 3 lines were dropped: not read, or not to be written",
            ])
        report.others.allTokensRevoked = [:]
        (report.lags, report.certificateEnd, report.droppedLines) = ([lag(1, 15)], 0, 0)
        #expect(
            report.problems([], now: 0) == [
                "lag: t/1 is 10 records and 15 s behind", "tls: the certificate has expired",
            ])
    }

    @Test func `rates are over the time that was asked for, or since the first sample`() {
        var history = LoadHistory()
        #expect(history.rate(\.events, seconds: 1, until: LoadSample(time: 5)) == 0)
        for second in 0...120 {
            var sample = LoadSample(time: UInt64(second) * 1_000)
            sample.events = UInt64(second < 60 ? 0 : (second - 60) * 10)
            history.note(sample)
        }
        var now = LoadSample(time: 120_000)
        now.events = 600
        #expect(history.rate(\.events, seconds: 1, until: now) == 10)
        #expect(history.rate(\.events, seconds: 60, until: now) == 10)
        #expect(history.rate(\.events, seconds: 100, until: now) == 6)
        // Not further back than there is anything.
        #expect(history.rate(\.events, seconds: 1_000, until: now) == 5)
        #expect(history.quantile(0.5, \.delivery, until: now) == nil)
        now.delivery.observe(700, times: 10)
        #expect((0.5...1).contains(history.quantile(0.5, \.delivery, until: now) ?? 0))
    }

    @Test func `samples are those of ten minutes, and points stand five seconds apart`() {
        var history = LoadHistory()
        for second in 0...2_000 {
            var sample = LoadSample(time: UInt64(second) * 1_000)
            sample.deliveries = UInt64(second) * 3
            sample.connections = second
            history.note(sample)
        }
        let points = history.points(until: LoadSample(time: 2_000_000))
        #expect(points.count == 120 && points.last?.secondsAgo == 0 && points.first?.secondsAgo == 595)
        #expect(points.allSatisfy { $0.deliveries == 3 && $0.deliveryP50Milliseconds == nil })
        #expect(points.last?.connections == 2_000)
    }
}
