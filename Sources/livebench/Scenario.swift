import Reactor

/// One row of the table: a crowd, what is written, and the results.
struct Scenario: Sendable {
    enum Load: Sendable {
        /// Only the connections.
        case idle
        /// Only pings, one every 25 s for each connection, and their answers.
        case pinged(seconds: Int)
        /// As fast as the broker accepts them.
        case saturating(events: Int)
        /// One event each time this many milliseconds pass.
        case paced(events: Int, everyMilliseconds: UInt64)
        /// A steady stream, of which most of the clients stop reading.
        case stopping(StoppingPlan)
        /// A paced stream to a few, while all the others connect at once.
        case returning(ReturningPlan)
        /// A paced stream to a few, beside hostile peers.
        case hostile(HostilePlan)

        var isPinged: Bool { if case .pinged = self { true } else { false } }
        /// Whether peers have the default times for everything.
        var hasDefaultTimes: Bool { if case .hostile = self { true } else { isPinged } }
        /// Whether the run restarts the gateway: a scrape in the meantime finds no server.
        var restartsGateway: Bool { if case .returning(let plan) = self { plan.resumes } else { false } }
        /// The clients that are connected all the time and receive the events.
        var readers: Int {
            switch self {
            case .returning: ReturningPlan.readers
            case .hostile: HostilePlan.readers
            default: 0
            }
        }
    }

    var name: String
    let connections: Int
    let accounts: Int
    let isSecure: Bool
    let load: Load
    var beside: Beside?

    /// The runs, scaled to `connections`.
    static func all(connections: Int) -> [Scenario] {
        let tenth = max(1, connections / 10)
        let hundredth = max(12, connections / 100)
        return [
            Scenario(name: "idle", connections: connections, accounts: 1, isSecure: false, load: .idle),
            Scenario(name: "idle tls", connections: tenth * 5, accounts: 1, isSecure: true, load: .idle),
            Scenario(
                name: "pinged", connections: connections, accounts: 1, isSecure: false, load: .pinged(seconds: 50)),
            Scenario(
                name: "saturating", connections: tenth, accounts: 1, isSecure: false, load: .saturating(events: 1000)),
            Scenario(
                name: "saturating many", connections: connections, accounts: 1, isSecure: false,
                load: .saturating(events: 100)),
            Scenario(
                name: "accounts", connections: connections, accounts: min(1000, tenth), isSecure: false,
                load: .saturating(events: 60_000)),
            Scenario(
                name: "paced 50/s", connections: tenth, accounts: 1, isSecure: false,
                load: .paced(events: 250, everyMilliseconds: 20)),
            Scenario(
                name: "paced 50/s tls", connections: tenth, accounts: 1, isSecure: true,
                load: .paced(events: 250, everyMilliseconds: 20)),
            Scenario(
                name: "gentle 5/s", connections: connections, accounts: 1, isSecure: false,
                load: .paced(events: 50, everyMilliseconds: 200)),
            Scenario(
                name: "stopping", connections: tenth + StoppingPlan.readers, accounts: 1, isSecure: false,
                load: .stopping(StoppingPlan(clients: tenth))),
            Scenario(
                name: "returning", connections: connections, accounts: 2, isSecure: true,
                load: .returning(ReturningPlan(clients: connections - ReturningPlan.readers))),
            Scenario(
                name: "returning resumed", connections: connections, accounts: 2, isSecure: true,
                load: .returning(ReturningPlan(clients: connections - ReturningPlan.readers, resumes: true))),
            Scenario(
                name: "hostile", connections: HostilePlan.readers, accounts: 2, isSecure: false,
                load: .hostile(HostilePlan(peers: hundredth))),
            Scenario(
                name: "hostile tls", connections: HostilePlan.readers, accounts: 2, isSecure: true,
                load: .hostile(HostilePlan(peers: hundredth))),
        ]
    }

    var deliveries: Int {
        switch load {
        case .idle, .pinged, .returning, .hostile: 0
        case .saturating(let events), .paced(let events, _): events * (connections / accounts)
        case .stopping(let plan): plan.events * StoppingPlan.readers
        }
    }

    func run(program: String, loops: Int) async throws -> Measurement {
        let bench = try await Bench(self, program: program, loops: loops)
        defer { bench.stop() }
        let scraper = beside == .scrape ? Scraper(bench.server) : nil
        var measurement = try await measure(on: bench)
        if let scraper { measurement.take(await scraper.end()) }
        return measurement
    }

    private func measure(on bench: Bench) async throws -> Measurement {
        if case .stopping(let plan) = load { return try await stop(plan, on: bench) }
        if case .returning(let plan) = load { return try await comeBack(plan, on: bench) }
        if case .hostile(let plan) = load { return try await face(plan, on: bench) }
        var measurement = Measurement(self)
        let crowd = try await open(on: bench, into: &measurement)
        let full = try bench.server.usage()
        let startedAt = BenchEvent.now()
        switch load {
        case .idle, .stopping, .returning, .hostile: break
        case .pinged(let seconds):
            try await Task.sleep(for: .seconds(seconds))
            measurement.idled(from: full, to: try bench.server.usage(), microseconds: BenchEvent.now() - startedAt)
        case .saturating(let events): await bench.broker.writeAll(events, accounts: bench.accounts)
        case .paced(let events, let interval):
            await bench.broker.writePaced(events, everyMilliseconds: interval, accounts: bench.accounts)
        }
        if deliveries > 0 {
            await crowd.await(deliveries)
            measurement.deliveries(from: full, to: try bench.server.usage(), microseconds: BenchEvent.now() - startedAt)
        }
        measurement.take(await crowd.close())
        return measurement
    }

    /// Opens the whole crowd, and measures the cost.
    private func open(on bench: Bench, into measurement: inout Measurement) async throws -> LoopBound<Crowd> {
        let crowd = try await bench.crowd(connections)
        let empty = try bench.server.usage()
        let startedAt = BenchEvent.now()
        await crowd.open()
        measurement.handshakes(
            connections, from: empty, to: try bench.server.usage(), microseconds: BenchEvent.now() - startedAt)
        return crowd
    }
}
