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
}

/// What those who were connected noticed.
struct ReturningOutcome: Sendable {
    /// Before anybody came back.
    var calm = Notice()
    /// While they came.
    var storm = Notice()
}

extension Scenario {
    /// A paced stream to those who are connected; meanwhile all the others shake hands.
    func comeBack(_ plan: ReturningPlan, on bench: Bench) async throws -> Measurement {
        var measurement = Measurement(self)
        var outcome = ReturningOutcome()
        // What is written concerns those who are connected alone.
        let readers = try await bench.crowd(ReturningPlan.readers, account: 0)
        await readers.open()
        await readers.keepPinging()
        let (broker, accounts) = (bench.broker, [bench.accounts[0]])
        // The first second is nobody's: gateway and broker get to know each other.
        for seconds in [1, ReturningPlan.calmSeconds] {
            outcome.calm = await bench.pace(seconds, accounts: accounts, to: readers, &measurement)
        }

        let returning = try await bench.crowd(
            plan.clients, account: 1, handshakesAtOnce: ReturningPlan.handshakesAtOnce)
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
        measurement.handshakes(
            plan.clients, from: before, to: try bench.server.usage(), microseconds: BenchEvent.now() - startedAt)
        stream.cancel()
        outcome.storm = await bench.noticed(await stream.value, by: readers, &measurement)
        measurement.returning = outcome
        measurement.take(await readers.close(), and: await returning.close())
        return measurement
    }
}
