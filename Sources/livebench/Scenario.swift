import Reactor
import TLS
import Transport

/// One row of the table: a crowd, what is written, and what comes of it.
struct Scenario: Sendable {
    enum Load: Sendable {
        /// Nothing but the connections.
        case idle
        /// As fast as the broker takes them.
        case saturating(events: Int)
        /// One event every so many milliseconds.
        case paced(events: Int, everyMilliseconds: UInt64)
    }

    let name: String
    let connections: Int
    let accounts: Int
    let isSecure: Bool
    let load: Load

    /// The runs, scaled to `connections`.
    static func all(connections: Int) -> [Scenario] {
        let tenth = max(1, connections / 10)
        return [
            Scenario(name: "idle", connections: connections, accounts: 1, isSecure: false, load: .idle),
            Scenario(name: "idle tls", connections: tenth * 5, accounts: 1, isSecure: true, load: .idle),
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
        ]
    }

    var deliveries: Int {
        switch load {
        case .idle: 0
        case .saturating(let events), .paced(let events, _): events * (connections / accounts)
        }
    }

    func run(program: String, loops: Int) async throws -> Measurement {
        let broker = try await BenchBroker.start()
        defer { broker.stop() }
        let tokens = accounts == 1 ? [] : (0..<accounts).map { BenchToken(account: "ACC\($0)") }
        let server = try GatewayProcess(
            program: program, brokers: broker.bootstrap, topic: BenchBroker.topic, loops: loops, tokens: tokens,
            isSecure: isSecure)
        defer { server.stop() }
        let loop = try EventLoop(label: "crowd")
        defer { loop.stop() }
        let plan = CrowdPlan(
            connections: connections, port: server.port, security: try security(), tokens: tokens.map(\.text))
        let crowd = await loop.run { LoopBound(Crowd(plan, loop: loop), loop: loop) }
        var measurement = Measurement(self)

        let empty = try server.usage()
        let openedAt = BenchEvent.now()
        await withCheckedContinuation { done in loop.execute { crowd.value.open { done.resume() } } }
        let full = try server.usage()
        measurement.handshakes(from: empty, to: full, microseconds: BenchEvent.now() - openedAt)

        let names = tokens.isEmpty ? [BenchToken.onlyAccount] : tokens.map(\.account)
        if let microseconds = await write(to: broker, accounts: names, crowd) {
            measurement.deliveries(from: full, to: try server.usage(), microseconds: microseconds)
        }
        let outcome = await loop.run { () -> Crowd.Outcome in
            defer { crowd.value.close() }
            return crowd.value.outcome
        }
        measurement.take(outcome)
        return measurement
    }

    private func security() throws -> TransportSecurity {
        guard isSecure else { return .plain }
        // The certificate was made for this run; what is measured is the server's side.
        return .client(try TLSContext.client(TLSClientSettings(verifies: false)), name: "localhost")
    }

    /// Writes the load and waits for it; answers how long both took, in µs, or nil when there is none.
    private func write(to broker: BenchBroker, accounts: [String], _ crowd: LoopBound<Crowd>) async -> Int64? {
        let startedAt = BenchEvent.now()
        switch load {
        case .idle: return nil
        case .saturating(let events): await broker.writeAll(events, accounts: accounts)
        case .paced(let events, let interval):
            await broker.writePaced(events, everyMilliseconds: interval, accounts: accounts)
        }
        await withCheckedContinuation { done in
            crowd.loop.execute {
                crowd.value.await(deliveries, withinMilliseconds: Crowd.patienceMilliseconds) { done.resume() }
            }
        }
        return BenchEvent.now() - startedAt
    }
}
