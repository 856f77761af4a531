import Reactor

/// How clients return, all at once, to a node with other clients connected.
struct ReturningPlan: Sendable {
    /// The clients that are connected all the time, spread over the gateway's loops. Their latencies are measured.
    static let readers = 50
    /// The time before any client returns, for comparison.
    static let calmSeconds = 5
    /// Handshakes at the same time: as many as can wait in the kernel of a listener (net.core.somaxconn), so that none is
    /// repeated by a retransmission after a second.
    static let handshakesAtOnce = 4_000

    /// The clients that return.
    let clients: Int
    /// Whether they resume the sessions that they had before the restart of the node.
    var resumes = false
}

/// What the connected clients noticed.
struct ReturningOutcome: Sendable {
    /// Before any client returned.
    var calm = Notice()
    /// While they returned.
    var storm = Notice()
    /// How many of them resumed a session.
    var resumed = 0
    /// The time until all of them were back.
    var milliseconds = 0.0
}

extension Scenario {
    /// A paced stream to the connected clients, while all the others shake hands.
    func comeBack(_ plan: ReturningPlan, on bench: Bench) async throws -> Measurement {
        var measurement = Measurement(self)
        var outcome = ReturningOutcome()
        let returning = try await bench.crowd(
            plan.clients, account: 1, keepsTickets: plan.resumes, handshakesAtOnce: ReturningPlan.handshakesAtOnce)
        if plan.resumes {
            await returning.open()
            await returning.leave()
            try bench.server.restart()
        }
        // Events are written only to the account of the connected clients.
        let readers = try await bench.crowd(ReturningPlan.readers, account: 0)
        await readers.open()
        await readers.keepPinging()
        let (broker, accounts) = (bench.broker, [bench.accounts[0]])
        // The first second does not count: gateway and broker connect to each other.
        for seconds in [1, ReturningPlan.calmSeconds] {
            outcome.calm = await bench.pace(seconds, accounts: accounts, to: readers, &measurement)
        }

        let stream = Task {
            var written = 0
            while !Task.isCancelled {
                await broker.writePaced(10, everyMilliseconds: Notice.everyMilliseconds, accounts: accounts)
                written += 10
            }
            return written
        }
        let before = try bench.server.usage()
        let startedAt = BenchEvent.now()
        await returning.open()
        let microseconds = BenchEvent.now() - startedAt
        measurement.handshakes(plan.clients, from: before, to: try bench.server.usage(), microseconds: microseconds)
        stream.cancel()
        outcome.storm = await bench.noticed(await stream.value, by: readers, &measurement)
        let back = await returning.close()
        (outcome.resumed, outcome.milliseconds) = (back.resumed, Double(microseconds) / 1000)
        measurement.returning = outcome
        measurement.take(await readers.close(), and: back)
        return measurement
    }
}
