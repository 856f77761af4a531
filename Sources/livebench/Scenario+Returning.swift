import Reactor

/// How clients come back, all at once, to a node that has others connected.
struct ReturningPlan: Sendable {
    /// Those who are connected all the time, spread over the gateway's loops; their latencies are what is measured.
    static let readers = 50
    /// One event in so many milliseconds.
    static let everyMilliseconds: UInt64 = 10
    /// One ping in so many milliseconds, from one of those who are connected after the other: what its answer waits for
    /// is a turn of its loop, and no broker.
    static let pingEveryMilliseconds: UInt64 = 2
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
    /// 50th and 99th percentile and the most, in ms.
    struct Waits: Sendable {
        var median = 0.0
        var p99 = 0.0
        var most = 0.0

        init() {}

        init(_ percentiles: [Double]) {
            guard percentiles.count == 3 else { return }
            (median, p99, most) = (percentiles[0], percentiles[1], percentiles[2])
        }
    }

    /// What was noticed in a time.
    struct Notice: Sendable {
        /// From produce to receive.
        var events = Waits()
        /// From ping to pong.
        var turns = Waits()
    }

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
        readers.loop.execute { readers.value.keepPinging(everyMilliseconds: ReturningPlan.pingEveryMilliseconds) }
        let (broker, accounts) = (bench.broker, [bench.accounts[0]])
        let perSecond = 1000 / Int(ReturningPlan.everyMilliseconds)
        // The first second is nobody's: gateway and broker get to know each other.
        for seconds in [1, ReturningPlan.calmSeconds] {
            let count = seconds * perSecond
            await broker.writePaced(
                count, everyMilliseconds: ReturningPlan.everyMilliseconds, accounts: accounts)
            measurement.expected += count * ReturningPlan.readers
            await readers.await(measurement.expected)
            outcome.calm = await readers.notice()
        }

        let returning = try await bench.crowd(
            plan.clients, account: 1, handshakesAtOnce: ReturningPlan.handshakesAtOnce)
        let stream = Task {
            var written = 0
            while !Task.isCancelled {
                await broker.writePaced(
                    perSecond / 10, everyMilliseconds: ReturningPlan.everyMilliseconds, accounts: accounts)
                written += perSecond / 10
            }
            return written
        }
        let before = try bench.server.usage()
        let startedAt = BenchEvent.now()
        await returning.open()
        measurement.handshakes(
            plan.clients, from: before, to: try bench.server.usage(), microseconds: BenchEvent.now() - startedAt)
        stream.cancel()
        measurement.expected += await stream.value * ReturningPlan.readers
        await readers.await(measurement.expected)
        outcome.storm = await readers.notice()
        measurement.returning = outcome
        measurement.take(await readers.close(), and: await returning.close())
        return measurement
    }
}

extension LoopBound<Crowd> {
    /// Since the last call.
    fileprivate func notice() async -> ReturningOutcome.Notice {
        let shares = [0.5, 0.99, 1]
        return .init(events: .init(await percentiles(shares)), turns: .init(await turns(shares)))
    }
}
