/// Requests the metrics of a gateway every second; Prometheus does every 15 s to 60 s.
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

/// What runs beside a scenario, to compare it with the same scenario alone.
enum Beside: String, CaseIterable {
    /// Its metrics are requested every second.
    case scrape
    /// The gateway keeps an archive in SQLite.
    case archive
    /// The gateway tries to keep an archive, and its store refuses everything.
    case failingArchive

    /// Its suffix of a scenario's name.
    var suffix: String {
        switch self {
        case .scrape: " scraped"
        case .archive: " archived"
        case .failingArchive: " archive failing"
        }
    }

    /// Its text in a sentence.
    var text: String {
        switch self {
        case .scrape: "with a scrape every second"
        case .archive: "with an archive"
        case .failingArchive: "with an archive that fails"
        }
    }

    /// Its name in the JSON list.
    var key: String {
        switch self {
        case .scrape: "scrapes"
        case .archive: "archives"
        case .failingArchive: "failing_archives"
        }
    }
}

/// The cost of something for a scenario: runs without and with it, in turn, so that other load of the machine affects both.
struct Comparison {
    /// Runs of each kind. Medians of three are compared, so that one disturbed run does not count.
    private static let runsEach = 3

    let name: String
    let beside: Beside
    /// For each measured value, how many times larger it is.
    let ratios: [(what: String, key: String, ratio: Double)]

    /// Empty for a scenario that cannot be compared.
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

    /// One comparison for each scenario and each thing that ran beside it.
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
