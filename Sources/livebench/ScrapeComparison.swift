/// Asks a gateway for its metrics every second: Prometheus asks every 15 s to 60 s.
final class Scraper: Sendable {
    struct Outcome: Sendable {
        var answered = 0
        var failed = 0
    }

    private let task: Task<Outcome, Never>

    init(_ server: GatewayProcess) {
        let port = server.admin
        task = Task.detached {
            var outcome = Outcome()
            while !Task.isCancelled {
                if GatewayProcess.answers("/metrics", port) { outcome.answered += 1 } else { outcome.failed += 1 }
                try? await Task.sleep(for: .seconds(1))
            }
            return outcome
        }
    }

    func end() async -> Outcome {
        task.cancel()
        return await task.value
    }
}

/// What scrapes cost: runs of one scenario without and with them, in turn, so that what the machine does meanwhile meets both.
struct ScrapeComparison {
    /// Of each kind. Medians of three are compared: one that something else disturbed is none.
    private static let runsEach = 3

    let name: String
    /// Of what is measured, how many times as much it is with scrapes.
    let ratios: [(what: String, key: String, ratio: Double)]

    /// None of a scenario that cannot be run with scrapes.
    static func runs(_ scenario: Scenario) -> [Scenario] {
        guard !scenario.load.restartsGateway else { return [] }
        var scraped = scenario
        scraped.name += " scraped"
        scraped.isScraped = true
        return (0..<runsEach).flatMap { _ in [scenario, scraped] }
    }

    /// One for each scenario that was run both ways.
    static func all(_ measurements: [Measurement]) -> [ScrapeComparison] {
        measurements.enumerated().compactMap { index, first in
            let name = first.scenario.name
            let isFirst = !measurements[..<index].contains { $0.scenario.name == name }
            let scraped = measurements.filter { $0.scenario.isScraped && $0.scenario.name == name + " scraped" }
            guard isFirst, !scraped.isEmpty else { return nil }
            return ScrapeComparison(name, measurements.filter { $0.scenario.name == name }, scraped)
        }
    }

    private init(_ name: String, _ without: [Measurement], _ with: [Measurement]) {
        self.name = name
        let measured: [(String, String, (Measurement) -> Double?)] = [
            ("the CPU of a handshake", "cpu_per_handshake", { $0.cpuPerHandshake }),
            ("the bytes of a connection", "bytes_per_connection", { $0.bytesPerConnection }),
            ("deliveries a second", "deliveries_per_second", { $0.deliveriesPerSecond }),
            ("the CPU of a delivery", "cpu_per_delivery", { $0.cpuPerDelivery }),
            ("the CPU of idle connections", "cpu_idle", { $0.idlePercent }),
            ("the median latency", "latency_p50", { $0.latencies.first }),
            ("the latency of 99 %", "latency_p99", { $0.latencies.count > 1 ? $0.latencies[1] : nil }),
        ]
        ratios = measured.compactMap { what, key, value in
            guard let before = Self.median(without.compactMap(value)), before > 0,
                let after = Self.median(with.compactMap(value))
            else { return nil }
            return (what, key, after / before)
        }
    }

    private static func median(_ values: [Double]) -> Double? {
        values.isEmpty ? nil : values.sorted()[values.count / 2]
    }
}
