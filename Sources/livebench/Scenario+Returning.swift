import Reactor

/// How clients come back, all at once, to a node that has others connected.
struct ReturningPlan: Sendable {
    /// Those who are connected all the time, spread over the gateway's loops; their latencies are what is measured.
    static let readers = 50
    /// Before anybody comes back, for comparison.
    static let calmSeconds = 5
    /// Handshakes under way at once: as many as wait in the kernel of a listener (net.core.somaxconn), so that none is
    /// repeated by a retransmission after a second.
    static let handshakesAtOnce = 4_000

    /// Those who come back.
    let clients: Int
    /// Whether they resume the sessions that they had before the node was restarted.
    var resumes = false
}

/// What those who were connected noticed.
struct ReturningOutcome: Sendable {
    /// Before anybody came back.
    var calm = Notice()
    /// While they came.
    var storm = Notice()
    /// So many of them resumed a session.
    var resumed = 0
    /// Until all of them were back.
    var milliseconds = 0.0
}

extension Scenario {
    /// A paced stream to those who are connected; meanwhile all the others shake hands.
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
        // What is written concerns those who are connected alone.
        let readers = try await bench.crowd(ReturningPlan.readers, account: 0)
        await readers.open()
        await readers.keepPinging()
        let (broker, accounts) = (bench.broker, [bench.accounts[0]])
        // The first second is nobody's: gateway and broker get to know each other.
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
