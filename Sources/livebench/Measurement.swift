/// The results of one scenario.
struct Measurement: Sendable {
    let scenario: Scenario
    private(set) var opened = 0
    private(set) var handshakesPerSecond = 0.0
    /// CPU time of the server, in µs.
    private(set) var cpuPerHandshake = 0.0
    /// The server's private resident memory, in bytes.
    private(set) var bytesPerConnection = 0.0
    private(set) var deliveriesPerSecond: Double?
    /// CPU time of the server, in µs, including its share of reading Kafka.
    private(set) var cpuPerDelivery: Double?
    /// CPU use of the server for idle connections, in percent of a core.
    private(set) var idlePercent: Double?
    /// Of a run in which clients stop reading.
    var stopping: StoppingOutcome?
    /// Of a run in which clients return.
    var returning: ReturningOutcome?
    /// Of a run with hostile peers.
    var hostile: HostileOutcome?
    /// The clients that are connected all the time, while others come.
    var readers: Int { scenario.load.readers }
    /// The number of events that should arrive.
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

    /// For the clients that keep reading everything counts, except latencies, which ``stopping`` or ``returning`` has. For the
    /// others it counts that they came and were not lost.
    mutating func take(_ readers: Crowd.Outcome, and others: Crowd.Outcome) {
        take(readers)
        latencies = []
        opened += others.opened
        failures.merge(others.failures, uniquingKeysWith: +)
    }

    /// How often the gateway's metrics were requested, and how often it did not return them.
    mutating func take(_ scrapes: Scraper.Outcome) {
        if scrapes.answered == 0 { failures["no scrape was answered", default: 0] += 1 }
        if scrapes.failed > 0 { failures["a scrape was not answered", default: 0] += scrapes.failed }
    }

    /// In ms; empty if there are no values.
    static func percentiles(_ microseconds: [UInt32], _ shares: [Double]) -> [Double] {
        let sorted = microseconds.sorted()
        guard !sorted.isEmpty else { return [] }
        return shares.map { Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * $0))]) / 1000 }
    }

    /// Whether everything arrived that should.
    var isComplete: Bool {
        failures.isEmpty && opened == scenario.connections && received == expected
            && stopping?.broken ?? 0 == 0 && haveResumed
    }

    /// Whether all clients that had a ticket resumed their session.
    private var haveResumed: Bool {
        guard case .returning(let plan) = scenario.load, plan.resumes else { return true }
        return returning?.resumed == plan.clients
    }
}
