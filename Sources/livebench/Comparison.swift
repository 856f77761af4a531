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

/// What goes on beside a scenario, so that it can be compared with the same one without.
enum Beside: String, CaseIterable {
    /// Its metrics are asked for every second.
    case scrape
    /// The gateway keeps an archive in SQLite.
    case archive
    /// The gateway tries to keep one, and its store refuses all it is given.
    case failingArchive

    /// As it stands behind the name of a scenario.
    var suffix: String {
        switch self {
        case .scrape: " scraped"
        case .archive: " archived"
        case .failingArchive: " archive failing"
        }
    }

    /// In a sentence.
    var text: String {
        switch self {
        case .scrape: "with a scrape every second"
        case .archive: "with an archive"
        case .failingArchive: "with an archive that fails"
        }
    }

    /// Of the list in JSON.
    var key: String {
        switch self {
        case .scrape: "scrapes"
        case .archive: "archives"
        case .failingArchive: "failing_archives"
        }
    }
}

/// What something costs a scenario: runs of it without and with that, in turn, so that what the machine does meanwhile meets
/// both.
struct Comparison {
    /// Of each kind. Medians of three are compared: one that something else disturbed is none.
    private static let runsEach = 3

    let name: String
    let beside: Beside
    /// Of what is measured, how many times as much it is.
    let ratios: [(what: String, key: String, ratio: Double)]

    /// None of a scenario that cannot be compared.
    static func runs(_ scenario: Scenario, _ kinds: [Beside]) -> [Scenario] {
        guard !scenario.load.restartsGateway else { return [] }
        let others = kinds.map { beside in
            var other = scenario
            other.name += beside.suffix
            other.beside = beside
            return other
        }
        return (0..<runsEach).flatMap { _ in [scenario] + others }
    }

    /// One for each scenario and what it was run beside.
    static func all(_ measurements: [Measurement]) -> [Comparison] {
        measurements.enumerated().flatMap { index, first -> [Comparison] in
            let name = first.scenario.name
            let isFirst = !measurements[..<index].contains { $0.scenario.name == name }
            guard isFirst, first.scenario.beside == nil else { return [] }
            let without = measurements.filter { $0.scenario.name == name }
            return Beside.allCases.compactMap { beside in
                let with = measurements.filter {
                    $0.scenario.beside == beside && $0.scenario.name == name + beside.suffix
                }
                return with.isEmpty ? nil : Comparison(name, beside, without, with)
            }
        }
    }

    private init(_ name: String, _ beside: Beside, _ without: [Measurement], _ with: [Measurement]) {
        self.name = name
        self.beside = beside
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
