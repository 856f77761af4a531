import Reactor

/// How clients stop reading.
struct StoppingPlan: Sendable {
    /// The clients that keep reading, whose latencies are compared.
    static let readers = 100
    /// Time for the window of slices, the account's log and the kernel to fill before anything is compared.
    static let secondsBefore = 10
    static let secondsStopped = 20
    /// Part of these, while the kernels accept 2.6 MB for each client: for so long the gateway serves them as if they read.
    static let secondsFilling = 11
    /// Written in parts, ten milliseconds apart.
    static let eventsPerSecond = 2_000
    static let partsPerSecond = 100

    /// The clients that stop.
    let clients: Int

    /// Events written in all.
    var events: Int { Self.eventsPerSecond * (Self.secondsBefore + Self.secondsStopped) }
}

/// What happened to the clients that stopped.
struct StoppingOutcome: Sendable {
    /// Received every event, without a resync.
    var complete = 0
    /// Got a resync, and had the last event after it.
    var resynced = 0
    /// Anything else; there should be none.
    var broken = 0
    /// The gateway's largest private memory, minus that before they stopped: for each of them, in bytes.
    var bytesEach = 0.0
    /// 99th percentiles of the readers, in ms.
    var before = 0.0
    var filling = 0.0
    var stopped = 0.0
}

extension Scenario {
    /// One stream to all clients; then most stop reading for a while, and read again. Before they stop, their bytes are only
    /// drained, not parsed, so that they cost this machine no more than while they are stopped.
    func stop(_ plan: StoppingPlan, on bench: Bench) async throws -> Measurement {
        var measurement = Measurement(self)
        let readers = try await bench.crowd(StoppingPlan.readers)
        let stoppers = try await bench.crowd(plan.clients, withCursors: true)
        let empty = try bench.server.usage()
        let openedAt = BenchEvent.now()
        await readers.open()
        await stoppers.open()
        let full = try bench.server.usage()
        measurement.handshakes(
            connections, from: empty, to: full, microseconds: BenchEvent.now() - openedAt)

        var outcome = StoppingOutcome()
        await stoppers.turn(.discards)
        let (broker, accounts) = (bench.broker, bench.accounts)
        await broker.writeSteadily(StoppingPlan.secondsBefore, accounts)
        await readers.await(StoppingPlan.readers * StoppingPlan.eventsPerSecond * StoppingPlan.secondsBefore)
        outcome.before = await readers.percentiles([0.99]).first ?? 0
        // All clients are at the end of a frame when nothing more comes.
        try await Task.sleep(for: .seconds(1))

        let before = try bench.server.usage().residentBytes
        await stoppers.turn(.stops)
        async let written: Void = broker.writeSteadily(StoppingPlan.secondsStopped, accounts)
        var most = before
        for second in 0..<StoppingPlan.secondsStopped {
            if second == StoppingPlan.secondsFilling { outcome.filling = await readers.percentiles([0.99]).first ?? 0 }
            try await Task.sleep(for: .seconds(1))
            most = max(most, try bench.server.usage().residentBytes)
        }
        await written
        await readers.await(deliveries)
        outcome.stopped = await readers.percentiles([0.99]).first ?? 0

        await stoppers.turn(.counts)
        let more = await bringBack(stoppers, on: bench)
        most = max(most, try bench.server.usage().residentBytes)
        outcome.bytesEach = Double(most - before) / Double(plan.clients)
        await stoppers.check(
            &outcome, events: StoppingPlan.eventsPerSecond * StoppingPlan.secondsStopped + more,
            last: await broker.lastWritten())
        measurement.stopping = outcome
        measurement.expected += more * StoppingPlan.readers
        measurement.take(await readers.close(), and: await stoppers.close())
        return measurement
    }

    /// Writes one event after the other until every client has had one, including a client that got a resync and has nothing else
    /// outstanding. Returns how many it needed.
    private func bringBack(_ stoppers: LoopBound<Crowd>, on bench: Bench) async -> Int {
        for count in 1...Int(Crowd.patienceMilliseconds / 1000) {
            await bench.broker.writePaced(1, everyMilliseconds: 1, accounts: bench.accounts)
            if await stoppers.await(lastEvent: await bench.broker.lastWritten(), withinMilliseconds: 1000) {
                return count
            }
        }
        return Int(Crowd.patienceMilliseconds / 1000)
    }
}

extension BenchBroker {
    fileprivate func writeSteadily(_ seconds: Int, _ accounts: [String]) async {
        await writePaced(
            seconds * StoppingPlan.eventsPerSecond,
            atOnce: StoppingPlan.eventsPerSecond / StoppingPlan.partsPerSecond,
            everyMilliseconds: UInt64(1000 / StoppingPlan.partsPerSecond), accounts: accounts)
    }
}

extension LoopBound<Crowd> {
    fileprivate func turn(_ attention: BenchClient.Attention) async {
        await loop.run { value.turn(attention) }
    }

    /// Whether all clients have the event of that time within the limit.
    fileprivate func await(lastEvent time: Int64, withinMilliseconds limit: UInt64) async -> Bool {
        await withCheckedContinuation { done in
            loop.execute { value.await(lastEvent: time, withinMilliseconds: limit) { done.resume(returning: $0) } }
        }
    }

    fileprivate func check(_ outcome: inout StoppingOutcome, events: Int, last: Int64) async {
        for tally in await loop.run({ value.tallies }) {
            if tally.last < last {
                outcome.broken += 1
            } else if tally.resyncs > 0 {
                outcome.resynced += 1
            } else if tally.events == events {
                outcome.complete += 1
            } else {
                outcome.broken += 1
            }
        }
    }
}
