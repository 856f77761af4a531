/// What one scenario came to.
struct Measurement: Sendable {
    let scenario: Scenario
    private(set) var opened = 0
    private(set) var handshakesPerSecond = 0.0
    /// The server's, in µs.
    private(set) var cpuPerHandshake = 0.0
    /// The server's private resident memory, in bytes.
    private(set) var bytesPerConnection = 0.0
    private(set) var deliveriesPerSecond: Double?
    /// The server's, in µs; its share of reading Kafka included.
    private(set) var cpuPerDelivery: Double?
    /// What idle connections cost the server, in percent of a core.
    private(set) var idlePercent: Double?
    /// Of a run in which clients stop.
    var stopping: StoppingOutcome?
    /// Of a run in which clients come back.
    var returning: ReturningOutcome?
    /// Of a run with peers that mean no good.
    var hostile: HostileOutcome?
    /// Those who are connected all the time, where others come.
    var readers: Int { scenario.load.readers }
    /// Events that were to arrive.
    var expected: Int
    private(set) var received = 0
    /// From produce to receive, in ms: 50th, 99th and 99.9th percentile.
    private(set) var latencies: [Double] = []
    private(set) var failures: [String: Int] = [:]

    init(_ scenario: Scenario) {
        self.scenario = scenario
        expected = scenario.deliveries
    }

    mutating func handshakes(
        _ connections: Int, from before: GatewayProcess.Usage, to after: GatewayProcess.Usage, microseconds: Int64
    ) {
        let count = Double(connections)
        handshakesPerSecond = count * 1e6 / Double(max(1, microseconds))
        cpuPerHandshake = Double(after.cpuMicroseconds - before.cpuMicroseconds) / count
        bytesPerConnection = Double(after.residentBytes - before.residentBytes) / count
    }

    mutating func deliveries(
        from before: GatewayProcess.Usage, to after: GatewayProcess.Usage, microseconds: Int64
    ) {
        let count = Double(max(1, scenario.deliveries))
        deliveriesPerSecond = count * 1e6 / Double(max(1, microseconds))
        cpuPerDelivery = Double(after.cpuMicroseconds - before.cpuMicroseconds) / count
    }

    mutating func idled(from before: GatewayProcess.Usage, to after: GatewayProcess.Usage, microseconds: Int64) {
        idlePercent = Double(after.cpuMicroseconds - before.cpuMicroseconds) * 100 / Double(max(1, microseconds))
    }

    mutating func take(_ outcome: Crowd.Outcome) {
        opened = outcome.opened
        received = outcome.received
        failures = outcome.failures
        latencies = Self.percentiles(outcome.latencies, [0.5, 0.99, 0.999])
    }

    /// Of those who read on everything counts, but for latencies, which ``stopping`` or ``returning`` has; of the
    /// others that they came and were not lost.
    mutating func take(_ readers: Crowd.Outcome, and others: Crowd.Outcome) {
        take(readers)
        latencies = []
        opened += others.opened
        failures.merge(others.failures, uniquingKeysWith: +)
    }

    /// How often the gateway was asked for its metrics, and how often it did not give them.
    mutating func take(_ scrapes: Scraper.Outcome) {
        if scrapes.answered == 0 { failures["no scrape was answered", default: 0] += 1 }
        if scrapes.failed > 0 { failures["a scrape was not answered", default: 0] += scrapes.failed }
    }

    /// In ms; none of nothing.
    static func percentiles(_ microseconds: [UInt32], _ shares: [Double]) -> [Double] {
        let sorted = microseconds.sorted()
        guard !sorted.isEmpty else { return [] }
        return shares.map { Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * $0))]) / 1000 }
    }

    /// Whether everything that was to arrive did.
    var isComplete: Bool {
        failures.isEmpty && opened == scenario.connections && received == expected
            && stopping?.broken ?? 0 == 0 && haveResumed
    }

    /// Whether all those did who had something to resume with.
    private var haveResumed: Bool {
        guard case .returning(let plan) = scenario.load, plan.resumes else { return true }
        return returning?.resumed == plan.clients
    }
}
